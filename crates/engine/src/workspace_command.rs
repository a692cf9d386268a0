//! Runs a line of the shell beside the files, for the engine itself and not for the agent.

use std::time::Duration;

use deft_executor::{Client, CommandUpdate, EndReason, OutputChannel, RequestError, ShellCommand};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How a command ended, and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// 0 where all went well.
    pub exit_code: i32,
    /// Why it ended.
    pub reason: EndReason,
    /// What it wrote.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

/// Runs a command to its end, which comes after `limit` at the latest, or when it is cancelled. Of each stream `most`
/// bytes are kept.
pub async fn run(
    client: &Client,
    command: ShellCommand,
    limit: Duration,
    most: usize,
    cancel: &CancellationToken,
) -> Result<Ran, RequestError> {
    let id = begin(client, command, limit).await?;
    let mut following = client.follow_command(id, 0).await?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut stopped = false;
    let ended = loop {
        let update = tokio::select! {
            update = following.next() => update?,
            () = cancel.cancelled(), if !stopped => {
                stopped = true;
                client.stop_command(id).await?;
                continue;
            }
        };
        match update {
            CommandUpdate::Output(chunk) => {
                let stream = match chunk.channel {
                    OutputChannel::Stdout => &mut stdout,
                    OutputChannel::Stderr => &mut stderr,
                };
                let room = most.saturating_sub(stream.len()).min(chunk.bytes.len());
                stream.extend_from_slice(&chunk.bytes[..room]);
            }
            CommandUpdate::Ended(ended) => break ended,
        }
    };
    let _ = client.acknowledge_command(id).await; // otherwise it is forgotten with its executor
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ran {
        exit_code: ended.exit_code,
        reason: ended.reason,
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

/// Starts a command that nobody waits for. It ends after `limit` at the latest, or with its executor.
pub(crate) async fn start(
    client: &Client,
    command: ShellCommand,
    limit: Duration,
) -> Result<(), RequestError> {
    let id = begin(client, command, limit).await?;
    client.acknowledge_command(id).await
}

async fn begin(client: &Client, command: ShellCommand, limit: Duration) -> Result<Uuid, RequestError> {
    let id = Uuid::new_v4();
    let command = ShellCommand {
        timeout_ms: Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        ..command
    };
    client.start_command(id, command).await?;
    Ok(id)
}
