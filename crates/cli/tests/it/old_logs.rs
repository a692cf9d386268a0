//! Conversations that the programs we follow have written can be taken in, looked at and gone on with.

use std::path::Path;

use serde_json::{Value, json};

use crate::commands::{Home, lines, stderr, stdout};

#[test]
fn every_sample_conversation_is_imported_shown_and_goes_on() {
    let home = Home::new();
    let data = home.root.path().join("data").display().to_string();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs");
    for generation in ["v0", "v1"] {
        let folder = samples.join(generation).display().to_string();
        let imported = home.run(&["import", &folder, "--data-dir", &data]);
        assert_eq!(imported.status.code(), Some(0), "{}", stderr(&imported));
    }
    let listed = home.run(&["list", "--json", "--data-dir", &data]);
    let listed = lines(&listed);
    assert_eq!(listed.len(), 4);
    for conversation in listed {
        assert_ne!(conversation["status"], "running");
        let id = conversation["id"].as_str().unwrap();
        let count = conversation["last_seq"].as_u64().unwrap() + 1;
        let shown = home.run(&["show", id, "--json", "--data-dir", &data]);
        assert_eq!(lines(&shown).len() as u64, count, "{}", stderr(&shown));
        let replies = replies(&lines(&shown));
        let no_step = home.run(&["replay", id, "--from", "1000", "--data-dir", &data]);
        assert!(
            stderr(&no_step).contains(&format!("has {replies} steps")),
            "{replies} replies: {}",
            stderr(&no_step)
        );
        let shown = home.run(&["show", id, "--data-dir", &data]);
        assert!(
            stdout(&shown).lines().count() as u64 >= count,
            "{}",
            stderr(&shown)
        );

        let model =
            home.script("[{text: I see.}, {text: I see.}, {text: I see.}, {text: I see.}, {text: I see.}]");
        let went_on = home.run(&[
            "run",
            "--resume",
            id,
            "-t",
            "and now?",
            "--model",
            &model,
            "--data-dir",
            &data,
        ]);
        assert_eq!(went_on.status.code(), Some(0), "{}", stderr(&went_on));
        assert!(stdout(&went_on).contains("I see."), "{}", stdout(&went_on));
    }
}

/// How many replies of the model a log has.
fn replies(events: &[Value]) -> usize {
    let of_agent = events.iter().filter(|event| event["source"] == "agent");
    let mut ids: Vec<_> = of_agent
        .filter_map(|event| event["llm_response_id"].as_str())
        .collect();
    ids.dedup();
    ids.len()
}

#[test]
fn a_conversation_is_taken_in_once_under_its_own_id() {
    let home = Home::new();
    let data = home.root.path().join("data").display().to_string();
    let name = "0123456789abcdef0123456789abcdef";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/logs/v0")
        .join(name);
    let folder = folder.display().to_string();
    for words in [
        "imported as 01234567-89ab-",
        "01234567-89ab-cdef-0123-456789abcdef is there already",
    ] {
        let imported = home.run(&["import", &folder, "--data-dir", &data]);
        assert!(
            stdout(&imported).contains(words),
            "{}{}",
            stdout(&imported),
            stderr(&imported)
        );
    }
    let nothing = home.run(&["import", &home.work().display().to_string(), "--data-dir", &data]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        stderr(&nothing).contains("holds no conversation"),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn what_is_kept_beside_the_events_is_taken_in_too() {
    let home = Home::new();
    let data = home.root.path().join("data").display().to_string();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs/v1/example_conversation");
    let folder = home.root.path().join("renamed");
    std::fs::create_dir_all(folder.join("events")).unwrap();
    let mut said = None;
    let files = std::fs::read_dir(sample.join("events")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|name| name == "json")) {
        let event: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        if event["kind"] == "MessageEvent" && event["source"] == "user" {
            said = event["id"].as_str().map(str::to_owned);
        }
        std::fs::copy(&file, folder.join("events").join(file.file_name().unwrap())).unwrap();
    }
    let id = "73702ba9-f607-4887-a198-753c95fefeca";
    let state = json!({"id": id, "leaf_event_id": said, "head_is_empty": false});
    std::fs::write(folder.join("base_state.json"), state.to_string()).unwrap();
    let meta = json!({"title": "Hats", "tags": {"shop": "yes"}});
    std::fs::write(folder.join("meta.json"), meta.to_string()).unwrap();
    let imported = home.run(&["import", &folder.display().to_string(), "--data-dir", &data]);
    assert!(stdout(&imported).contains(id), "{}", stderr(&imported));
    let listed = lines(&home.run(&["list", "--json", "--data-dir", &data]));
    assert_eq!(listed[0]["title"], "Hats");
    let shown = lines(&home.run(&["show", id, "--json", "--data-dir", &data]));
    let told = |key: &str| shown.iter().find(|event| event["key"] == key).unwrap()["value"].clone();
    assert_eq!(told("leaf_event_id"), json!(said));
    assert_eq!(told("tags"), json!({"shop": "yes"}));
}
