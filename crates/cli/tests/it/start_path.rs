//! Nothing slow on the start path: what `deft` asks of the system until it is ready, seen by `strace`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use deft_store::{NewConversation, Options, Owner, SqliteStore, Store};
use deft_types::{ConversationId, Event, EventId, Message, MessageEvent, Role, Source, Timestamp};
use uuid::Uuid;

use crate::commands::Home;
use crate::workspaces::or_skip;

/// Whether this machine can look at system calls.
fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let works = traced.is_ok_and(|status| status.success());
    let why = || "strace is not here, or may not look at processes".to_owned();
    or_skip(works.then_some(()).ok_or_else(why)).is_some()
}

/// Runs `deft` until it has said its first line, and gives back its system calls.
fn traced(home: &Home, args: &[&str]) -> String {
    let trace = home.root.path().join("trace");
    let deft = home.deft(args);
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "trace=network,openat,execve,pread64,read", "-o"]);
    command.arg(&trace).arg(deft.get_program()).args(deft.get_args());
    command.env_clear();
    for (name, value) in deft.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.current_dir(home.work());
    let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(!line.is_empty(), "it says nothing");
    let calls = fs::read_to_string(&trace).unwrap();
    let group = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL); // both of them
    child.wait().unwrap();
    calls
}

/// Calls that reach for the network: `connect` and whatever sends to an address.
fn reaching_out(calls: &str) -> Vec<&str> {
    let is_out = |line: &&str| {
        let out = ["connect(", "sendto(", "sendmsg(", "sendmmsg("];
        out.iter().any(|call| line.contains(call)) && line.contains("AF_INET")
    };
    calls.lines().filter(is_out).collect()
}

#[test]
fn invariant_9_telling_the_version_asks_nothing_of_network_or_store() {
    if !can_trace() {
        return;
    }
    let home = Home::new();
    let calls = traced(&home, &["--version"]);
    assert_eq!(reaching_out(&calls), Vec::<&str>::new());
    assert!(
        !calls.contains("deft.db") && !calls.contains("deft.toml"),
        "{calls}"
    );
    assert_eq!(calls.matches("execve(").count(), 1, "{calls}");
}

#[test]
fn invariant_9_a_server_is_ready_without_network_and_without_reading_history() {
    if !can_trace() {
        return;
    }
    let home = Home::new();
    let data = home.root.path().join("data");
    let arguments = |data: &Path| data.display().to_string();
    let data_dir = arguments(&data);
    let serve = ["serve", "--port", "0", "--data-dir", &data_dir];
    drop(traced(&home, &serve)); // makes the store
    let store = data.join("deft.db");
    let few = bytes_read(&traced(&home, &serve), &store);
    assert!(few > 0, "no reading was seen");
    fill(&store);
    let calls = traced(&home, &serve);
    assert_eq!(reaching_out(&calls), Vec::<&str>::new());
    let many = bytes_read(&calls, &store);
    assert!(fs::metadata(&store).unwrap().len() > 20_000_000);
    assert!(
        many < few + 500_000,
        "{few} bytes of an empty store are read, and {many} of a full one"
    );
}

/// Puts 300 conversations of ten long events into a store.
#[tokio::main(flavor = "current_thread")]
async fn fill(store: &Path) {
    let store = SqliteStore::open(store, Options::default()).unwrap();
    for _ in 0..300 {
        let id = ConversationId(Uuid::new_v4());
        let conversation = NewConversation {
            owner: None,
            id,
            created_at: SystemTime::now(),
            workspace: String::new(),
            settings: serde_json::json!({}),
        };
        store.create(conversation).await.unwrap();
        let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
        let events = std::iter::repeat_with(event).take(10).collect();
        store.append(&lease, events).await.unwrap();
        store.release(lease).await.unwrap();
    }
    store.sync().await.unwrap();
}

fn event() -> Event {
    Event {
        id: EventId::from(Uuid::new_v4()),
        timestamp: Timestamp::at(SystemTime::now()),
        source: Source::User,
        parent_id: None,
        body: MessageEvent::new(Message::text(Role::User, "long ".repeat(2_000))).into(),
    }
}

/// How much of a file and its log was read.
fn bytes_read(calls: &str, file: &Path) -> u64 {
    let name = file.file_name().unwrap().to_string_lossy();
    let mut open = Vec::new();
    let mut bytes = 0;
    for line in calls.lines() {
        let Some((call, result)) = line.rsplit_once(" = ") else {
            continue;
        };
        if call.contains("openat(") && call.contains(name.as_ref()) {
            open.push(result.trim().to_owned());
        }
        let descriptor = call
            .split_once("read(")
            .or_else(|| call.split_once("pread64("))
            .and_then(|(_, rest)| rest.split(',').next());
        if descriptor.is_some_and(|descriptor| open.iter().any(|open| open == descriptor)) {
            bytes += result.trim().parse::<u64>().unwrap_or(0);
        }
    }
    bytes
}
