//! Commands of every form, and what is told about them.

use deft_tools::OutputSink;
use deft_types::TerminalAction;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, text};

#[tokio::test]
async fn directory_and_variables_last_from_call_to_call() {
    let bench = Bench::new();
    bench
        .sh("mkdir sub && cd sub && export NAME=value && f() { echo in-f; }")
        .await;
    let seen = bench.sh("pwd; echo $NAME; f").await;
    let sub = bench.workspace().join("sub");
    assert_eq!(text(&seen), format!("{}\nvalue\nin-f", sub.display()));
    assert_eq!(seen.metadata.working_dir.as_deref(), sub.to_str());
}

#[tokio::test]
async fn several_lines_here_documents_and_loops_are_one_command() {
    let bench = Bench::new();
    let check = async |command: &str, expected: &str, status: i64| {
        let seen = bench.sh(command).await;
        assert_eq!(text(&seen), expected, "{command}");
        assert_eq!(seen.exit_code, Some(status), "{command}");
    };
    check("echo a\necho b", "a\nb", 0).await;
    check("echo one \\\n  two", "one two", 0).await;
    check("cat <<'EOT'\nline1\n\tline2\nEOT", "line1\n\tline2", 0).await;
    check("cat > h.txt <<'EOT'\nabc\nEOT\ncat h.txt", "abc", 0).await;
    check("cat > h.txt <<'EOT'\nabc\nEOT\nfalse", "", 1).await;
    check("for n in 1 2; do\n  echo $n\ndone", "1\n2", 0).await;
    check("find . -name h.txt -exec echo {} \\;", "./h.txt", 0).await;
    check("echo '#' # comment", "#", 0).await;
    check("echo $?; false", "0", 1).await;
    check("echo $?", "1", 0).await;
}

#[tokio::test]
async fn a_long_command_comes_through_unchanged() {
    let bench = Bench::new();
    let word = "word-".repeat(40_000);
    let seen = bench.sh(&format!("printf %s '{word}' | wc -c")).await;
    assert_eq!(text(&seen), "200000");
}

#[tokio::test]
async fn the_shell_has_our_settings_and_nothing_of_this_process() {
    let bench = Bench::new();
    let seen = bench
        .sh("echo $TERM $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT; stty size; echo [$CARGO_PKG_NAME]")
        .await;
    assert_eq!(text(&seen), "xterm-256color cat cat 0\n40 120\n[]");
    let seen = bench.sh("$EDITOR file").await;
    assert_eq!(seen.exit_code, Some(1));
    assert!(text(&seen).contains("no interactive editor"));
}

#[test]
fn the_schema_costs_a_model_little() {
    let spec = Bench::new().toolbox.get("terminal").unwrap().spec();
    let size = spec.definition.description.chars().count() + spec.parameters.to_string().chars().count();
    assert!(size <= 1_900, "{size} characters");
}

#[tokio::test]
async fn metadata_survive_any_directory_name() {
    let bench = Bench::new();
    let name = "q\"q\\ 'x'\n$(y) é";
    let directory = bench.workspace().join(name);
    std::fs::create_dir(&directory).unwrap();
    let seen = bench.sh("cd q*").await;
    assert_eq!(seen.metadata.working_dir.as_deref(), directory.to_str());
    let seen = bench.sh("echo in-quoted").await;
    assert_eq!((text(&seen).as_str(), seen.exit_code), ("in-quoted", Some(0)));
}

#[tokio::test]
async fn metadata_name_user_host_python_and_background_job() {
    let bench = Bench::new();
    let bin = bench.workspace().join("bin");
    let seen = bench
        .sh("mkdir bin && printf '#!/bin/sh\n' > bin/python && chmod +x bin/python && PATH=$PWD/bin:$PATH")
        .await;
    assert_eq!(
        seen.metadata.py_interpreter_path.as_deref(),
        bin.join("python").to_str()
    );
    assert_eq!(seen.metadata.pid, -1);
    let seen = bench.sh("sleep 100 & echo $!; id -un; uname -n").await;
    let expected = format!(
        "{}\n{}\n{}",
        seen.metadata.pid,
        seen.metadata.username.clone().unwrap(),
        seen.metadata.hostname.clone().unwrap()
    );
    assert!(text(&seen).starts_with(&expected), "{seen:?}");
    bench.toolbox.close().await;
}

#[tokio::test]
async fn data_instead_of_a_command_is_refused() {
    let bench = Bench::new();
    let seen = bench.sh(r#"["ls", "-la"]"#).await;
    assert!(
        seen.is_error && seen.exit_code.is_none() && text(&seen).contains("list"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn nothing_to_poll_or_to_talk_to_is_an_error() {
    let bench = Bench::new();
    for seen in [
        bench.sh("").await,
        bench.input("x").await,
        bench.input("C-c").await,
    ] {
        assert!(seen.is_error && seen.exit_code.is_none(), "{seen:?}");
    }
    let seen = bench.sh_for("echo never", -1.0).await;
    assert!(seen.is_error && text(&seen).contains("timeout"), "{seen:?}");
    let both = TerminalAction {
        command: "x".to_owned(),
        is_input: true,
        reset: true,
        ..TerminalAction::default()
    };
    assert!(bench.terminal(both).await.is_error);
}

#[tokio::test]
async fn a_timeout_of_zero_lets_a_quick_command_end() {
    let bench = Bench::new();
    bench.sh("true").await;
    let seen = bench.sh_for("echo zero", 0.0).await;
    // On a loaded machine it may need a second look.
    let seen = if seen.timeout { bench.sh("").await } else { seen };
    assert_eq!(seen.exit_code, Some(0));
}

#[tokio::test]
async fn output_is_seen_while_the_command_runs() {
    let bench = Bench::new();
    let (sink, mut chunks) = OutputSink::channel();
    let action = TerminalAction {
        command: "echo early; read line".to_owned(),
        timeout: Some(60.0),
        ..TerminalAction::default()
    };
    let cancel = CancellationToken::new();
    let run = bench.terminal_call(action, sink, cancel.clone());
    let watch = async {
        let mut seen = Vec::new();
        while !seen.starts_with(b"early\n") {
            seen.extend(chunks.recv().await.unwrap());
        }
        cancel.cancel();
    };
    let (seen, ()) = tokio::join!(run, watch);
    assert_eq!(text(&seen), "early");
}

#[tokio::test]
async fn the_watcher_is_let_go_when_the_call_returns() {
    let bench = Bench::new();
    let (sink, mut chunks) = OutputSink::channel();
    let action = TerminalAction {
        command: "sleep 4901".to_owned(),
        timeout: Some(0.1),
        ..TerminalAction::default()
    };
    let seen = bench.terminal_call(action, sink, CancellationToken::new()).await;
    assert!(seen.timeout);
    assert_eq!(chunks.recv().await, None);
    bench.toolbox.close().await;
}
