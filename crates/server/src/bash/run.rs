//! One command, from its start to its end.

use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use deft_executor::{Client, CommandUpdate, EndReason, OutputChannel, RequestError, ShellCommand};
use deft_types::{BashOutput, Extra};
use futures::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::history::History;
use crate::info::utc;

/// Output is told in pieces of this size, and what is left when the command ends: clients take the last for all there is.
const PIECE: usize = 1024 * 1024;
/// Of what is told at once when a command has ended, so much is kept; the rest is in the pieces.
const MAX_WHOLE: usize = 8 * PIECE;
/// What a command that could not run or took too long returns.
const NO_CODE: i64 = -1;

/// What a command wrote.
#[derive(Default)]
struct Written {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Written {
    fn len(&self) -> usize {
        self.stdout.len() + self.stderr.len()
    }

    fn add(&mut self, channel: OutputChannel, bytes: &[u8]) {
        match channel {
            OutputChannel::Stdout => self.stdout.extend_from_slice(bytes),
            OutputChannel::Stderr => self.stderr.extend_from_slice(bytes),
        }
    }
}

/// See the module.
pub(super) struct Run {
    id: Uuid,
    history: Arc<History>,
    client: Client,
    stop: CancellationToken,
    order: u64,
}

impl Run {
    pub(super) fn new(id: Uuid, history: Arc<History>, client: Client, stop: CancellationToken) -> Self {
        Self {
            id,
            history,
            client,
            stop,
            order: 0,
        }
    }

    /// Runs it; gives all it wrote.
    pub(super) async fn carry_out(mut self, command: ShellCommand) -> BashOutput {
        let mut whole = Written::default();
        let mut piece = Written::default();
        let code = match self.follow(command, &mut whole, &mut piece).await {
            Ok(code) => code,
            Err(error) => {
                let sentence = format!("Error executing command: {error}");
                whole.add(OutputChannel::Stderr, sentence.as_bytes());
                piece.add(OutputChannel::Stderr, sentence.as_bytes());
                NO_CODE
            }
        };
        let last = self.output(std::mem::take(&mut piece), Some(code));
        self.history.add(last.clone().into()).await;
        let whole = self.output(whole, Some(code));
        BashOutput {
            id: last.id,
            timestamp: last.timestamp,
            order: 0,
            ..whole
        }
    }

    async fn follow(
        &mut self,
        command: ShellCommand,
        whole: &mut Written,
        piece: &mut Written,
    ) -> Result<i64, RequestError> {
        self.client.start_command(self.id, command).await?;
        let following = self.client.follow_command(self.id, 0).await?;
        // As a stream, so that a stop does not drop what is just being taken.
        let mut updates = pin!(stream::unfold(following, async |mut following| {
            let update = following.next().await;
            Some((update, following))
        }));
        let mut is_stopped = false;
        let ended = loop {
            tokio::select! {
                update = updates.next() => match update.unwrap_or(Err(RequestError::Lost))? {
                    CommandUpdate::Output(chunk) => {
                        piece.add(chunk.channel, &chunk.bytes);
                        if whole.len() < MAX_WHOLE {
                            whole.add(chunk.channel, &chunk.bytes);
                        }
                        if piece.len() >= PIECE {
                            self.tell(piece).await;
                        }
                    }
                    CommandUpdate::Ended(ended) => break ended,
                },
                () = self.stop.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    self.client.stop_command(self.id).await?;
                }
            }
        };
        self.client.acknowledge_command(self.id).await?;
        Ok(match ended.reason {
            EndReason::TimedOut => NO_CODE,
            EndReason::Exited | EndReason::Stopped => i64::from(ended.exit_code),
        })
    }

    async fn tell(&mut self, piece: &mut Written) {
        let told = self.output(std::mem::take(piece), None);
        self.history.add(told.into()).await;
    }

    fn output(&mut self, written: Written, exit_code: Option<i64>) -> BashOutput {
        let text = |bytes: Vec<u8>| (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned());
        let order = self.order;
        self.order += 1;
        BashOutput {
            id: Uuid::new_v4(),
            timestamp: utc(SystemTime::now()),
            command_id: self.id,
            order,
            exit_code,
            stdout: text(written.stdout),
            stderr: text(written.stderr),
            extra: Extra::new(),
        }
    }
}
