//! Waiting for a command, and ending one that is not waited for any more.

use std::process::ExitStatus;
use std::time::Duration;

use deft_types::TerminalObservation;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::super::marker::End;
use super::super::notes;
use super::super::reader::Progress;
use super::Session;
use crate::ToolError;

/// A `timeout` below this is taken for it: a quick command shall be able to end.
pub(super) const SHORTEST_TIMEOUT: Duration = Duration::from_millis(50);
/// A `timeout` above this is taken for it.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(7 * 24);
/// How long a program must be silent before it is looked at whether it waits for input, and how often that is.
const PROMPT_PAUSE: Duration = Duration::from_secs(1);
/// How long after the end of a command that may not be heard yet.
const END_NOTICE: Duration = Duration::from_millis(100);
/// How long a full-screen program must be silent to be taken for finished with its screen …
const SCREEN_PAUSE: Duration = Duration::from_millis(500);
/// … and how long it may paint on at most.
const SCREEN_LIMIT: Duration = Duration::from_secs(3);
/// How long an interrupted command has to end before it is killed, and how long the shell has after that.
const INTERRUPT_GRACE: Duration = Duration::from_millis(300);
/// How often it is interrupted within that time.
const INTERRUPT_ROUNDS: u32 = 3;

/// How waiting for a command ended.
pub(super) enum Outcome {
    Done(End),
    /// The limit was reached.
    StillRunning,
    /// It reads from the terminal.
    AwaitsInput,
    /// It has painted its screen.
    FillsScreen,
    Cancelled,
    ShellEnded(ExitStatus),
}

/// How long to wait for a command.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    /// Until it has printed nothing for so long.
    Quiet(Duration),
    /// Until the moment, which is so far from the call.
    At(Instant, Duration),
}

/// What to do when a program asks something.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum OnPrompt {
    /// Nobody else is going to answer.
    Return,
    /// It is known already, and was asked to be waited for.
    Wait,
}

/// Waits for a short time, whatever is printed.
pub(super) fn soon(span: Duration) -> Limit {
    Limit::At(Instant::now() + span, span)
}

impl Session {
    /// How long to wait; `None` for a time-out that is no span of time.
    pub(super) fn limit(&self, timeout: Option<f64>) -> Option<Limit> {
        let Some(seconds) = timeout else {
            return Some(Limit::Quiet(self.quiet_limit));
        };
        let span = Duration::try_from_secs_f64(seconds.min(LONGEST_TIMEOUT.as_secs_f64())).ok()?;
        Some(Limit::At(Instant::now() + span.max(SHORTEST_TIMEOUT), span))
    }

    /// Waits until the command ends, the limit is reached, it asks something, or the call is cancelled.
    pub(super) async fn wait(
        &mut self,
        limit: Limit,
        on_prompt: OnPrompt,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ToolError> {
        let asked = Instant::now();
        let mut looked = asked;
        let Some(shell) = &mut self.shell else {
            return Err(ToolError::Closed);
        };
        loop {
            let quiet_since = shell.last_output().max(asked);
            let fills_screen = shell.keyboard().full_screen;
            let deadline = match (shell.progress().0, limit) {
                (Progress::Done(end), _) => return Ok(Outcome::Done(end)),
                (Progress::Aborted, _) => {
                    shell.ask_for_end().await?;
                    continue;
                }
                (_, Limit::At(moment, _)) => moment,
                (_, Limit::Quiet(limit)) if fills_screen => {
                    (quiet_since + SCREEN_PAUSE.min(limit)).min(asked + SCREEN_LIMIT)
                }
                (_, Limit::Quiet(limit)) => quiet_since + limit,
            };
            let look = match on_prompt {
                OnPrompt::Return if !fills_screen => quiet_since.max(looked) + PROMPT_PAUSE,
                OnPrompt::Return | OnPrompt::Wait => deadline,
            };
            let now = Instant::now();
            if now >= deadline {
                return Ok(if fills_screen {
                    Outcome::FillsScreen
                } else {
                    Outcome::StillRunning
                });
            }
            if now >= look {
                looked = now;
                if shell.awaits_input().await {
                    // Where the command has just ended it is the shell that reads, and its end is heard at once.
                    match timeout(END_NOTICE, shell.changed()).await {
                        Err(_) => return Ok(Outcome::AwaitsInput),
                        Ok(Some(status)) => return Ok(Outcome::ShellEnded(status)),
                        Ok(None) => {}
                    }
                }
                continue;
            }
            tokio::select! {
                biased;
                ended = shell.changed() => {
                    if let Some(status) = ended {
                        return Ok(Outcome::ShellEnded(status));
                    }
                }
                () = cancel.cancelled() => return Ok(Outcome::Cancelled),
                () = sleep_until(deadline.min(look)) => {}
            }
        }
    }

    /// Ends the running command by force, first gently, and says how far it came.
    pub(super) async fn interrupt(&mut self, command: &str) -> Result<TerminalObservation, ToolError> {
        let nobody = CancellationToken::new();
        let mut outcome = Outcome::StillRunning;
        for _ in 0..INTERRUPT_ROUNDS {
            // Not only once: a job that starts just now may not have heard it.
            if let Some(shell) = &self.shell {
                shell.interrupt();
            }
            let limit = soon(INTERRUPT_GRACE / INTERRUPT_ROUNDS);
            outcome = self.wait(limit, OnPrompt::Wait, &nobody).await?;
            if matches!(outcome, Outcome::Done(_) | Outcome::ShellEnded(_)) {
                break;
            }
        }
        // Also after a quick end: what it has put in the background was started by it too.
        let family = self.family();
        let since = self.running.as_ref().map_or(0, |running| running.since);
        // A process that cannot be killed is not waited for.
        let _ = timeout(INTERRUPT_GRACE, family.kill_younger_than(since)).await;
        if !matches!(outcome, Outcome::Done(_) | Outcome::ShellEnded(_)) {
            outcome = self.wait(soon(INTERRUPT_GRACE), OnPrompt::Wait, &nobody).await?;
        }
        let (text, status, note) = match outcome {
            Outcome::Done(end) => (self.finish(&end).await, end.status, String::new()),
            Outcome::ShellEnded(status) => {
                let text = self.replace_shell().await?;
                let note = notes::shell_ended(status, &self.directory);
                (text, notes::code(status), note)
            }
            Outcome::StillRunning | Outcome::AwaitsInput | Outcome::FillsScreen | Outcome::Cancelled => {
                let text = self.replace_shell().await?;
                (text, -1, notes::shell_killed(&self.directory))
            }
        };
        let mut seen = self.observation(command, text, status);
        seen.metadata.suffix = format!("{}{note}", notes::INTERRUPTED);
        Ok(seen)
    }
}
