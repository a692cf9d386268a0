//! Going back, as people do it.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use deft_executor::Client;
use tokio::net::UnixStream;

use crate::commands::{Home, lines, stderr, stdout};

#[tokio::test]
async fn a_workspace_goes_back_to_a_checkpoint_and_forward_again() {
    let home = Home::new();
    let model = home.script("[{text: Hello.}]");
    let ran = home.run(&["run", "-t", "say hello", "--model", &model]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let listed = lines(&home.run(&["list", "--json"]));
    let id = listed[0]["id"].as_str().unwrap();
    assert!(stdout(&home.run(&["checkpoints", id])).starts_with("No checkpoint yet"));

    fs::write(home.work().join("file"), "one").unwrap();
    let mut executor = start_executor(&home, id);
    let client = Client::connect(
        UnixStream::connect(place(&home, id).join("socket"))
            .await
            .unwrap(),
    )
    .await
    .unwrap();
    client.checkpoint("before\u{1b}[2J it".to_owned()).await.unwrap();
    fs::write(home.work().join("file"), "longer").unwrap();
    fs::write(home.work().join("new"), "").unwrap();

    let shown = stdout(&home.run(&["checkpoints", id]));
    assert!(
        shown.contains("   1  ") && shown.contains("before it") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    let shown = stdout(&home.run(&["restore", id, "1", "--dry-run"]));
    let marks = ": changed by somebody else meanwhile";
    assert_eq!(
        shown,
        format!("modify   file (6 → 3 bytes){marks}\ndelete   new (0 bytes){marks}\n")
    );
    let refused = home.run(&["restore", id, "1"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("nothing was restored"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(fs::read_to_string(home.work().join("file")).unwrap(), "longer");

    let restored = home.run(&["restore", id, "1", "--force"]);
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert!(
        stdout(&restored).contains(&format!("deft restore {id} 2")),
        "{}",
        stdout(&restored)
    );
    assert_eq!(fs::read_to_string(home.work().join("file")).unwrap(), "one");
    assert!(!home.work().join("new").exists());
    assert!(home.run(&["restore", id, "2"]).status.success());
    assert_eq!(fs::read_to_string(home.work().join("file")).unwrap(), "longer");

    let unknown = home.run(&["restore", id, "99"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        stderr(&unknown).contains("there is no checkpoint 99"),
        "{}",
        stderr(&unknown)
    );
    assert!(executor.try_wait().unwrap().is_none(), "it was there before");
    client.shutdown().await;
    executor.wait().unwrap();
}

#[test]
fn whoever_looks_at_checkpoints_or_goes_back_leaves_nothing_behind() {
    let home = Home::new();
    fs::write(home.work().join("kept"), "").unwrap();
    let script = "- tool_calls: [{name: terminal, arguments: {command: echo one > file}}]\n- text: done\n";
    let ran = home.run(&["run", "-t", "do it", "--model", &home.script(script)]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert_eq!(names(&home), ["file", "kept"], "as soon as the run has ended");
    let listed = lines(&home.run(&["list", "--json"]));
    let id = listed[0]["id"].as_str().unwrap();
    for (args, left) in [
        (&["checkpoints", id][..], &["file", "kept"][..]),
        (&["restore", id, "1", "--dry-run"], &["file", "kept"]),
        (&["restore", id, "99"], &["file", "kept"]),
        (&["restore", id, "1"], &["kept"]),
    ] {
        home.run(args);
        assert_eq!(names(&home), left, "{args:?}");
        assert!(!place(&home, id).join("socket").exists(), "{args:?}");
    }
}

/// What is in the workspace.
fn names(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.work()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// What a sandboxed executor sees of its directory.
fn place(home: &Home, id: &str) -> PathBuf {
    let executors = home.root.path().join(".deft/executors");
    executors.join(id.replace('-', "")).join("in")
}

/// Starts the executor of a conversation, and waits until it listens.
fn start_executor(home: &Home, id: &str) -> Child {
    let (directory, work) = (place(home, id).display().to_string(), home.work());
    let work = work.display().to_string();
    let mut args = vec![
        "executor",
        "serve",
        "--directory",
        &directory,
        "--workspace",
        &work,
    ];
    args.extend(["--linger", "60", "--quiet-limit", "60"]);
    let mut executor = home.deft(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0];
    executor.stdout.take().unwrap().read_exact(&mut ready).unwrap();
    executor
}
