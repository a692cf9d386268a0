//! Much output, odd output, late output.

use super::bench::{Bench, eventually, in_full, numbered_lines, text};

/// How many bytes are printed at once.
fn large_output() -> u64 {
    in_full(1_000_000_000, 100_000_000)
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
    let (bytes, before) = (large_output(), peak_memory());
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
}

#[tokio::test]
async fn output_is_decoded_without_losing_split_characters() {
    let bench = Bench::with_quiet_limit(std::time::Duration::from_millis(300));
    let seen = bench.sh(r"printf 'h\303'; read x; printf '\244\377 end\n'").await;
    assert_eq!(text(&seen), "h");
    assert_eq!(text(&bench.input("").await), "");
    assert_eq!(text(&bench.input("ENTER").await), "ä\u{fffd} end");
}

#[tokio::test]
async fn colours_stay_and_line_ends_are_verbatim() {
    let bench = Bench::new();
    let seen = bench.sh(r"printf 'a\nb\r\nc\td\n\033[31mred\033[0m.'").await;
    assert_eq!(text(&seen), "a\nb\r\nc\td\n\x1b[31mred\x1b[0m.");
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
