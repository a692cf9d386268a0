//! Plain commands through the executor.

use std::fs;

use deft_executor::{Client, CommandUpdate, EndReason, Ended, OutputChannel, RequestError, ShellCommand};
use uuid::Uuid;

use super::*;

fn shell(command: &str) -> ShellCommand {
    ShellCommand {
        command: command.to_owned(),
        ..ShellCommand::default()
    }
}

struct Seen {
    stdout: String,
    stderr: String,
    orders: Vec<u64>,
    ended: Ended,
}

async fn follow(client: &Client, id: Uuid) -> Seen {
    let mut following = client.follow_command(id, 0).await.unwrap();
    let (mut stdout, mut stderr, mut orders) = (String::new(), String::new(), Vec::new());
    loop {
        match following.next().await.unwrap() {
            CommandUpdate::Output(chunk) => {
                let text = String::from_utf8_lossy(&chunk.bytes).into_owned();
                orders.push(chunk.order);
                match chunk.channel {
                    OutputChannel::Stdout => stdout.push_str(&text),
                    OutputChannel::Stderr => stderr.push_str(&text),
                }
            }
            CommandUpdate::Ended(ended) => {
                return Seen {
                    stdout,
                    stderr,
                    orders,
                    ended,
                };
            }
        }
    }
}

async fn run(client: &Client, command: ShellCommand) -> Seen {
    let id = Uuid::new_v4();
    client.start_command(id, command).await.unwrap();
    follow(client, id).await
}

pub(super) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[tokio::test]
async fn a_command_runs_where_and_with_what_it_was_told() {
    let place = Place::new();
    let client = place.connect().await;
    fs::create_dir(place.root.path().join("sub dir")).unwrap();
    let seen = run(
        &client,
        ShellCommand {
            directory: Some("sub dir".to_owned()),
            env: BTreeMap::from([("EXTRA".to_owned(), "value".to_owned())]),
            ..shell("pwd; echo $EXTRA $HOME; echo wrong >&2; exit 7")
        },
    )
    .await;
    let directory = fs::canonicalize(place.root.path().join("sub dir")).unwrap();
    assert_eq!(seen.stdout, format!("{}\nvalue\n", directory.display()));
    assert_eq!(seen.stderr, "wrong\n");
    let exited = |exit_code| Ended {
        exit_code,
        reason: EndReason::Exited,
    };
    assert_eq!(seen.ended, exited(7));
    assert_eq!(run(&client, shell("kill -9 $$")).await.ended, exited(-9));

    for directory in ["/etc", "../..", "none"] {
        let command = ShellCommand {
            directory: Some(directory.to_owned()),
            ..shell("touch ran")
        };
        client.start_command(Uuid::new_v4(), command).await.unwrap_err();
    }
}

#[tokio::test]
async fn output_comes_while_the_command_runs() {
    let place = Place::new();
    let client = place.connect().await;
    let id = Uuid::new_v4();
    let command = shell("echo one; until [ -e go ]; do sleep 0.01; done; echo two >&2");
    client.start_command(id, command).await.unwrap();
    let mut following = client.follow_command(id, 0).await.unwrap();
    let first = following.next().await.unwrap();
    assert!(matches!(first, CommandUpdate::Output(chunk) if chunk.bytes == "one\n" && chunk.order == 0));
    fs::write(place.root.path().join("go"), "").unwrap();
    let second = following.next().await.unwrap();
    assert!(matches!(second, CommandUpdate::Output(chunk) if chunk.bytes == "two\n" && chunk.order == 1));
    assert!(matches!(following.next().await, Ok(CommandUpdate::Ended(_))));
}

#[tokio::test]
async fn what_a_command_did_is_kept_for_a_client_that_comes_back_until_it_is_acknowledged() {
    let place = Place::new();
    let client = place.connect().await;
    let id = Uuid::new_v4();
    let command = shell("echo run >> runs; until [ -e go ]; do sleep 0.01; done; echo done");
    client.start_command(id, command.clone()).await.unwrap();
    place.wait_for_file("runs").await;
    drop(client);
    fs::write(place.root.path().join("go"), "").unwrap();

    let client = place.connect().await;
    client.start_command(id, command).await.unwrap(); // joins
    let seen = follow(&client, id).await;
    assert_eq!(seen.stdout, "done\n");
    assert_eq!(place.file("runs"), "run\n");
    let listed = client.commands().await.unwrap();
    assert_eq!((listed.len(), listed[0].ended), (1, Some(seen.ended)));
    client.acknowledge_command(id).await.unwrap();
    assert!(client.commands().await.unwrap().is_empty());
    assert_eq!(client.stop_command(id).await, Err(RequestError::UnknownCommand));
    let mut following = client.follow_command(id, 0).await.unwrap();
    assert_eq!(following.next().await, Err(RequestError::UnknownCommand));
}

#[tokio::test]
async fn a_command_that_takes_too_long_ends_soon_with_all_it_started() {
    deft_tools::become_subreaper().unwrap();
    let place = Place::new();
    let client = place.connect().await;
    let command = "trap '' TERM
        (trap '' TERM; sh -c 'echo $$ > child; exec sleep 600') &
        setsid sh -c 'echo $$ > escaped; exec sleep 600' &
        (setsid sh -c 'echo $$ > orphan; exec sleep 600' &)
        while [ ! -s child ] || [ ! -s escaped ] || [ ! -s orphan ]; do sleep 0.01; done
        echo begun; sleep 600";
    let id = Uuid::new_v4();
    client.start_command(id, shell(command)).await.unwrap();
    let mut following = client.follow_command(id, 0).await.unwrap();
    assert!(matches!(following.next().await, Ok(CommandUpdate::Output(_))));
    let stopped = Instant::now();
    client.stop_command(id).await.unwrap();
    assert!(
        stopped.elapsed() < Duration::from_secs(10),
        "took {:?}",
        stopped.elapsed()
    );
    let ended = loop {
        match following.next().await.unwrap() {
            CommandUpdate::Output(_) => {} // the shell may tell of what was killed before it
            CommandUpdate::Ended(ended) => break ended,
        }
    };
    assert_eq!(ended.reason, EndReason::Stopped);
    assert!([-9, 137].contains(&ended.exit_code), "{ended:?}"); // it, or what it waited for, was killed
    for name in ["child", "escaped", "orphan"] {
        assert!(!is_alive(&place.file(name)), "{name} is alive");
    }

    let start = Instant::now();
    let seen = run(
        &client,
        ShellCommand {
            timeout_ms: Some(200),
            ..shell("echo a; sleep 600 & sleep 600")
        },
    )
    .await;
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "took {:?}",
        start.elapsed()
    );
    assert_eq!((seen.ended.reason, &*seen.stdout), (EndReason::TimedOut, "a\n"));
}

#[tokio::test]
async fn what_is_left_in_the_background_does_not_hold_up_the_end_and_ends_with_the_executor() {
    deft_tools::become_subreaper().unwrap();
    let place = Place::new();
    let client = place.connect().await;
    let seen = run(&client, shell("sleep 600 & echo $!; echo done")).await;
    assert!(seen.stdout.ends_with("done\n"));
    let pid = seen.stdout.lines().next().unwrap();
    assert!(is_alive(pid));
    place.executor.close().await;
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn followed_output_of_any_length_is_whole_and_unfollowed_output_is_bounded() {
    const LENGTH: usize = 20_000_000;
    let place = Place::new();
    let client = place.connect().await;
    let command = format!("yes 123456789 | head -c {LENGTH}; touch written");
    let seen = run(&client, shell(&command)).await;
    assert_eq!(seen.stdout.len(), LENGTH);
    assert!(seen.orders.iter().copied().eq(0..seen.orders.len() as u64));

    fs::remove_file(place.root.path().join("written")).unwrap();
    let id = Uuid::new_v4();
    client.start_command(id, shell(&command)).await.unwrap();
    place.wait_for_file("written").await;
    let seen = follow(&client, id).await;
    assert!(
        seen.stdout.len() < 4 << 20,
        "{} bytes were kept",
        seen.stdout.len()
    );
    assert!(seen.stdout.ends_with("123456789\n"));
    assert!(seen.orders[0] > 0, "what is missing is told");
}

#[tokio::test]
async fn no_command_shows_a_secret() {
    let place = Place::new();
    let client = place.connect().await;
    let secrets = BTreeMap::from([("TOKEN".to_owned(), Secret::new("t0ken-value".to_owned()))]);
    client.set_secrets(SecretSet::new(secrets).unwrap()).await;
    let seen = run(
        &client,
        shell("printf t0ken; sleep 0.1; echo -value; echo t0ken-value >&2"),
    )
    .await;
    assert_eq!(
        (&*seen.stdout, &*seen.stderr),
        ("<secret-hidden>\n", "<secret-hidden>\n")
    );
}

#[tokio::test]
async fn a_command_reads_what_it_is_given_and_need_not() {
    let place = Place::new();
    let client = place.connect().await;
    let long = "x".repeat(1 << 20);
    let with_input = |command: &str| ShellCommand {
        input: Some(long.clone()),
        ..shell(command)
    };
    assert_eq!(run(&client, with_input("wc -c")).await.stdout.trim(), "1048576");
    let seen = run(&client, with_input("echo done")).await;
    assert_eq!((seen.stdout.as_str(), seen.ended.exit_code), ("done\n", 0));
    assert_eq!(run(&client, shell("cat; echo end")).await.stdout, "end\n");
}
