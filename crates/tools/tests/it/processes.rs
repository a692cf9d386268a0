//! Nothing outlives its toolbox.

use std::process::Stdio;

use deft_tools::{Call, ToolError, kill_descendants_of, kill_marked};
use deft_types::TerminalAction;

use super::bench::{Bench, eventually, processes_with};

#[tokio::test]
async fn close_kills_jobs_daemons_and_orphans() {
    let bench = Bench::new();
    bench
        .sh(
            "sleep 4801 & nohup sleep 4802 >/dev/null 2>&1 & setsid -f sleep 4803; \
             (setsid sh -c '(trap \"\" HUP TERM INT; sleep 4804 & sleep 4805) &' &); \
             env -i setsid -f /bin/sleep 4806; disown -a",
        )
        .await;
    eventually("all run", || processes_with("sleep 480").len() >= 6).await;
    bench.toolbox.close().await;
    assert_eq!(processes_with("sleep 480"), [0_u32; 0]);
}

/// Between two programs a process has no environment by which it could be known.
#[test]
fn what_becomes_another_program_again_and_again_is_found_by_its_mark() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script");
    std::fs::write(&script, "exec sh \"$0\"").unwrap();
    for round in 0..100 {
        let mark = format!("{}/{round}", place.path().display());
        let mut child = std::process::Command::new("sh")
            .arg(&script)
            .env("DEFT_TEST_MARK", &mark)
            .spawn()
            .unwrap();
        kill_marked("DEFT_TEST_MARK", &mark);
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ended.is_some(), "it was missed in round {round}");
    }
}

#[tokio::test]
async fn close_ends_a_running_call() {
    let bench = Bench::new();
    let terminal = bench.toolbox.get("terminal").unwrap();
    let action = TerminalAction {
        command: "touch started; sleep 4811".to_owned(),
        ..TerminalAction::default()
    };
    let close = async {
        eventually("the command starts", || {
            bench.workspace().join("started").exists()
        })
        .await;
        bench.toolbox.close().await;
    };
    let (ended, ()) = tokio::join!(terminal.run(Call::of(action.clone())), close);
    assert!(matches!(ended, Err(ToolError::ClosedWhileRunning)), "{ended:?}");
    assert_eq!(processes_with("sleep 4811"), [0_u32; 0]);
    let later = terminal.run(Call::of(action)).await;
    assert!(matches!(later, Err(ToolError::Closed)), "{later:?}");
}

#[tokio::test]
async fn close_leaves_other_toolboxes_and_other_children_alone() {
    let (one, other) = (Bench::new(), Bench::new());
    one.sh("sleep 4821 &").await;
    other.sh("sleep 4822 & setsid -f sleep 4823").await;
    let mut child = std::process::Command::new("sleep").arg("4824").spawn().unwrap();
    one.toolbox.close().await;
    assert_eq!(processes_with("sleep 4821"), [0_u32; 0]);
    for survivor in ["sleep 4822", "sleep 4823", "sleep 4824"] {
        assert_eq!(processes_with(survivor).len(), 1, "{survivor}");
    }
    assert_eq!(super::bench::text(&other.sh("echo alive").await), "alive");
    child.kill().unwrap();
    child.wait().unwrap();
    other.toolbox.close().await;
}

#[tokio::test]
async fn orphans_that_end_leave_no_zombies() {
    let bench = Bench::new();
    bench
        .sh("for n in 1 2 3 4 5; do (setsid sh -c 'sleep 0.01' &); done")
        .await;
    let zombies = || {
        let me = std::process::id().to_string();
        let stats = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok());
        stats.filter(|stat| stat.contains(&format!(") Z {me} "))).count()
    };
    for _ in 0..200 {
        bench.sh("sleep 0.02").await;
        if zombies() == 0 && processes_with("sleep 0.01").is_empty() {
            break;
        }
    }
    assert_eq!(zombies(), 0);
    bench.toolbox.close().await;
}

#[tokio::test]
async fn descendants_of_a_process_are_killed_and_the_process_is_not() {
    let mut parent = std::process::Command::new("sh")
        .args(["-c", "sleep 4831 & setsid sleep 4832 & wait; read line"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the children run", || {
        processes_with("sleep 483").len() >= 2
            && processes_with("sleep 4832").iter().any(|pid| *pid != parent.id())
    })
    .await;
    kill_descendants_of(parent.id()).await;
    assert!(processes_with("sleep 483").iter().all(|pid| *pid == parent.id()));
    assert!(parent.try_wait().unwrap().is_none());
    parent.kill().unwrap();
    parent.wait().unwrap();
}
