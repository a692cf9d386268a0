//! Programs that fill the screen.

use std::time::Duration;

use deft_types::TerminalObservation;

use super::bench::{Bench, numbered_lines, text};

/// Looks again until it is as it should be: a loaded machine paints in parts.
async fn until(
    bench: &Bench,
    mut seen: TerminalObservation,
    holds: impl Fn(&TerminalObservation) -> bool,
) -> TerminalObservation {
    let look = async {
        while !holds(&seen) {
            seen = bench.sh("").await;
        }
    };
    let looked = tokio::time::timeout(Duration::from_mins(1), look).await;
    assert!(looked.is_ok(), "{seen:?}");
    seen
}

fn shows(wanted: &str) -> impl Fn(&TerminalObservation) -> bool {
    move |seen| text(seen).contains(wanted)
}

#[tokio::test]
async fn a_pager_shows_its_screen_and_takes_keys() {
    let bench = Bench::new();
    std::fs::write(bench.workspace().join("long"), numbered_lines("line ", 500)).unwrap();
    let seen = bench.sh("echo before; less long").await;
    assert!(
        seen.timeout && text(&seen).starts_with("before\n[The program fills"),
        "{seen:?}"
    );
    let screen = text(&until(&bench, seen, shows("\nline 39\n")).await);
    assert!(
        screen.contains("\nline 1\nline 2\n") && !screen.contains('\x1b'),
        "{screen}"
    );
    let screen = until(&bench, bench.input(" ").await, shows("\nline 78\n")).await;
    assert!(!shows("\nline 2\n")(&screen), "{screen:?}");
    until(&bench, bench.input("UP").await, shows("\nline 39\n")).await;
    let seen = until(&bench, bench.input("q").await, |seen| !seen.timeout).await;
    assert_eq!((text(&seen).as_str(), seen.exit_code), ("", Some(0)), "{seen:?}");
    assert_eq!(text(&bench.sh("echo after").await), "after");
}

#[tokio::test]
async fn an_editor_can_be_used_with_keys() {
    let bench = Bench::new();
    if bench.sh("command -v vi").await.exit_code != Some(0) {
        println!("skipped: no `vi` here");
        return;
    }
    until(&bench, bench.sh("vi -u NONE new.txt").await, shows("new.txt")).await;
    until(&bench, bench.input("ityped here").await, shows("typed here")).await;
    bench.input("ESC").await;
    let seen = until(&bench, bench.input(":wq\n").await, |seen| !seen.timeout).await;
    assert_eq!(seen.exit_code, Some(0), "{seen:?}");
    assert_eq!(text(&bench.sh("cat new.txt").await), "typed here");
}

#[tokio::test]
async fn the_last_screen_of_a_program_that_was_killed_is_shown() {
    let bench = Bench::new();
    let seen = bench
        .sh(r"printf '\033[?1049h\033[2J\033[5;1Hfatal: lost'; (exit 9)")
        .await;
    assert!(
        text(&seen).ends_with("fatal: lost") && seen.exit_code == Some(9),
        "{seen:?}"
    );
    assert_eq!(text(&bench.sh("echo plain").await), "plain");
}
