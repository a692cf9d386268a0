//! Conversations that the programs we follow have written can be taken in, looked at and gone on with.

use std::path::Path;

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
