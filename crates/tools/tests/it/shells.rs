//! Several shells at once, and what runs in the background of one.

use std::time::Duration;

use deft_tools::{Files, Touches};
use deft_types::{Action, TerminalAction};

use super::bench::{Bench, eventually, processes_with, text};

const NOW: Option<f64> = Some(0.1);

#[tokio::test]
async fn each_shell_has_its_own_directory_and_variables_and_none_is_mixed_up() {
    let bench = Bench::new();
    bench.sh("mkdir one; cd one; name=main").await;
    let seen = bench
        .sh_in("beside", "pwd; echo [$name]; name=beside", None)
        .await;
    assert_eq!(text(&seen), format!("{}\n[]", bench.workspace().display()));
    assert!(seen.metadata.suffix.ends_with("[Shell: beside]"), "{seen:?}");
    for _ in 0..3 {
        assert_eq!(text(&bench.sh("basename $PWD; echo $name").await), "one\nmain");
        assert_eq!(text(&bench.sh_in("beside", "echo $name", None).await), "beside");
        assert_eq!(text(&bench.sh_in("main", "echo $name", None).await), "main");
    }
    bench.toolbox.close().await;
}

#[tokio::test]
async fn a_command_in_a_shell_of_its_own_is_told_of_read_and_stopped_by_name() {
    let bench = Bench::new();
    let server = "echo up; until [ -e go ]; do sleep 0.01; done; echo served; sleep 4731";
    let seen = bench.sh_in("server", server, NOW).await;
    assert!(seen.timeout && text(&seen) == "up", "{seen:?}");
    let seen = bench.sh("touch go").await;
    assert_eq!(seen.exit_code, Some(0));
    assert!(
        seen.metadata.suffix.contains("`server` runs `echo up;"),
        "{seen:?}"
    );
    let mut read = String::new();
    while !read.contains("served") {
        read += &text(&bench.sh_in("server", "", NOW).await);
    }
    let stop = TerminalAction {
        command: "C-c".to_owned(),
        is_input: true,
        shell: Some("server".to_owned()),
        ..TerminalAction::default()
    };
    assert_eq!(bench.terminal(stop).await.exit_code, Some(130));
    assert_eq!(processes_with("sleep 4731"), [0_u32; 0]);
    let seen = bench.sh("echo quiet").await;
    assert!(!seen.metadata.suffix.contains("Other shells"), "{seen:?}");
    bench.toolbox.close().await;
}

#[tokio::test]
async fn the_end_of_a_command_in_another_shell_is_told() {
    let bench = Bench::new();
    bench
        .sh_in(
            "build",
            "until [ -e go ]; do sleep 0.01; done; echo failed; (exit 3)",
            NOW,
        )
        .await;
    bench.sh("touch go").await;
    let told = async {
        loop {
            let seen = bench.sh("true").await;
            if seen.metadata.suffix.contains("has ended") {
                break seen.metadata.suffix;
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_mins(1), told).await.unwrap();
    assert!(
        told.contains("`build` has ended") && told.contains("exit code 3"),
        "{told}"
    );
    let seen = bench.sh_in("build", "", None).await;
    assert_eq!((text(&seen).as_str(), seen.exit_code), ("failed", Some(3)));
    bench.toolbox.close().await;
}

#[tokio::test]
async fn shells_run_side_by_side() {
    let bench = Bench::new();
    let wait = |mine: &str, other: &str| {
        format!("touch {mine}; until [ -e {other} ]; do sleep 0.01; done; echo met")
    };
    let (first, second) = (wait("one", "two"), wait("two", "one"));
    let (one, two) = tokio::join!(
        bench.sh_in("one", &first, Some(60.0)),
        bench.sh_in("two", &second, Some(60.0))
    );
    assert_eq!((text(&one).as_str(), text(&two).as_str()), ("met", "met"));
    bench.toolbox.close().await;
}

#[tokio::test]
async fn there_are_only_so_many_shells_and_the_refusal_lists_them() {
    let bench = Bench::new();
    for number in 0..8 {
        bench.sh_in(&format!("s{number}"), "sleep 4732", NOW).await;
    }
    assert_eq!(text(&bench.sh("echo always").await), "always");
    let seen = bench.sh_in("s8", "echo one too many", None).await;
    assert!(
        seen.is_error && text(&seen).contains("`s7` runs `sleep 4732`"),
        "{seen:?}"
    );
    // Neither an idle question nor a name that is none takes a place.
    assert!(bench.sh_in("s9", "", None).await.is_error);
    assert!(bench.sh_in("not a name", "true", None).await.is_error);
    let reset = TerminalAction {
        reset: true,
        shell: Some("s3".to_owned()),
        ..TerminalAction::default()
    };
    assert_eq!(bench.terminal(reset).await.exit_code, Some(0));
    assert_eq!(processes_with("sleep 4732").len(), 7, "only its own are ended");
    assert_eq!(text(&bench.sh_in("s8", "echo room", None).await), "room");
    bench.toolbox.close().await;
    assert_eq!(processes_with("sleep 4732"), [0_u32; 0]);
}

#[test]
fn a_call_touches_its_shell() {
    let bench = Bench::new();
    let terminal = bench.toolbox.get("terminal").unwrap();
    let touched = |shell: Option<&str>| {
        let action = TerminalAction {
            shell: shell.map(str::to_owned),
            ..TerminalAction::default()
        };
        terminal.touches(&Action::from(action))
    };
    assert_eq!(touched(None), touched(Some("main")));
    assert!(!touched(None).conflicts_with(&touched(Some("other"))));
    assert!(touched(None).conflicts_with(&Touches::Reads(Files::All)));
}

#[tokio::test]
async fn jobs_are_listed_as_long_as_they_run_and_their_output_can_be_read() {
    let bench = Bench::new();
    bench
        .sh("sleep 4733 & (until [ -e go ]; do sleep 0.01; done; echo from-behind; touch gone) &")
        .await;
    // A job is a copy of the shell until it has become its program.
    eventually("the job runs", || !processes_with("sleep 4733").is_empty()).await;
    let seen = bench.sh("true").await;
    assert!(seen.metadata.suffix.contains("`sleep 4733`"), "{seen:?}");
    assert!(seen.metadata.suffix.contains("`( … )`"), "{seen:?}");
    std::fs::write(bench.workspace().join("go"), "").unwrap();
    eventually("the job has printed", || bench.workspace().join("gone").exists()).await;
    let read = async {
        loop {
            let seen = bench.sh("").await;
            if !seen.is_error {
                break seen;
            }
        }
    };
    let seen = tokio::time::timeout(Duration::from_mins(1), read).await.unwrap();
    assert!(text(&seen).contains("from-behind"), "{seen:?}");
    let seen = bench.sh("kill %1; wait; echo none").await;
    assert!(!seen.metadata.suffix.contains("In the background"), "{seen:?}");
    bench.toolbox.close().await;
}
