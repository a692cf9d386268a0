//! Backups, and the way back.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::commands::{Home, stderr, stdout};
use crate::serve::Served;

const KEY: [(&str, &str); 1] = [("SESSION_API_KEY", "k-one")];

/// Waits until a conversation has this status.
fn wait_for(served: &Served, path: &str, status: &str) {
    let since = Instant::now();
    while served.send("GET", path, "k-one", &json!(null)).1["execution_status"] != status {
        assert!(since.elapsed() < Duration::from_secs(60), "it is never {status}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn said(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

#[test]
fn a_backup_over_a_file_and_a_restore_from_none_say_so_and_change_nothing() {
    let home = Home::new();
    home.run(&["run", "-t", "x", "--model", &home.script("[{text: fine}]")]);
    fs::write(home.work().join("mine"), "text").unwrap();
    let refused = home.run(&["backup", "mine"]);
    assert!(
        stderr(&refused).contains("is there already"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(fs::read_to_string(home.work().join("mine")).unwrap(), "text");

    let refused = home.run(&["restore-backup", "none", "--data-dir", "elsewhere"]);
    assert!(
        stderr(&refused).contains("there is no file"),
        "{}",
        stderr(&refused)
    );
    assert!(!home.work().join("elsewhere").exists());
}

#[test]
fn a_conversation_goes_on_from_a_backup_that_was_made_while_it_ran() {
    let home = Home::new();
    let model = home.script(
        "- text: Wait.\n  tool_calls:\n    - {name: terminal, arguments: {command: \"touch begun; sleep 600\"}}\n\
         - text: It was cut off.\n- text: Here again.\n",
    );
    let served = Served::start(&home, &KEY);
    let body = json!({
        "agent": {"llm": {"model": model, "api_key": "sk-of-the-client"}, "tools": [{"name": "terminal"}]},
        "workspace": {"working_dir": home.work()},
        "initial_message": said("Wait for it."),
    });
    let (status, begun) = served.post("/api/conversations", "k-one", &body);
    assert_eq!(status, 201, "{begun}");
    let path = format!("/api/conversations/{}", begun["id"].as_str().unwrap());
    let since = Instant::now();
    while !home.work().join("begun").exists() {
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "the command does not begin"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let made = home.run(&["backup", "copy.db"]);
    assert!(made.status.success(), "{}", stderr(&made));

    let there = Home::new();
    let backup = home.work().join("copy.db").display().to_string();
    let key = home.root.path().join(".deft/vault-key").display().to_string();
    let restored = there.run(&["restore-backup", &backup, "--vault-key", &key]);
    assert!(restored.status.success(), "{}", stderr(&restored));
    let again = Served::start(&there, &KEY);
    let path_events = format!("{path}/events");
    let (status, answer) = again.post(
        &path_events,
        "k-one",
        &json!({"role": "user", "content": said("Go on.")["content"], "run": true}),
    );
    assert_eq!(status, 200, "{answer}");
    wait_for(&again, &path, "finished");
    let (_, last) = again.send(
        "GET",
        &format!("{path}/agent_final_response"),
        "k-one",
        &json!(null),
    );
    assert!(last.to_string().contains("It was cut off."), "{last}");
    assert_eq!(again.terminate(), Some(0));
    let (_, interrupted) = served.post(&format!("{path}/interrupt"), "k-one", &json!({}));
    assert_eq!(interrupted["success"], true, "where it was it is as before");
}

#[test]
fn what_is_there_is_replaced_only_if_the_user_says_so_and_nobody_uses_it() {
    let home = Home::new();
    assert_eq!(Served::start(&home, &KEY).terminate(), Some(0));
    assert!(home.run(&["backup", "copy.db"]).status.success());
    let data = home.root.path().join(".deft");
    let before = fs::read(data.join("deft.db")).unwrap();

    let refused = home.run(&["restore-backup", "copy.db"]);
    assert!(stderr(&refused).contains("--overwrite"), "{}", stderr(&refused));
    let served = Served::start(&home, &KEY);
    let refused = home.run(&["restore-backup", "copy.db", "--overwrite"]);
    assert!(
        stderr(&refused).contains("stop the server"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(served.terminate(), Some(0));
    fs::write(home.work().join("other.db"), "no store at all").unwrap();
    let refused = home.run(&["restore-backup", "other.db", "--overwrite"]);
    assert!(stderr(&refused).contains("other.db"), "{}", stderr(&refused));
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(fs::read(data.join("deft.db")).unwrap().len(), before.len());

    let restored = home.run(&["restore-backup", "copy.db", "--overwrite"]);
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert!(
        stdout(&restored).contains("deft.db.replaced")
            && stdout(&restored).contains("Checkpoints of files are not part of a backup"),
        "{}",
        stdout(&restored)
    );
    assert_eq!(Served::start(&home, &KEY).terminate(), Some(0));
}
