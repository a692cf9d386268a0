//! What of a conversation is left when it is deleted, also if its executor could not clear up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use deft_workspace::sandbox::Machine;

use crate::commands::{Home, lines, wait_for};
use crate::serve::Served;
use crate::workspaces::{end, or_skip, processes, wait_until};

/// Begins a task that leaves a process behind, kills it with its executor, and gives the words of that process.
fn abandoned(home: &Home, marker: u32) -> String {
    let sleep = format!("sleep 63{}{marker}", std::process::id());
    let workspace = format!("local:{}", home.work().display());
    kill_while(
        home,
        &workspace,
        &format!("setsid {sleep} & touch begun; sleep 60"),
    );
    assert!(!processes(&sleep).is_empty());
    sleep
}

/// Begins a task and kills it with its executor as soon as its command has made the file `begun`.
fn kill_while(home: &Home, workspace: &str, command: &str) {
    let model = home.script(&format!(
        "[{{tool_calls: [{{name: terminal, arguments: {{command: '{command}'}}}}]}}, {{text: Done.}}]"
    ));
    let mut task = home.deft(&["run", "-t", "do it", "--model", &model, "-w", workspace]);
    let mut task = task.stdout(Stdio::null()).spawn().unwrap();
    wait_for(&home.work().join("begun"));
    task.kill().unwrap();
    task.wait().unwrap();
    end(&format!(
        "executor serve --directory {}",
        executors(home).display()
    ));
}

fn executors(home: &Home) -> PathBuf {
    home.root.path().join(".deft/executors")
}

fn directories(place: &Path) -> usize {
    fs::read_dir(place).unwrap().count()
}

#[tokio::test]
async fn what_a_killed_executor_has_left_goes_with_its_conversation() {
    let home = Home::new();
    let sleep = abandoned(&home, 1);
    let list = lines(&home.run(&["list", "--json"]));
    let deleted = home.run(&["delete", list[0]["id"].as_str().unwrap()]);
    assert!(deleted.status.success(), "{deleted:?}");
    wait_until("nothing runs any more", || processes(&sleep).is_empty()).await;
    assert_eq!(directories(&executors(&home)), 0);
}

#[tokio::test]
async fn what_is_kept_for_an_executor_of_nobody_is_cleared_away() {
    let home = Home::new();
    let sleep = abandoned(&home, 2);
    let known = fs::read_dir(executors(&home)).unwrap().next().unwrap().unwrap();
    let forgotten = executors(&home).join("0".repeat(32));
    fs::create_dir(&forgotten).unwrap();
    let young = executors(&home).join("1".repeat(32));
    fs::create_dir(&young).unwrap();
    let long_ago = std::time::SystemTime::now() - Duration::from_hours(31 * 24);
    for path in [&forgotten, &known.path()] {
        fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
    }
    let _served = Served::start(&home, &[]);
    wait_until("it is cleared away", || !forgotten.exists()).await;
    assert!(young.exists() && known.path().exists());
    assert!(!processes(&sleep).is_empty(), "its conversation is there still");
    end(&sleep);
}

#[tokio::test]
async fn what_a_killed_sandbox_has_put_into_its_directory_goes_with_its_conversation() {
    let bubblewrap = Machine::probe().bubblewrap.map(drop);
    if or_skip(bubblewrap.map_err(|reason| reason.to_string())).is_none() {
        return;
    }
    let home = Home::new();
    fs::write(home.work().join("file"), "").unwrap(); // an empty directory stays as it is
    kill_while(&home, &home.work().display().to_string(), "touch begun; sleep 60");
    assert!(
        directories(&home.work()) > 2,
        "something stands in the place of settings"
    );
    let list = lines(&home.run(&["list", "--json"]));
    let deleted = home.run(&["delete", list[0]["id"].as_str().unwrap()]);
    assert!(deleted.status.success(), "{deleted:?}");
    assert_eq!(
        directories(&home.work()),
        2,
        "what the agent made, and what was there"
    );
}
