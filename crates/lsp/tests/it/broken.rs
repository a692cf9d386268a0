//! Programs that are no good as servers must not cost an edit.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::place::Place;

/// A `gopls` that is this shell script.
fn gopls(script: &str) -> TempDir {
    let programs = tempfile::tempdir().unwrap();
    let file = programs.path().join("gopls");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    programs
}

#[tokio::test]
async fn a_server_that_hangs_dies_or_talks_nonsense_does_not_stop_an_edit() {
    for script in [
        "sleep 1000",
        "exit 1",
        "echo nonsense",
        "printf 'Content-Length: 9\\r\\n\\r\\nnonsense!'; cat",
    ] {
        let programs = gopls(script);
        let place = Place::new(programs.path(), Duration::from_millis(200));
        place.write("main.go", "package main\n");
        let begun = Instant::now();
        let told = place.replace("main.go", "main", "other").await;
        assert_eq!(told.len(), 1, "{script}: {told:?}");
        assert_eq!(
            fs::read_to_string(place.path("main.go")).unwrap(),
            "package other\n"
        );
        place.tools.close().await;
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{script}: {:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test]
async fn what_a_server_has_started_ends_with_the_toolbox() {
    let programs = gopls("sleep 1000 & echo $! > started; wait");
    let place = Place::new(programs.path(), Duration::from_millis(50));
    place.write("main.go", "package main\n");
    place.replace("main.go", "main", "other").await;
    let end = Instant::now() + Duration::from_secs(30);
    let pid = loop {
        match fs::read_to_string(place.path("started"))
            .ok()
            .and_then(|text| text.trim().parse::<u32>().ok())
        {
            Some(pid) => break pid,
            None if Instant::now() > end => panic!("it was never started"),
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    place.tools.close().await;
    let lives = || {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    while lives() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!lives(), "{pid} is still there");
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_named() {
    let programs = gopls("exit 3");
    let place = Place::new(programs.path(), Duration::from_secs(1));
    place.write("main.go", "package main\n");
    let answer = place.code(json!({"command": "symbols", "path": "main.go"})).await;
    assert!(
        answer.contains("gopls could not be started") && answer.contains("Use grep instead"),
        "{answer}"
    );
}
