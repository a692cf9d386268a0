//! What happens with one call of the terminal.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use deft_types::{CommandMetadata, Content, TerminalAction, TerminalObservation};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::marker::End;
use super::setup::{Setup, host_name, python_in, user_name};
use super::shell::{Progress, Shell};
use super::shown::{ASIDE_LIMIT, SHOWN_LIMIT, show};
use super::{guard, keys, notes};
use crate::cgroup::ControlGroup;
use crate::process_tree::{self, Family};
use crate::{OutputSink, ToolError};

/// A `timeout` below this is taken for it: a quick command shall be able to end.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(50);
/// A `timeout` above this is taken for it.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(7 * 24);
/// How long an interrupted command has to end before it is killed, and how long the shell has after that.
const INTERRUPT_GRACE: Duration = Duration::from_millis(300);
/// How often it is interrupted within that time.
const INTERRUPT_ROUNDS: u32 = 3;
/// How long output of a dead shell may take to come through.
const DRAIN_LIMIT: Duration = Duration::from_millis(200);
/// How many files with long outputs are kept; the oldest go first.
const SAVED_OUTPUTS: usize = 32;

/// The shell of a terminal and what runs in it.
#[derive(Debug)]
pub(super) struct Session {
    setup: Setup,
    quiet_limit: Duration,
    shell: Option<Shell>,
    /// Holds all that the shells start, where there may be one.
    group: Option<ControlGroup>,
    /// When the running command began, on the clock of [`process_tree::now`].
    running_since: Option<u64>,
    /// Where the shell was last seen.
    directory: PathBuf,
    /// Its search path.
    path: String,
    /// The last job it put in the background, or -1.
    background: i64,
    user: Option<String>,
    host: Option<String>,
    saved: VecDeque<PathBuf>,
}

/// How waiting for a command ended.
enum Outcome {
    Done(End),
    /// The limit was reached.
    StillRunning,
    Cancelled,
    ShellEnded(ExitStatus),
}

/// How long to wait for a command.
#[derive(Clone, Copy)]
enum Limit {
    /// Until it has printed nothing for so long.
    Quiet(Duration),
    /// Until the moment, which is so far from the call.
    At(Instant, Duration),
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
            running_since: None,
            user: user_name(),
            host: host_name(),
            saved: VecDeque::new(),
        }
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
                self.ready_shell().await?;
                return Ok(self.observation("[RESET]", notes::WAS_RESET.to_owned(), 0));
            }
            let mut seen = self.run(command, limit, output, cancel).await?;
            seen.content.insert(0, Content::text(notes::WAS_RESET));
            seen.command = Some(format!("[RESET] {command}"));
            return Ok(seen);
        }
        if self.running_since.is_none() {
            return if command.is_empty() {
                Ok(refusal(command, notes::NOTHING_TO_READ))
            } else if action.is_input {
                Ok(refusal(command, notes::NOTHING_TO_TALK_TO))
            } else {
                self.run(command, limit, output, cancel).await
            };
        }
        if command.is_empty() && !action.is_input || action.command.is_empty() {
            return self.follow(command, limit, output, cancel).await;
        }
        if action.is_input || keys::is_stop_key(command) {
            let line = action.command.strip_suffix('\n').unwrap_or(&action.command);
            let typed = keys::bytes_of(command).unwrap_or_else(|| format!("{line}\r").into_bytes());
            if let Some(shell) = &mut self.shell
                && let Err(error) = shell.type_in(&typed).await
            {
                return Ok(refusal(command, &error.to_string()));
            }
            return self.follow(command, limit, output, cancel).await;
        }
        let note = match self.wait(soon(SHORTEST_TIMEOUT), cancel).await? {
            Outcome::Done(end) => notes::earlier_end(&self.finish(&end).await, end.status),
            Outcome::ShellEnded(status) => {
                let note = notes::earlier_end(&self.replace_shell().await?, notes::code(status));
                note + notes::shell_ended(status, &self.directory).trim_start() + "\n"
            }
            Outcome::StillRunning | Outcome::Cancelled => return Ok(self.refuse(command).await),
        };
        let mut seen = self.run(command, limit, output, cancel).await?;
        seen.metadata.prefix.insert_str(0, &note);
        Ok(seen)
    }

    /// Ends the shell and everything that was started here.
    pub(super) async fn close(&mut self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        self.family().kill().await;
        self.group = None;
        self.shell = None;
        self.running_since = None;
        // Made again with the next command.
        let _ = tokio::fs::remove_file(self.setup.command_file()).await;
    }

    /// Starts a command and waits for it.
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
        let aside = self.ready_shell().await?.begin(command, output).await?;
        self.running_since = Some(since);
        let aside = self.shown(aside, ASIDE_LIMIT).await;
        if !aside.is_empty() {
            prefix.push_str(&notes::aside(&aside));
        }
        let mut seen = self.wait_and_report(command, limit, cancel).await?;
        seen.metadata.prefix.insert_str(0, &prefix);
        Ok(seen)
    }

    /// Waits for the running command to go on.
    async fn follow(
        &mut self,
        input: &str,
        limit: Limit,
        output: OutputSink,
        cancel: &CancellationToken,
    ) -> Result<TerminalObservation, ToolError> {
        if let Some(shell) = &self.shell {
            shell.watch(output);
        }
        let mut seen = self.wait_and_report(input, limit, cancel).await?;
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

    async fn wait_and_report(
        &mut self,
        command: &str,
        limit: Limit,
        cancel: &CancellationToken,
    ) -> Result<TerminalObservation, ToolError> {
        let (text, status, suffix) = match self.wait(limit, cancel).await? {
            Outcome::Cancelled => return self.interrupt(command).await,
            Outcome::Done(end) => {
                let text = self.finish(&end).await;
                (text, end.status, notes::ended(end.status, command))
            }
            Outcome::ShellEnded(status) => {
                let text = self.replace_shell().await?;
                let note = notes::shell_ended(status, &self.directory);
                (text, notes::code(status), note)
            }
            Outcome::StillRunning => {
                let text = self.output_so_far().await;
                let note = match limit {
                    Limit::Quiet(limit) => notes::quiet(limit),
                    Limit::At(_, limit) => notes::timed_out(limit),
                };
                (text, -1, note)
            }
        };
        let mut seen = self.observation(command, text, status);
        seen.timeout = self.running_since.is_some();
        seen.metadata.suffix = suffix;
        Ok(seen)
    }

    /// Waits until the command ends, the limit is reached or the call is cancelled.
    async fn wait(&mut self, limit: Limit, cancel: &CancellationToken) -> Result<Outcome, ToolError> {
        let asked = Instant::now();
        let Some(shell) = &mut self.shell else {
            return Err(ToolError::Closed);
        };
        loop {
            let deadline = match (shell.progress().0, limit) {
                (Progress::Done(end), _) => return Ok(Outcome::Done(end)),
                (Progress::Aborted, _) => {
                    shell.ask_for_end().await?;
                    continue;
                }
                (_, Limit::At(moment, _)) => moment,
                (_, Limit::Quiet(limit)) => shell.last_output().max(asked) + limit,
            };
            tokio::select! {
                biased;
                ended = shell.changed() => {
                    if let Some(status) = ended {
                        return Ok(Outcome::ShellEnded(status));
                    }
                }
                () = cancel.cancelled() => return Ok(Outcome::Cancelled),
                () = sleep_until(deadline) => match limit {
                    Limit::Quiet(limit) if shell.last_output() + limit > Instant::now() => {}
                    Limit::Quiet(_) | Limit::At(..) => return Ok(Outcome::StillRunning),
                },
            }
        }
    }

    /// Ends the running command by force, first gently, and says how far it came.
    async fn interrupt(&mut self, command: &str) -> Result<TerminalObservation, ToolError> {
        let nobody = CancellationToken::new();
        let mut outcome = Outcome::StillRunning;
        for _ in 0..INTERRUPT_ROUNDS {
            // Not only once: a job that starts just now may not have heard it.
            if let Some(shell) = &self.shell {
                shell.interrupt();
            }
            outcome = self
                .wait(soon(INTERRUPT_GRACE / INTERRUPT_ROUNDS), &nobody)
                .await?;
            if !matches!(outcome, Outcome::StillRunning) {
                break;
            }
        }
        // Also after a quick end: what it has put in the background was started by it too.
        let family = self.family();
        let since = self.running_since.unwrap_or(0);
        // A process that cannot be killed is not waited for.
        let _ = timeout(INTERRUPT_GRACE, family.kill_younger_than(since)).await;
        if matches!(outcome, Outcome::StillRunning) {
            outcome = self.wait(soon(INTERRUPT_GRACE), &nobody).await?;
        }
        let (text, status, note) = match outcome {
            Outcome::Done(end) => (self.finish(&end).await, end.status, String::new()),
            Outcome::ShellEnded(status) => {
                let text = self.replace_shell().await?;
                (
                    text,
                    notes::code(status),
                    notes::shell_ended(status, &self.directory),
                )
            }
            Outcome::StillRunning | Outcome::Cancelled => {
                let text = self.replace_shell().await?;
                (text, -1, notes::shell_killed(&self.directory))
            }
        };
        let mut seen = self.observation(command, text, status);
        seen.metadata.suffix = format!("{}{note}", notes::INTERRUPTED);
        Ok(seen)
    }

    /// Takes the rest of the output of a command that ended.
    async fn finish(&mut self, end: &End) -> String {
        self.running_since = None;
        self.background = end.background;
        self.path.clone_from(&end.path);
        self.family().reap().await;
        match self.shell.as_ref().map(Shell::finish) {
            Some(capture) => self.shown(capture, SHOWN_LIMIT).await,
            None => String::new(),
        }
    }

    /// Takes the last output of a shell that is dead or shall be, and starts another one.
    async fn replace_shell(&mut self) -> Result<String, ToolError> {
        self.running_since = None;
        let mut text = String::new();
        if let Some(mut shell) = self.shell.take() {
            shell.kill().await;
            shell.drain(DRAIN_LIMIT).await;
            text = self.shown(shell.take(), SHOWN_LIMIT).await;
        }
        self.ready_shell().await?;
        Ok(text)
    }

    async fn output_so_far(&mut self) -> String {
        match self.shell.as_ref().map(Shell::take) {
            Some(capture) => self.shown(capture, SHOWN_LIMIT).await,
            None => String::new(),
        }
    }

    /// The shell, started if there is none, where the last one was if that place still exists.
    async fn ready_shell(&mut self) -> Result<&mut Shell, ToolError> {
        if self.shell.is_none() {
            if !self.directory.is_dir() {
                self.directory.clone_from(&self.setup.workspace);
            }
            self.background = -1;
            let shell = Shell::start(&self.setup, &self.directory).await?;
            self.group = self
                .group
                .take()
                .or_else(|| ControlGroup::create(&self.setup.toolbox));
            if let Some(group) = &self.group {
                group.add(shell.pid);
            }
            self.shell = Some(shell);
        }
        self.shell.as_mut().ok_or(ToolError::Closed)
    }

    async fn shown(&mut self, capture: Capture, limit: usize) -> String {
        let shown = show(capture, limit, &self.setup.command_file()).await;
        self.saved.extend(shown.file);
        while self.saved.len() > SAVED_OUTPUTS {
            if let Some(oldest) = self.saved.pop_front() {
                // Somebody else may have removed it.
                let _ = tokio::fs::remove_file(oldest).await;
            }
        }
        shown.text
    }

    fn family(&self) -> Family {
        Family {
            toolbox: self.setup.toolbox.clone(),
            shell: self.shell.as_ref().map(|shell| shell.pid),
        }
    }

    /// How long to wait; `None` for a time-out that is no span of time.
    fn limit(&self, timeout: Option<f64>) -> Option<Limit> {
        let Some(seconds) = timeout else {
            return Some(Limit::Quiet(self.quiet_limit));
        };
        let span = Duration::try_from_secs_f64(seconds.min(LONGEST_TIMEOUT.as_secs_f64())).ok()?;
        Some(Limit::At(Instant::now() + span.max(SHORTEST_TIMEOUT), span))
    }

    fn observation(&mut self, command: &str, text: String, status: i64) -> TerminalObservation {
        if let Some(directory) = self.shell.as_ref().and_then(Shell::directory) {
            self.directory = directory;
        }
        TerminalObservation {
            content: vec![Content::text(text)],
            command: Some(command.to_owned()),
            exit_code: Some(status),
            metadata: CommandMetadata {
                exit_code: status,
                pid: self.background,
                username: self.user.clone(),
                hostname: self.host.clone(),
                working_dir: Some(self.directory.to_string_lossy().into_owned()),
                py_interpreter_path: python_in(&self.path),
                ..CommandMetadata::default()
            },
            ..TerminalObservation::default()
        }
    }
}

/// Waits for a short time, whatever is printed.
fn soon(span: Duration) -> Limit {
    Limit::At(Instant::now() + span, span)
}

/// An answer that nothing was run for.
fn refusal(command: &str, text: &str) -> TerminalObservation {
    TerminalObservation {
        content: vec![Content::text(text)],
        is_error: true,
        command: Some(command.to_owned()),
        ..TerminalObservation::default()
    }
}
