//! What every kind of workspace must do, and what is particular to each: real engines and servers, the real binary.

#[path = "workspaces/abilities.rs"]
mod abilities;
#[path = "workspaces/attacks.rs"]
mod attacks;
#[path = "workspaces/command_line.rs"]
mod command_line;
#[path = "workspaces/conformance.rs"]
mod conformance;
#[path = "workspaces/docker.rs"]
mod docker;
#[path = "../../../../tests/servers/dockerd.rs"]
mod dockerd;
#[path = "workspaces/images.rs"]
mod images;
#[path = "workspaces/killed.rs"]
mod killed;
#[path = "workspaces/kubernetes.rs"]
mod kubernetes;
#[path = "../../../../tests/servers/kubernetes.rs"]
mod kubernetes_server;
#[path = "workspaces/lazy_start.rs"]
mod lazy_start;
#[path = "workspaces/left.rs"]
mod left;
#[path = "workspaces/podman.rs"]
mod podman;
#[path = "../../../../tests/servers/podman.rs"]
mod podman_server;
#[path = "workspaces/proxies.rs"]
mod proxies;
#[path = "workspaces/registry.rs"]
mod registry;
#[path = "workspaces/remote.rs"]
mod remote;
#[path = "workspaces/sleeping.rs"]
mod sleeping;
#[path = "workspaces/ssh.rs"]
mod ssh;
#[path = "workspaces/ssh_ways.rs"]
mod ssh_ways;
#[path = "../../../../tests/servers/sshd.rs"]
mod sshd;
#[path = "workspaces/stopping.rs"]
mod stopping;
#[path = "workspaces/through_server.rs"]
mod through_server;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use deft_executor::{Client, ClientError, Outcome, RunningCall, Update};
use deft_types::{Action, Observation, TerminalAction, TerminalObservation, text_of};
use deft_workspace::Workspace;

/// How long anything may take on a loaded machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Our binary.
fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_deft"))
}

/// What a machine that can run the component gives. Elsewhere the test is skipped, which `scripts/test` tells at the
/// end; where nothing may be skipped it fails.
pub(crate) fn or_skip<T>(started: Result<T, String>) -> Option<T> {
    match started {
        Ok(server) => Some(server),
        Err(why) => {
            assert!(
                std::env::var_os("DEFT_NO_SKIPS").is_none(),
                "cannot be skipped: {why}"
            );
            skip(&why);
            None
        }
    }
}

/// Tells that this test is skipped: for want of something that no script can install.
pub(crate) fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped");
    let mut file = File::options().append(true).create(true).open(path).unwrap();
    writeln!(file, "{name}: {why}").unwrap();
}

async fn open(workspace: &dyn Workspace) -> Client {
    match Client::connect(workspace.open().await.unwrap()).await {
        // One that was just killed and still had a socket; the engine tries again too.
        Err(ClientError::Io(_)) => Client::connect(workspace.open().await.unwrap()).await.unwrap(),
        connected => connected.unwrap(),
    }
}

async fn begin(client: &Client, id: &str, command: &str) -> RunningCall {
    let action = Action::from(TerminalAction {
        command: command.to_owned(),
        ..TerminalAction::default()
    });
    client.call(id.into(), "terminal".into(), action).await
}

/// Runs a command to its end.
async fn run(client: &Client, id: &str, command: &str) -> TerminalObservation {
    ended(begin(client, id, command).await).await
}

/// What a command wrote, once it is over.
async fn output(client: &Client, id: &str, command: &str) -> String {
    text_of(&run(client, id, command).await.content)
}

async fn ended(call: RunningCall) -> TerminalObservation {
    match tokio::time::timeout(LIMIT, call.end()).await.unwrap() {
        Update::Ended(Outcome::Observed { observation }) => match *observation {
            Observation::Terminal(observation) => *observation,
            other => panic!("not a terminal's answer: {other:?}"),
        },
        other => panic!("no answer: {other:?}"),
    }
}

pub(crate) async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "not within the limit: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Ends what a test leaves running; some of it may be ending by itself.
pub(crate) fn end(words: &str) {
    let left = processes(words);
    let left = left.iter().map(u32::to_string);
    let _ = std::process::Command::new("kill").arg("-9").args(left).output();
}

/// The processes of this machine whose command line has these words.
pub(crate) fn processes(words: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(words).then_some(pid)
    })
    .collect()
}
