//! What happens with one call of the terminal.

mod answer;
mod upkeep;
mod wait;

use std::path::PathBuf;
use std::time::Duration;

use deft_types::{Content, TerminalAction, TerminalObservation};
use tokio_util::sync::CancellationToken;

use super::reader::Progress;
use super::setup::{Setup, host_name, user_name};
use super::shell::Shell;
use super::{exports, guard, keys, notes};
use crate::cgroup::ControlGroup;
use crate::process_tree;
use crate::{OutputSink, ToolError};
pub(super) use answer::refusal;
use wait::{Limit, OnPrompt, Outcome, SHORTEST_TIMEOUT, soon};

/// One shell and what runs in it.
#[derive(Debug)]
pub(super) struct Session {
    setup: Setup,
    quiet_limit: Duration,
    shell: Option<Shell>,
    /// Holds all that the shells start, where there may be one.
    group: Option<ControlGroup>,
    running: Option<Running>,
    /// Where the shell was last seen.
    directory: PathBuf,
    /// Its search path.
    path: String,
    /// The last job it put in the background, or -1.
    background: i64,
    user: Option<String>,
    host: Option<String>,
}

/// A command whose end nobody has been told of.
#[derive(Debug)]
struct Running {
    command: String,
    /// When it began, on the clock of [`process_tree::now`].
    since: u64,
}

impl Session {
    pub(super) fn new(setup: Setup, quiet_limit: Duration) -> Self {
        Self {
            directory: setup.workspace.clone(),
            path: setup.path().to_owned(),
            background: -1,
            setup,
            quiet_limit,
            shell: None,
            group: None,
            running: None,
            user: user_name(),
            host: host_name(),
        }
    }

    /// Whether there is a shell.
    pub(super) fn is_open(&self) -> bool {
        self.shell.is_some()
    }

    /// What whoever uses other shells should know about this one.
    pub(super) fn news(&mut self) -> Option<String> {
        let command = notes::clipped(&self.running.as_ref()?.command);
        let shell = self.shell.as_mut()?;
        let status = match (shell.progress().0, shell.ended()) {
            (Progress::Done(end), _) => Some(end.status),
            (_, ended) => ended.map(notes::code),
        };
        Some(match status {
            Some(status) => format!("has ended `{command}` with exit code {status}, its output is unread"),
            None => format!("runs `{command}`"),
        })
    }

    /// Does what the action asks.
    pub(super) async fn handle(
        &mut self,
        action: &TerminalAction,
        output: OutputSink,
        cancel: &CancellationToken,
    ) -> Result<TerminalObservation, ToolError> {
        let command = action.command.trim();
        let Some(limit) = self.limit(action.timeout) else {
            return Ok(refusal(command, notes::BAD_TIMEOUT));
        };
        if action.reset {
            if action.is_input {
                return Ok(refusal(command, notes::RESET_WITH_INPUT));
            }
            self.close().await;
            self.directory.clone_from(&self.setup.workspace);
            if command.is_empty() {
                return Ok(self.observation("[RESET]", notes::WAS_RESET.to_owned(), 0));
            }
            let mut seen = self.run(command, limit, output, cancel).await?;
            seen.content.insert(0, Content::text(notes::WAS_RESET));
            seen.command = Some(format!("[RESET] {command}"));
            return Ok(seen);
        }
        if self.running.is_none() {
            return if command.is_empty() {
                Ok(self.read_background().await)
            } else if action.is_input {
                Ok(refusal(command, notes::NOTHING_TO_TALK_TO))
            } else {
                self.run(command, limit, output, cancel).await
            };
        }
        if command.is_empty() && !action.is_input || action.command.is_empty() {
            return self.follow(command, limit, OnPrompt::Wait, output, cancel).await;
        }
        if action.is_input || keys::is_stop_key(command) {
            if let Some(shell) = &mut self.shell
                && let Err(error) = shell.type_in(&shell.keyboard().bytes_of(&action.command)).await
            {
                return Ok(refusal(command, &error.to_string()));
            }
            return self
                .follow(command, limit, OnPrompt::Return, output, cancel)
                .await;
        }
        self.run_next(command, limit, output, cancel).await
    }

    /// Starts a command and waits for it. Several lines are one command: unlike a terminal that is typed into, a
    /// file that is read cannot mix them up.
    async fn run(
        &mut self,
        command: &str,
        limit: Limit,
        output: OutputSink,
        cancel: &CancellationToken,
    ) -> Result<TerminalObservation, ToolError> {
        if let Some(objection) = guard::objection_to(command) {
            return Ok(refusal(command, &objection));
        }
        let mut prefix = String::new();
        if let Some(status) = self.shell.as_mut().and_then(Shell::ended) {
            self.shell = None;
            prefix = format!("{}\n", notes::shell_ended(status, &self.directory).trim_start());
        }
        let since = process_tree::now();
        let secrets = exports::script(command, &self.setup.secrets.named_in(command));
        let aside = self.ready_shell().await?.begin(command, secrets, output).await?;
        self.running = Some(Running {
            command: command.to_owned(),
            since,
        });
        let aside = self.shown_aside(aside).await;
        if !aside.is_empty() {
            prefix.push_str(&notes::aside(&aside));
        }
        let mut seen = self.report(command, limit, OnPrompt::Return, cancel).await?;
        seen.metadata.prefix.insert_str(0, &prefix);
        Ok(seen)
    }

    /// Runs a command if the one before, whose end nobody has seen, has ended by now.
    async fn run_next(
        &mut self,
        command: &str,
        limit: Limit,
        output: OutputSink,
        cancel: &CancellationToken,
    ) -> Result<TerminalObservation, ToolError> {
        let note = match self.wait(soon(SHORTEST_TIMEOUT), OnPrompt::Wait, cancel).await? {
            Outcome::Done(end) => notes::earlier_end(&self.finish(&end).await, end.status),
            Outcome::ShellEnded(status) => {
                let note = notes::earlier_end(&self.replace_shell().await?, notes::code(status));
                note + notes::shell_ended(status, &self.directory).trim_start() + "\n"
            }
            Outcome::StillRunning | Outcome::FillsScreen | Outcome::AwaitsInput | Outcome::Cancelled => {
                return Ok(self.refuse(command).await);
            }
        };
        let mut seen = self.run(command, limit, output, cancel).await?;
        seen.metadata.prefix.insert_str(0, &note);
        Ok(seen)
    }

    /// Waits for the running command to go on.
    async fn follow(
        &mut self,
        input: &str,
        limit: Limit,
        on_prompt: OnPrompt,
        output: OutputSink,
        cancel: &CancellationToken,
    ) -> Result<TerminalObservation, ToolError> {
        if let Some(shell) = &self.shell {
            shell.watch(output);
        }
        let mut seen = self.report(input, limit, on_prompt, cancel).await?;
        seen.metadata.prefix.insert_str(0, notes::EARLIER_OUTPUT);
        Ok(seen)
    }

    /// Says no to a command while another one runs.
    async fn refuse(&mut self, command: &str) -> TerminalObservation {
        let text = self.output_so_far().await;
        let mut seen = self.observation(command, text, -1);
        seen.is_error = true;
        notes::EARLIER_OUTPUT.clone_into(&mut seen.metadata.prefix);
        seen.metadata.suffix = notes::refused(command);
        seen
    }

    /// Shows what jobs have printed while no command ran.
    async fn read_background(&mut self) -> TerminalObservation {
        let text = self.output_so_far().await;
        if text.is_empty() {
            let mut seen = refusal("", notes::NOTHING_TO_READ);
            seen.metadata.suffix = self.told_jobs();
            return seen;
        }
        let mut seen = self.observation("", text, -1);
        seen.exit_code = None;
        notes::BACKGROUND_OUTPUT.clone_into(&mut seen.metadata.prefix);
        seen.metadata.suffix = self.told_jobs();
        seen
    }

    /// Waits for the running command and says what came of it.
    async fn report(
        &mut self,
        command: &str,
        limit: Limit,
        on_prompt: OnPrompt,
        cancel: &CancellationToken,
    ) -> Result<TerminalObservation, ToolError> {
        let (text, status, suffix) = match self.wait(limit, on_prompt, cancel).await? {
            Outcome::Cancelled => return self.interrupt(command).await,
            Outcome::Done(end) => {
                let text = self.finish(&end).await;
                let suffix = notes::ended(end.status, command) + &self.told_jobs();
                (text, end.status, suffix)
            }
            Outcome::ShellEnded(status) => {
                let text = self.replace_shell().await?;
                let note = notes::shell_ended(status, &self.directory);
                (text, notes::code(status), note)
            }
            Outcome::AwaitsInput => (self.output_so_far().await, -1, notes::AWAITS_INPUT.to_owned()),
            Outcome::FillsScreen => (self.output_so_far().await, -1, notes::FILLS_SCREEN.to_owned()),
            Outcome::StillRunning => {
                let text = self.output_so_far().await;
                let note = match limit {
                    Limit::Quiet(limit) => notes::quiet(limit, &text),
                    Limit::At(_, limit) => notes::timed_out(limit),
                };
                (text, -1, note)
            }
        };
        let mut seen = self.observation(command, text, status);
        seen.timeout = self.running.is_some();
        seen.metadata.suffix = suffix;
        Ok(seen)
    }
}
