//! Editors, pagers and questions do not hold a command up.

use std::time::{Duration, Instant};

use super::bench::{Bench, text};

/// Well below the limit of silence, which is what a question must not wait for.
const SOON: Duration = Duration::from_secs(15);

async fn repository() -> Bench {
    let bench = Bench::new();
    let seen = bench
        .sh(
            "git init -q . && git config user.name T && git config user.email t@example.com && \
             for n in $(seq 1 60); do git commit -q --allow-empty -m \"commit $n\"; done",
        )
        .await;
    assert_eq!(seen.exit_code, Some(0), "{seen:?}");
    bench
}

#[tokio::test]
async fn git_pages_nothing_and_opens_no_editor() {
    let bench = repository().await;
    let seen = bench.sh("git log --oneline").await;
    assert!(text(&seen).lines().count() == 60 && !seen.timeout, "{seen:?}");
    for command in [
        "git commit --allow-empty",
        "git commit --allow-empty --amend",
        "git rebase -i HEAD~2",
    ] {
        let seen = bench.sh(command).await;
        assert!(!seen.timeout && seen.exit_code != Some(0), "{command}: {seen:?}");
        assert!(
            text(&seen).contains("no interactive editor"),
            "{command}: {seen:?}"
        );
    }
    let seen = bench
        .sh("git checkout -q -b side && git commit -q --allow-empty -m side && git checkout -q - && git merge --no-ff side")
        .await;
    assert_eq!(seen.exit_code, Some(0), "{seen:?}");
}

#[tokio::test]
async fn a_question_returns_soon_and_says_that_it_is_one() {
    let bench = Bench::new();
    for command in [
        "read -p 'Continue? [y/N] ' x; echo got $x",
        "read -s -p 'Password: ' x </dev/tty; echo got $x",
        "bash -c 'read -p \"Name: \" x; echo got $x'",
    ] {
        let begun = Instant::now();
        let seen = bench.sh_for(command, 60.0).await;
        assert!(begun.elapsed() < SOON, "{command}: {:?}", begun.elapsed());
        assert!(
            seen.timeout && seen.metadata.suffix.contains("waits for input"),
            "{command}: {seen:?}"
        );
        let seen = bench.input("yes").await;
        assert!(text(&seen).ends_with("got yes"), "{command}: {seen:?}");
    }
}

#[tokio::test]
async fn a_program_that_asks_for_a_password_can_be_answered_and_stopped() {
    let bench = Bench::new();
    if bench
        .sh("ssh-keygen -q -t ed25519 -N pass-phrase -f key")
        .await
        .exit_code
        != Some(0)
    {
        println!("skipped: no `ssh-keygen` here");
        return;
    }
    for (answer, status) in [("pass-phrase", 0), ("C-c", 130)] {
        let begun = Instant::now();
        let seen = bench.sh("ssh-keygen -y -f key").await;
        assert!(
            begun.elapsed() < SOON && text(&seen).contains("passphrase"),
            "{seen:?}"
        );
        assert!(seen.metadata.suffix.contains("waits for input"), "{seen:?}");
        assert_eq!(bench.input(answer).await.exit_code, Some(status));
    }
    assert_eq!(text(&bench.sh("echo free").await), "free");
}

#[tokio::test]
async fn a_prompt_with_line_editing_returns_soon_too() {
    let bench = Bench::new();
    let begun = Instant::now();
    let seen = bench.sh("bash --norc --noprofile -i").await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(seen.metadata.suffix.contains("waits for input"), "{seen:?}");
    assert!(text(&bench.input("echo $((6 * 7))").await).contains("\n42\n"));
    assert_eq!(bench.input("exit 5").await.exit_code, Some(5));
}

#[tokio::test]
async fn a_silent_command_that_reads_nothing_is_waited_for() {
    let bench = Bench::new();
    let seen = bench.sh("sleep 2.5; echo done").await;
    assert_eq!((text(&seen).as_str(), seen.timeout), ("done", false));
}

#[tokio::test]
async fn asking_for_more_output_waits_although_the_program_has_a_question() {
    let bench = Bench::new();
    let seen = bench
        .sh("timeout --foreground 4 bash -c 'read -p \"quick! \" x'; echo over")
        .await;
    assert!(seen.metadata.suffix.contains("waits for input"), "{seen:?}");
    let seen = bench.sh("").await;
    assert_eq!((text(&seen).as_str(), seen.timeout), ("over", false), "{seen:?}");
}

#[tokio::test]
async fn a_command_that_ends_just_when_it_is_looked_at_asks_nothing() {
    let benches: Vec<_> = (0..16).map(|_| Bench::new()).collect();
    // It is looked at once a second.
    let ended = benches.iter().map(|bench| bench.sh("sleep 1; echo over"));
    for seen in futures::future::join_all(ended).await {
        assert_eq!((text(&seen).as_str(), seen.timeout), ("over", false), "{seen:?}");
    }
}
