//! Programs that fill the screen.

use super::bench::{Bench, numbered_lines, text};

#[tokio::test]
async fn a_pager_shows_its_screen_and_takes_keys() {
    let bench = Bench::new();
    std::fs::write(bench.workspace().join("long"), numbered_lines("line ", 500)).unwrap();
    let seen = bench.sh("echo before; less long").await;
    let shown = text(&seen);
    assert!(
        seen.timeout && shown.starts_with("before\n[The program fills the screen"),
        "{shown}"
    );
    assert!(
        shown.contains("\nline 1\nline 2\n") && !shown.contains('\x1b'),
        "{shown}"
    );
    let shown = text(&bench.input("SPACE").await);
    assert!(
        shown.contains("\nline 41\n") && !shown.contains("\nline 2\n"),
        "{shown}"
    );
    let shown = text(&bench.input("UP").await);
    assert!(shown.contains("\nline 39\n"), "{shown}");
    let seen = bench.input("q").await;
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
    let seen = bench.sh("vi -u NONE new.txt").await;
    assert!(text(&seen).contains("new.txt"), "{seen:?}");
    let seen = bench.input("ityped here").await;
    assert!(text(&seen).contains("typed here"), "{seen:?}");
    bench.input("ESC").await;
    let seen = bench.input(":wq\n").await;
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
