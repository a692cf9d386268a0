//! Commands that do not end at once.

use std::time::{Duration, Instant};

use deft_tools::{OutputSink, ToolError};
use deft_types::TerminalAction;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, eventually, processes_with, text};

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn after_a_time_out_the_command_goes_on_and_is_polled() {
    let bench = Bench::new();
    let seen = bench
        .sh_for(
            "echo first; until [ -e go ]; do sleep 0.01; done; echo second",
            0.5,
        )
        .await;
    assert_eq!(
        (text(&seen).as_str(), seen.exit_code, seen.timeout),
        ("first", Some(-1), true)
    );
    assert!(seen.metadata.suffix.contains("0.5 seconds") && seen.metadata.suffix.contains("is_input"));
    std::fs::write(bench.workspace().join("go"), "").unwrap();
    let seen = bench.sh("").await;
    assert_eq!(
        (text(&seen).as_str(), seen.exit_code, seen.timeout),
        ("second", Some(0), false)
    );
    assert!(bench.sh("").await.is_error);
}

#[tokio::test]
async fn silence_ends_the_call_and_only_new_output_is_shown_next() {
    let bench = Bench::with_quiet_limit(SHORT);
    let seen = bench
        .sh("echo start; until [ -e go ]; do sleep 0.01; done; echo end")
        .await;
    assert_eq!((text(&seen).as_str(), seen.timeout), ("start", true));
    assert!(seen.metadata.suffix.contains("0.3 seconds"), "{seen:?}");
    let seen = bench.sh("").await;
    assert_eq!((text(&seen).as_str(), seen.exit_code), ("", Some(-1)));
    std::fs::write(bench.workspace().join("go"), "").unwrap();
    let seen = bench.sh_for("", 60.0).await;
    assert_eq!((text(&seen).as_str(), seen.exit_code), ("end", Some(0)));
}

#[tokio::test]
async fn output_keeps_a_command_from_being_called_silent() {
    let bench = Bench::with_quiet_limit(Duration::from_secs(2));
    let seen = bench.sh("for n in 1 2 3 4 5; do echo $n; sleep 0.6; done").await;
    assert_eq!((seen.timeout, text(&seen).as_str()), (false, "1\n2\n3\n4\n5"));
}

#[tokio::test]
async fn a_new_command_is_refused_while_one_runs() {
    let bench = Bench::with_quiet_limit(SHORT);
    bench.sh("echo before; read x; echo got $x").await;
    let seen = bench.sh("echo new").await;
    assert!(seen.is_error && seen.exit_code == Some(-1), "{seen:?}");
    assert!(
        seen.metadata.suffix.contains("`echo new` was NOT run"),
        "{seen:?}"
    );
    assert_eq!(text(&bench.input("bob").await), "got bob");
}

#[tokio::test]
async fn a_command_that_ended_unseen_is_reported_with_the_next_one() {
    let bench = Bench::new();
    bench
        .sh_for(
            "until [ -e go ]; do sleep 0.01; done; echo late; touch done; (exit 4)",
            0.1,
        )
        .await;
    std::fs::write(bench.workspace().join("go"), "").unwrap();
    let mut told = String::new();
    let seen = loop {
        let seen = bench.sh("echo next").await;
        if !seen.is_error {
            break seen;
        }
        told += &text(&seen);
    };
    assert_eq!(text(&seen), "next");
    assert!(seen.metadata.prefix.contains("exit code 4"), "{seen:?}");
    told += &seen.metadata.prefix;
    assert_eq!(told.matches("late").count(), 1, "{told}");
}

#[tokio::test]
async fn programs_are_answered_with_text_and_keys() {
    let bench = Bench::with_quiet_limit(SHORT);
    let seen = bench.sh("read -p 'name? ' x; echo hi $x").await;
    assert_eq!(text(&seen), "name? ");
    assert_eq!(text(&bench.input("bob").await), "hi bob");

    bench.sh("cat").await;
    assert_eq!(bench.input("C-d").await.exit_code, Some(0));

    bench.sh("sleep 60; echo not-reached").await;
    let seen = bench.input("C-c").await;
    assert_eq!(seen.exit_code, Some(130));
    assert!(
        seen.metadata.suffix.contains("Ctrl+C") && !text(&seen).contains("not-reached"),
        "{seen:?}"
    );

    bench.sh("sleep 60").await;
    assert_eq!(
        bench.sh("C-c").await.exit_code,
        Some(130),
        "also without is_input"
    );

    bench.sh("sleep 61").await;
    let seen = bench.input("CTRL+z").await;
    assert!(text(&seen).contains("Stopped"), "{seen:?}");
    assert!(text(&bench.sh("kill -9 %%; echo free").await).starts_with("free"));
    bench.toolbox.close().await;
}

#[tokio::test]
async fn a_word_that_is_also_a_key_runs_as_a_command() {
    let bench = Bench::new();
    assert_eq!(text(&bench.sh("end() { echo ran; }; end").await), "ran");
    assert_eq!(text(&bench.sh("end").await), "ran");
}

#[tokio::test]
async fn an_interrupted_loop_of_the_shell_itself_ends() {
    let bench = Bench::with_quiet_limit(SHORT);
    bench.sh("while :; do :; done").await;
    assert_eq!(bench.input("C-c").await.exit_code, Some(130));
    assert_eq!(text(&bench.sh("echo alive").await), "alive");
}

async fn cancelled(bench: &Bench, command: &str) -> deft_types::TerminalObservation {
    let cancel = CancellationToken::new();
    let action = TerminalAction {
        command: command.to_owned(),
        timeout: Some(120.0),
        ..TerminalAction::default()
    };
    let started = bench.workspace().join("started");
    let _ = std::fs::remove_file(&started);
    let stop = async {
        eventually("the command starts", || started.exists()).await;
        cancel.cancel();
        Instant::now()
    };
    let (seen, asked) = tokio::join!(
        bench.terminal_call(action, OutputSink::none(), cancel.clone()),
        stop
    );
    // The goal is one second; a loaded machine gets some more.
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "{command}: took {:?}",
        asked.elapsed()
    );
    assert!(seen.metadata.suffix.contains("interrupted"), "{seen:?}");
    seen
}

#[tokio::test]
async fn cancel_stops_a_command_and_the_shell_survives() {
    let bench = Bench::new();
    bench.sh("kept=yes").await;
    let seen = cancelled(&bench, "echo out; touch started; sleep 4711").await;
    assert_eq!((text(&seen).as_str(), seen.exit_code), ("out", Some(130)));
    assert_eq!(text(&bench.sh("echo $kept").await), "yes");
    assert_eq!(processes_with("sleep 4711"), [0_u32; 0]);
}

#[tokio::test]
async fn cancel_kills_what_ignores_interrupts_but_not_earlier_jobs() {
    let bench = Bench::new();
    let earlier = bench.sh("sleep 4712 & disown").await.metadata.pid;
    // Start times are counted in hundredths of a second.
    bench.sh("sleep 0.05").await;
    cancelled(
        &bench,
        "setsid -f sh -c 'trap \"\" INT; exec sleep 4713'; (trap '' INT; touch started; sleep 4713)",
    )
    .await;
    assert_eq!(processes_with("sleep 4713"), [0_u32; 0]);
    assert_eq!(processes_with("sleep 4712"), [u32::try_from(earlier).unwrap()]);
    assert_eq!(text(&bench.sh("echo alive").await), "alive");
    bench.toolbox.close().await;
}

#[tokio::test]
async fn cancel_replaces_a_shell_that_cannot_be_stopped() {
    let bench = Bench::new();
    let seen = cancelled(&bench, "trap '' INT; touch started; while :; do :; done").await;
    assert!(seen.metadata.suffix.contains("new shell"), "{seen:?}");
    assert_eq!(text(&bench.sh("echo alive").await), "alive");
}

#[tokio::test]
async fn a_call_that_waits_for_another_can_be_cancelled() {
    let bench = Bench::new();
    let first = bench.sh_for("touch started; sleep 4714", 60.0);
    let second = async {
        eventually("the command starts", || {
            bench.workspace().join("started").exists()
        })
        .await;
        let call = deft_tools::Call::of(TerminalAction::default());
        call.cancel.cancel();
        let refused = bench.toolbox.get("terminal").unwrap().run(call).await;
        assert!(matches!(refused, Err(ToolError::Cancelled)), "{refused:?}");
    };
    tokio::select! {
        seen = first => panic!("{seen:?}"),
        () = second => {}
    }
    bench.toolbox.close().await;
}

#[tokio::test]
async fn reset_gives_a_new_shell_in_the_workspace() {
    let bench = Bench::with_quiet_limit(SHORT);
    bench.sh("cd /; FOO=bar; sleep 4715").await;
    let reset = |command: &str| TerminalAction {
        command: command.to_owned(),
        reset: true,
        ..TerminalAction::default()
    };
    let seen = bench.terminal(reset("")).await;
    assert_eq!(
        (seen.command.as_deref(), seen.exit_code),
        (Some("[RESET]"), Some(0))
    );
    assert_eq!(processes_with("sleep 4715"), [0_u32; 0]);
    bench.sh("cd /; FOO=bar").await;
    let seen = bench.terminal(reset("echo FOO=[$FOO]; pwd")).await;
    assert_eq!(seen.command.as_deref(), Some("[RESET] echo FOO=[$FOO]; pwd"));
    assert!(
        text(&seen).ends_with(&format!("\nFOO=[]\n{}", bench.workspace().display())),
        "{seen:?}"
    );
}
