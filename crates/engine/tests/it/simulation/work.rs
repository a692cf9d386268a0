//! What the engine asks of a simulated executor beside calls: the files of the project, and the commands of hooks and skills.

use std::sync::Arc;
use std::time::Duration;

use deft_executor::frame::Reply;
use deft_executor::{
    EndReason, Ended, FileRequest, GatheredFile, GatheredFiles, RequestError, ShellCommand, ShellRequest,
    Work,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::machine::{Machine, tell};
use super::scene::Scene;

/// The hook that is asked about calls, and the word in a call that it refuses.
pub(super) const GUARD: &str = "guard";
pub(super) const REFUSED: &str = "thing 2";

/// A command that was started.
#[derive(Clone)]
pub(super) struct Command {
    ended: watch::Receiver<Option<Ended>>,
    stop: CancellationToken,
}

/// Does a piece of work.
pub(super) fn perform(
    machine: &Arc<Machine>,
    scene: &Arc<Scene>,
    id: Uuid,
    work: Work,
    replies: &mpsc::Sender<Reply>,
) {
    let answer = match work {
        Work::File(FileRequest::Gather { .. }) => gather(scene),
        Work::Shell(request) => match shell(machine, scene, request) {
            Ok(None) => Ok(Value::Null),
            Ok(Some(mut command)) => {
                let replies = replies.clone();
                tokio::spawn(async move {
                    let ended = command.ended.wait_for(Option::is_some).await;
                    if let Some(ended) = ended.ok().and_then(|ended| *ended) {
                        let answer = Ok(json!(ended));
                        tell(&replies, Reply::Done { id, answer });
                    }
                });
                return;
            }
            Err(error) => Err(error),
        },
        _ => Err(RequestError::UnknownCommand),
    };
    tell(replies, Reply::Done { id, answer });
}

/// The files of a project that add something to the agent; some of them come and go.
fn gather(scene: &Scene) -> Result<Value, RequestError> {
    if scene.fault(8) {
        let path = "/simulated".to_owned();
        return Err(RequestError::Denied { path });
    }
    let file = |path: &str, text: &str| GatheredFile {
        path: format!("/simulated/{path}"),
        text: Some(text.to_owned()),
    };
    let mut files = vec![
        file("AGENTS.md", "Run the tests."),
        file(
            ".openhands/microagents/more.md",
            "---\ntriggers: [message]\n---\nSay more.",
        ),
        file(
            ".openhands/hooks.json",
            r#"{"PreToolUse": [{"hooks": [{"command": "never trusted"}]}]}"#,
        ),
    ];
    files.truncate(scene.dice.below(4));
    let repository = None;
    Ok(json!(GatheredFiles { files, repository }))
}

/// Starts, finds or stops a command; gives the one that is followed.
fn shell(
    machine: &Arc<Machine>,
    scene: &Arc<Scene>,
    request: ShellRequest,
) -> Result<Option<Command>, RequestError> {
    let find = |id: &Uuid| {
        let known = machine.commands.lock().unwrap().get(id).cloned();
        known.ok_or(RequestError::UnknownCommand)
    };
    match request {
        ShellRequest::Start { id, command } => {
            scene.demand(command.command != "never trusted", || {
                "a hook of the project runs that nobody has agreed to".to_owned()
            });
            let command = start(machine, scene, &command);
            machine.commands.lock().unwrap().insert(id, command);
            Ok(None)
        }
        ShellRequest::Follow { id, .. } => find(&id).map(Some),
        ShellRequest::Stop { id } => {
            find(&id)?.stop.cancel();
            Ok(None)
        }
        ShellRequest::Acknowledge { id } => {
            machine.commands.lock().unwrap().remove(&id);
            Ok(None)
        }
        ShellRequest::List => Err(RequestError::UnknownCommand),
    }
}

fn start(machine: &Arc<Machine>, scene: &Arc<Scene>, command: &ShellCommand) -> Command {
    let takes = if scene.fault(20) { 90_000 } else { 30 };
    let takes = scene.dice.moment(Duration::from_millis(takes));
    let limit = Duration::from_millis(command.timeout_ms.unwrap_or(60_000));
    let exit_code = exit_code(scene, command);
    let (sender, ended) = watch::channel(None);
    let stop = CancellationToken::new();
    let (stopped, dead) = (stop.clone(), machine.dead.clone());
    tokio::spawn(async move {
        let (exit_code, reason) = tokio::select! {
            biased;
            () = dead.cancelled() => return,
            () = stopped.cancelled() => (-15, EndReason::Stopped),
            () = tokio::time::sleep(takes) => (exit_code, EndReason::Exited),
            () = tokio::time::sleep(limit) => (-9, EndReason::TimedOut),
        };
        sender.send_replace(Some(Ended { exit_code, reason }));
    });
    Command { ended, stop }
}

/// What a hook says: yes, no, or nothing that makes sense.
fn exit_code(scene: &Scene, command: &ShellCommand) -> i32 {
    let told = command.input.as_deref().unwrap_or_default();
    if command.command == GUARD && told.contains(REFUSED) {
        return 2;
    }
    if command.command != GUARD && scene.fault(6) {
        return 2;
    }
    i32::from(scene.fault(12))
}
