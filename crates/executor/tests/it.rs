//! The executor, its client and its socket, with a real shell.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "it/archives.rs"]
mod archives;
#[path = "it/console.rs"]
mod console;
#[path = "it/files.rs"]
mod files;
#[path = "it/git.rs"]
mod git;
#[path = "it/ports.rs"]
mod ports;
#[path = "it/review.rs"]
mod review;
#[path = "it/servers.rs"]
mod servers;
#[path = "it/shell.rs"]
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use deft_executor::daemon::{Daemon, SOCKET, private_directory};
use deft_executor::frame::{PROTOCOL_VERSION, Request};
use deft_executor::{CheckpointFailure, Client, Executor, Outcome, Update};
use deft_tools::{Effect, Overwrite, SecretSet, ToolContext, Toolbox};
use deft_types::{Action, Observation, Secret, TerminalAction, TerminalObservation};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use uuid::Uuid;

struct Place {
    root: TempDir,
    executor: Executor,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().to_owned();
        Self::with(root, &workspace)
    }

    /// A place whose workspace is a folder of it.
    fn working_in(folder: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().join(folder);
        std::fs::create_dir_all(&workspace).unwrap();
        Self::with(root, &workspace)
    }

    fn with(root: TempDir, workspace: &Path) -> Self {
        let context = ToolContext {
            workspace: workspace.to_owned(),
            private_dir: root.path().join("private"),
            env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        };
        let limits = deft_mcp::Limits {
            start: Duration::from_secs(60),
            ..deft_mcp::Limits::default()
        };
        let servers = deft_mcp::LocalServers::new(context.clone(), limits);
        let executor = Executor::new(
            Toolbox::standard(context)
                .unwrap()
                .with_servers(Arc::new(servers)),
            workspace.display().to_string(),
        );
        Self { root, executor }
    }

    async fn connect(&self) -> Client {
        let (near, far) = tokio::io::duplex(1 << 16);
        let executor = self.executor.clone();
        tokio::spawn(async move { executor.serve(far).await });
        Client::connect(near).await.unwrap()
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.root.path().join(name)).unwrap_or_default()
    }

    async fn wait_for_file(&self, name: &str) {
        while !self.root.path().join(name).exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

fn command(text: impl Into<String>) -> Action {
    TerminalAction {
        command: text.into(),
        ..TerminalAction::default()
    }
    .into()
}

async fn call(client: &Client, id: &str, text: &str) -> deft_executor::RunningCall {
    client.call(id.into(), "terminal".into(), command(text)).await
}

#[track_caller]
fn terminal(update: Update) -> TerminalObservation {
    match update {
        Update::Ended(Outcome::Observed { observation }) => match *observation {
            Observation::Terminal(observation) => *observation,
            other => panic!("not a terminal's answer: {other:?}"),
        },
        other => panic!("no answer: {other:?}"),
    }
}

#[tokio::test]
async fn a_call_is_answered_with_the_tools_observation() {
    let place = Place::new();
    let client = place.connect().await;
    assert_eq!(client.hello().workspace, place.root.path().display().to_string());
    assert!(client.hello().tools.iter().any(|tool| tool.name() == "terminal"));
    let observation = terminal(
        call(&client, "1", "echo hi; exit_with() { return 7; }; exit_with")
            .await
            .end()
            .await,
    );
    assert_eq!(deft_types::text_of(&observation.content), "hi");
    assert_eq!(observation.exit_code, Some(7));
}

#[tokio::test]
async fn a_repeated_call_joins_the_first_and_runs_nothing_twice() {
    let place = Place::new();
    let client = place.connect().await;
    let first = call(&client, "1", "echo run >> runs; sleep 0.3").await;
    let other = place.connect().await;
    let again = call(&other, "1", "echo run >> runs; sleep 0.3").await;
    assert_eq!(terminal(first.end().await), terminal(again.end().await));
    let after = call(&other, "1", "echo run >> runs; sleep 0.3").await;
    terminal(after.end().await);
    assert_eq!(place.file("runs"), "run\n");
}

#[tokio::test]
async fn a_result_waits_for_a_client_that_comes_back() {
    let place = Place::new();
    let client = place.connect().await;
    let running = call(&client, "1", "touch begun; sleep 0.2; echo done").await;
    place.wait_for_file("begun").await;
    drop((running, client));

    let client = place.connect().await;
    let observation = terminal(client.collect("1".into()).await.end().await);
    assert_eq!(deft_types::text_of(&observation.content), "done");

    client.acknowledge("1".into()).await;
    assert_eq!(client.collect("1".into()).await.end().await, Update::Unknown);
    let refused = call(&client, "1", "touch begun-again").await.end().await;
    assert!(
        matches!(refused, Update::Ended(Outcome::Failed { .. })),
        "{refused:?}"
    );
    assert!(!place.root.path().join("begun-again").exists());
}

#[tokio::test]
async fn a_call_nobody_made_is_unknown_and_a_tool_nobody_has_is_said_so() {
    let place = Place::new();
    let client = place.connect().await;
    assert_eq!(client.collect("never".into()).await.end().await, Update::Unknown);
    let update = client
        .call("1".into(), "teleport".into(), command("x"))
        .await
        .end()
        .await;
    assert!(matches!(update, Update::Ended(Outcome::Failed { message }) if message.contains("teleport")));
}

#[tokio::test]
async fn output_is_shown_while_the_call_runs() {
    let place = Place::new();
    let client = place.connect().await;
    let mut running = call(
        &client,
        "1",
        "echo grüße; until [ -e go ]; do sleep 0.01; done; echo end",
    )
    .await;
    let mut seen = String::new();
    while !seen.contains("grüße") {
        match running.next().await {
            Update::Output(chunk) => seen.push_str(&chunk),
            other => panic!("ended before it was told to: {other:?}"),
        }
    }
    fs::write(place.root.path().join("go"), "").unwrap();
    let observation = terminal(running.end().await);
    assert_eq!(deft_types::text_of(&observation.content), "grüße\nend");
}

#[tokio::test]
async fn a_cancelled_call_ends_soon_with_a_result_and_the_shell_goes_on() {
    let place = Place::new();
    let client = place.connect().await;
    let running = call(&client, "1", "touch begun; sleep 600").await;
    place.wait_for_file("begun").await;
    let start = Instant::now();
    client.cancel("1".into()).await;
    terminal(running.end().await);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "took {:?}",
        start.elapsed()
    );
    let observation = terminal(call(&client, "2", "echo alive").await.end().await);
    assert_eq!(deft_types::text_of(&observation.content), "alive");
}

fn daemon(place: &Place, linger: Duration) -> (tokio::task::JoinHandle<()>, std::path::PathBuf) {
    let directory = place.root.path().join("socket-directory");
    let daemon = Daemon::bind(&directory).unwrap();
    let executor = place.executor.clone();
    (
        tokio::spawn(daemon.serve(executor, linger)),
        directory.join(SOCKET),
    )
}

#[tokio::test]
async fn the_daemon_ends_when_its_last_client_has_been_gone_for_the_linger_time() {
    let place = Place::new();
    let (served, socket) = daemon(&place, Duration::from_millis(200));
    let client = Client::connect(UnixStream::connect(&socket).await.unwrap())
        .await
        .unwrap();
    terminal(call(&client, "1", "sleep 0.5").await.end().await); // longer than the linger time, with a client
    drop(client);
    tokio::time::timeout(Duration::from_secs(20), served)
        .await
        .unwrap()
        .unwrap();
    assert!(!socket.exists());
}

#[tokio::test]
async fn shutdown_returns_when_the_daemon_and_its_shells_are_gone() {
    let place = Place::new();
    let (served, socket) = daemon(&place, Duration::from_mins(10));
    let client = Client::connect(UnixStream::connect(&socket).await.unwrap())
        .await
        .unwrap();
    let running = call(&client, "1", "echo $$ > pid; sleep 600").await;
    place.wait_for_file("pid").await;
    while place.file("pid").is_empty() {
        tokio::task::yield_now().await;
    }
    client.shutdown().await;
    drop(running);
    assert!(!Path::new(&format!("/proc/{}", place.file("pid").trim())).exists());
    tokio::time::timeout(Duration::from_secs(20), served)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn bytes_that_are_no_frames_end_the_connection_and_nothing_else() {
    let place = Place::new();
    let (_served, socket) = daemon(&place, Duration::from_mins(10));
    for garbage in [
        &b"\xff\xff\xff\xff garbage"[..],
        &b"\0\0\0\x02{]"[..],
        &b"\0\0\0\x05\0data"[..],
        &b"\0\0\0\x11{\"type\":\"dance\"}\n"[..],
    ] {
        let mut stream = UnixStream::connect(&socket).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        let mut rest = Vec::new();
        let end = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
        assert!(end.is_ok(), "still open after {garbage:?}");
    }
    let client = Client::connect(UnixStream::connect(&socket).await.unwrap())
        .await
        .unwrap();
    terminal(call(&client, "1", "true").await.end().await);
}

#[test]
fn a_directory_that_others_can_enter_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("a/b");
    private_directory(&directory).unwrap();
    assert_eq!(
        fs::metadata(&directory).unwrap().permissions().mode() & 0o777,
        0o700
    );
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let error = private_directory(&directory).unwrap_err().to_string();
    assert!(error.contains("0700"), "{error}");
    let link = root.path().join("link");
    std::os::unix::fs::symlink(root.path(), &link).unwrap();
    private_directory(&link).unwrap_err();
}

#[tokio::test]
async fn an_answer_that_is_too_long_to_pass_on_is_replaced_by_one_that_says_so() {
    let place = Place::new();
    let client = place.connect().await;
    let path = place.root.path().join("large");
    fs::write(&path, "\u{1b}".repeat(7_000_000) + "end").unwrap();
    let edit = deft_types::FileEditorAction {
        command: deft_types::EditorCommand::StrReplace,
        path: path.display().to_string(),
        old_str: Some("end".to_owned()),
        new_str: Some("END".to_owned()),
        ..deft_types::FileEditorAction::default()
    };
    let update = client
        .call("1".into(), "file_editor".into(), edit.into())
        .await
        .end()
        .await;
    assert!(
        matches!(update, Update::Ended(Outcome::Failed { message }) if message.contains("done its work"))
    );
    assert!(fs::read_to_string(path).unwrap().ends_with("END"));
    assert!(!client.is_closed());
}

#[tokio::test]
async fn a_result_that_nobody_wants_is_forgotten_as_soon_as_it_is_there() {
    let place = Place::new();
    let client = place.connect().await;
    let running = call(&client, "1", "touch begun; until [ -e go ]; do sleep 0.01; done").await;
    place.wait_for_file("begun").await;
    client.acknowledge("1".into()).await;
    fs::write(place.root.path().join("go"), "").unwrap();
    terminal(running.end().await);
    while client.collect("1".into()).await.end().await != Update::Unknown {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn secrets_reach_commands_by_name_and_no_answer_of_any_tool() {
    let place = Place::new();
    let client = place.connect().await;
    let secrets = BTreeMap::from([("TOKEN".to_owned(), Secret::new("t0ken-value".to_owned()))]);
    let request = Request::SetSecrets {
        secrets: SecretSet::new(secrets.clone()).unwrap(),
    };
    assert!(!format!("{request:?}").contains("t0ken"));
    client.set_secrets(SecretSet::new(secrets).unwrap()).await;

    let mut running = call(
        &client,
        "1",
        "printf '%s' $TOKEN > kept; printf t0ken; sleep 0.1; echo -value; echo end",
    )
    .await;
    let mut live = String::new();
    let observation = loop {
        match running.next().await {
            Update::Output(chunk) => live.push_str(&chunk),
            ended => break terminal(ended),
        }
    };
    assert_eq!(place.file("kept"), "t0ken-value");
    assert_eq!(deft_types::text_of(&observation.content), "<secret-hidden>\nend");
    assert_eq!(live, "<secret-hidden>\nend\n");

    let view = deft_types::FileEditorAction {
        path: place.root.path().join("kept").display().to_string(),
        ..deft_types::FileEditorAction::default()
    };
    let seen = client
        .call("2".into(), "file_editor".into(), view.into())
        .await
        .end()
        .await;
    let seen = format!("{seen:?}");
    assert!(
        seen.contains("<secret-hidden>") && !seen.contains("t0ken"),
        "{seen}"
    );
    let failed = client
        .call("3".into(), "t0ken-value".into(), command("x"))
        .await
        .end()
        .await;
    assert!(!format!("{failed:?}").contains("t0ken"), "{failed:?}");
}

#[test]
fn a_frame_with_more_secrets_than_can_be_hidden_is_no_frame() {
    let value = "x".repeat(100_000);
    let frame = serde_json::json!({"type": "set_secrets", "secrets": {"A": value}});
    let error = serde_json::from_value::<Request>(frame).unwrap_err().to_string();
    assert!(error.contains("too many secrets"), "{error}");
}

#[tokio::test]
async fn what_shell_commands_changed_can_be_taken_back() {
    let place = Place::new();
    fs::write(place.root.path().join(".gitignore"), "private").unwrap();
    fs::write(place.root.path().join("kept"), "one").unwrap();
    fs::write(place.root.path().join("deleted"), "one").unwrap();
    let client = place.connect().await;
    let id = client.checkpoint("turn 1".to_owned()).await.unwrap();
    terminal(
        call(&client, "1", "echo two > kept; rm deleted; touch new")
            .await
            .end()
            .await,
    );
    client.settle().await.unwrap();

    let listed = client.checkpoints().await.unwrap();
    assert_eq!(
        listed
            .iter()
            .map(|one| (one.id, one.label.as_str()))
            .collect::<Vec<_>>(),
        [(id, "turn 1")]
    );
    let preview = client.preview(id).await.unwrap();
    let told: Vec<_> = preview
        .iter()
        .map(|change| (change.path.as_str(), change.effect))
        .collect();
    assert_eq!(
        told,
        [
            ("deleted", Effect::Create),
            ("kept", Effect::Modify),
            ("new", Effect::Delete)
        ]
    );

    let running = call(&client, "2", "touch begun; sleep 100").await;
    place.wait_for_file("begun").await;
    let refused = client.restore(id, Overwrite::Allow).await.unwrap_err();
    assert!(
        matches!(&refused, CheckpointFailure::Refused(why) if why.contains("at work")),
        "{refused}"
    );
    client.cancel("2".into()).await;
    running.end().await;

    fs::write(place.root.path().join("kept"), "by a person").unwrap();
    let refused = client.restore(id, Overwrite::Refuse).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("somebody else meanwhile: begun, kept"),
        "{refused}"
    );
    let restored = client.restore(id, Overwrite::Allow).await.unwrap();
    assert_eq!(
        (place.file("kept"), place.file("deleted")),
        ("one".into(), "one".into())
    );
    assert!(!place.root.path().join("new").exists());
    client.restore(restored.undo, Overwrite::Refuse).await.unwrap();
    assert_eq!(place.file("kept"), "by a person");
}

#[tokio::test]
async fn a_question_about_checkpoints_ends_with_the_connection() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let place = Place::new();
    let executor = place.executor.clone();
    let serving = tokio::spawn(async move { executor.serve(far).await });
    let client = Client::connect(near).await.unwrap();
    serving.abort();
    let _ = serving.await;
    let lost = client.checkpoints().await;
    assert!(matches!(lost, Err(CheckpointFailure::Lost)), "{lost:?}");
}

#[tokio::test]
async fn an_executor_of_another_version_is_refused_with_what_to_do() {
    let (near, mut far) = tokio::io::duplex(1 << 16);
    let hello = json!({"type": "hello", "version": PROTOCOL_VERSION + 1, "instance": Uuid::new_v4(), "os": "linux",
        "arch": "x86_64", "workspace": "/w", "tools": []});
    let hello = hello.to_string();
    let length = u32::try_from(hello.len()).unwrap();
    far.write_all(&length.to_be_bytes()).await.unwrap();
    far.write_all(hello.as_bytes()).await.unwrap();
    let refused = Client::connect(near).await.err().unwrap().to_string();
    assert!(
        refused.contains("another version") && refused.contains("`deft executor`"),
        "{refused}"
    );
}
