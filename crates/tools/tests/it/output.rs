//! Much output, odd output, late output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use deft_tools::{OutputSink, SecretSet};
use deft_types::{Secret, TerminalAction};
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, eventually, in_full, numbered_lines, text};

/// How many bytes are printed at once.
fn large_output() -> u64 {
    in_full(1_000_000_000, 200_000_000)
}

/// How much memory this process has had at most, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn long_output_is_clipped_in_the_middle_and_saved_whole() {
    let bench = Bench::new();
    for lines in [9_000, 200_000] {
        let seen = bench.sh(&format!("seq 1 {lines}")).await;
        let shown = text(&seen);
        assert!(shown.chars().count() <= 30_000, "{}", shown.len());
        assert!(shown.starts_with("1\n2\n3\n") && shown.ends_with(&format!("\n{lines}")));
        let file = shown
            .split("the whole output is in ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        assert!(file.starts_with(bench.private_dir().to_str().unwrap()));
        let expected = numbered_lines("", lines);
        assert!(
            std::fs::read_to_string(file).unwrap() == expected,
            "the file of {lines} lines differs"
        );
    }
}

#[tokio::test]
async fn a_gigabyte_of_output_does_not_grow_memory() {
    let bench = Bench::new();
    bench.sh("true").await;
    let secrets = BTreeMap::from([(
        "UNUSED".to_owned(),
        Secret::new("xxxxxxxxxxxxxxxxxxxx-y".to_owned()),
    )]);
    bench.toolbox.secrets().set(SecretSet::new(secrets).unwrap());
    let (bytes, before, begun) = (large_output(), peak_memory(), Instant::now());
    let seen = bench
        .sh_for(
            &format!("head -c {bytes} /dev/zero | tr '\\0' 'x'; echo; echo end"),
            600.0,
        )
        .await;
    assert_eq!(seen.exit_code, Some(0));
    assert!(text(&seen).ends_with("x\nend") && text(&seen).contains(&format!("{} bytes", bytes + 5)));
    let grown = peak_memory() - before;
    assert!(grown < 32 * 1024, "memory grew by {grown} KiB");
    // Far below what a loaded machine makes of it; what is quadratic would not end.
    assert!(
        begun.elapsed() < Duration::from_secs(bytes / 2_000_000),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn output_is_decoded_without_losing_split_characters() {
    let bench = Bench::with_quiet_limit(Duration::from_millis(300));
    let seen = bench.sh(r"printf 'h\303'; read x; printf '\244\377 end\n'").await;
    assert_eq!(text(&seen), "h");
    assert_eq!(text(&bench.input("").await), "");
    assert_eq!(text(&bench.input("ENTER").await), "ä\u{fffd} end");
}

#[tokio::test]
async fn colours_are_for_those_who_watch_and_line_ends_are_verbatim() {
    let bench = Bench::new();
    let (sink, mut chunks) = OutputSink::channel();
    let action = TerminalAction {
        command: r"printf 'a\nb\r\nc\td\n\033[31mred\033[0m.'".to_owned(),
        ..TerminalAction::default()
    };
    let seen = bench.terminal_call(action, sink, CancellationToken::new()).await;
    assert_eq!(text(&seen), "a\nb\r\nc\td\nred.");
    let mut live = Vec::new();
    while let Some(chunk) = chunks.recv().await {
        live.extend_from_slice(&chunk);
    }
    assert_eq!(live, b"a\nb\r\nc\td\n\x1b[31mred\x1b[0m.");
}

#[tokio::test]
async fn outputs_that_an_earlier_process_kept_count_too() {
    let first = Bench::new();
    let outputs = first.private_dir().join("outputs");
    std::fs::create_dir_all(&outputs).unwrap();
    for number in 0..40 {
        std::fs::write(outputs.join(format!("{number}.txt")), "old").unwrap();
    }
    let second = first.again();
    second.sh("seq 1 20000").await;
    let kept = std::fs::read_dir(&outputs).unwrap().count();
    assert_eq!(kept, 32);
    second.toolbox.close().await;
}

#[tokio::test]
async fn what_background_jobs_print_between_commands_is_not_lost() {
    let bench = Bench::new();
    bench
        .sh("(until [ -e go ]; do sleep 0.01; done; echo from-behind; touch gone) &")
        .await;
    std::fs::write(bench.workspace().join("go"), "").unwrap();
    eventually("the job has printed", || bench.workspace().join("gone").exists()).await;
    let seen = bench.sh("echo now").await;
    let told = seen.metadata.prefix.contains("from-behind") || text(&seen).contains("from-behind");
    assert!(told && text(&seen).contains("now"), "{seen:?}");
}
