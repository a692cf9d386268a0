//! What commands do to their shell.

use deft_tools::{Call, TerminalOptions, ToolContext, Toolbox};
use deft_types::TerminalAction;

use super::bench::{Bench, eventually, text};

#[tokio::test]
async fn no_option_trap_prompt_or_alias_hides_the_end_of_a_command() {
    let bench = Bench::new();
    for setting in [
        "set -u",
        "set -x",
        "set -ux",
        "set -T",
        "set -o posix",
        "set -v",
        "set -f",
        "set -C",
        "set -o noglob",
        "PS1=foo PS2=bar PROMPT_COMMAND='echo prompt'",
        "PS4='trace '; set -x",
        "trap 'true' DEBUG",
        "trap 'true' ERR RETURN EXIT",
        "alias .='echo aliased' printf=false builtin=false __deft_end=false __deft_begin=false",
        "printf() { false; }; local() { false; }",
        "IFS=x",
        "LC_ALL=C.UTF-8",
        "exec 2>/dev/null",
        "stty raw -echo; stty -isig",
        "stty sane",
        "unset PATH",
    ] {
        let seen = bench.sh(setting).await;
        assert!(!seen.timeout, "{setting}: {seen:?}");
        let seen = bench.sh("(exit 7)").await;
        assert_eq!(seen.exit_code, Some(7), "{setting}: {seen:?}");
        let seen = bench.sh("echo hi").await;
        assert!(text(&seen).ends_with("hi"), "{setting}: {seen:?}");
        assert!(
            !text(&seen).contains("__deft") && !text(&seen).contains("command-"),
            "{setting}: {seen:?}"
        );
        bench
            .terminal(deft_types::TerminalAction {
                reset: true,
                ..Default::default()
            })
            .await;
    }
}

#[tokio::test]
async fn a_workspace_without_a_shell_is_told_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let context = ToolContext {
        workspace: directory.path().to_owned(),
        private_dir: directory.path().join("private"),
        env: vec![("PATH".to_owned(), "/nowhere".to_owned())],
    };
    let toolbox = Toolbox::with_terminal(context, TerminalOptions::default()).unwrap();
    let action = TerminalAction {
        command: "true".to_owned(),
        ..TerminalAction::default()
    };
    let refused = toolbox.get("terminal").unwrap().run(Call::of(action)).await;
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("no `bash`") && told.contains("packages=bash"),
        "{told}"
    );
}

#[tokio::test]
async fn redirected_output_of_the_shell_goes_where_it_was_sent() {
    let bench = Bench::new();
    bench.sh("exec > out.txt").await;
    assert_eq!(text(&bench.sh("echo hidden").await), "");
    bench.sh("exec > /dev/tty").await;
    assert_eq!(text(&bench.sh("cat out.txt").await), "hidden");
}

#[tokio::test]
async fn tracing_shows_the_command_and_nothing_of_ours() {
    let bench = Bench::new();
    bench.sh("set -eux").await;
    assert_eq!(text(&bench.sh("echo traced").await), "++ echo traced\ntraced");
    assert_eq!(bench.sh("false || true").await.exit_code, Some(0));
}

#[tokio::test]
async fn syntax_errors_are_reported() {
    let bench = Bench::new();
    for command in ["if true; then", "echo )", "echo \"open", "for"] {
        let seen = bench.sh(command).await;
        assert_eq!(seen.exit_code, Some(2), "{command}: {seen:?}");
        assert!(text(&seen).starts_with("bash: line "), "{command}: {seen:?}");
    }
    assert_eq!(text(&bench.sh("echo fine").await), "fine");
}

#[tokio::test]
async fn what_a_command_prints_is_not_taken_for_its_end() {
    let bench = Bench::new();
    let rc = include_str!("../../src/terminal/rc.bash");
    std::fs::write(bench.workspace().join("rc"), rc).unwrap();
    for command in [
        "set",
        "declare -f",
        "declare -p",
        "cat rc",
        r"printf '\033]7770;'; printf '%s;0;;\007' 0123456789abcdef0123456789abcdef",
        r"printf '\033]7770;abc;0;;/bin\007'",
        r"printf '\033'",
    ] {
        let seen = bench
            .sh(&format!("{command}; sleep 0.02; echo; echo the-end; (exit 9)"))
            .await;
        assert_eq!(seen.exit_code, Some(9), "{command}");
        assert!(text(&seen).ends_with("the-end"), "{command}: {seen:?}");
    }
}

#[tokio::test]
async fn the_end_of_the_shell_is_told_and_a_new_one_is_there_at_once() {
    let bench = Bench::new();
    bench.sh("mkdir sub; cd sub; lost=1").await;
    for (command, status) in [
        ("exit 3", 3),
        ("exec sh -c 'exit 4'", 4),
        ("set -e; false", 1),
        ("kill -9 $$; sleep 60", 137),
    ] {
        let seen = bench.sh(&format!("echo last words; {command}")).await;
        assert_eq!(seen.exit_code, Some(status), "{command}: {seen:?}");
        assert_eq!(text(&seen), "last words", "{command}");
        assert!(
            seen.metadata.suffix.contains("A new shell was started"),
            "{command}: {seen:?}"
        );
        let seen = bench.sh("echo [$lost]; pwd").await;
        assert_eq!(
            text(&seen),
            format!("[]\n{}", bench.workspace().join("sub").display())
        );
    }
}

#[tokio::test]
async fn a_shell_that_dies_after_a_time_out_is_replaced_with_the_next_command() {
    let bench = Bench::new();
    bench
        .sh_for("until [ -e go ]; do sleep 0.01; done; exit 6", 0.1)
        .await;
    std::fs::write(bench.workspace().join("go"), "").unwrap();
    let seen = loop {
        let seen = bench.sh("echo alive").await;
        if !seen.is_error {
            break seen;
        }
    };
    assert_eq!(text(&seen), "alive");
    assert!(seen.metadata.prefix.contains("exit code 6"), "{seen:?}");
}

#[tokio::test]
async fn a_shell_that_dies_between_two_calls_is_replaced() {
    let bench = Bench::new();
    let pid: u32 = text(&bench.sh("echo $$").await).parse().unwrap();
    bench.sh("(sleep 0.1; kill -9 $$) &").await;
    eventually("the shell is dead", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    })
    .await;
    let seen = bench.sh("echo alive").await;
    assert_eq!(text(&seen), "alive");
    assert!(seen.metadata.prefix.contains("signal 9"), "{seen:?}");
}
