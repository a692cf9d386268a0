//! One shell on a pseudo-terminal.

mod start;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use deft_types::Secret;
use pty_process::OwnedWritePty;
use rustix::process::{Signal, kill_process_group};
use rustix::termios::{Termios, tcgetpgrp};
use tokio::io::AsyncWriteExt;
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::capture::Capture;
use super::exports::quoted;
use super::keys::Keyboard;
use super::reader::{Progress, Reader};
use super::{prompt, pty};
use crate::{OutputSink, ToolError};

/// How long a program may leave typed text unread.
const TYPING_LIMIT: Duration = Duration::from_secs(5);

/// Output that was taken for an observation.
pub(super) struct Taken {
    pub(super) capture: Capture,
    /// What a full-screen program shows.
    pub(super) screen: Option<String>,
}

/// A running shell. Dropping it kills it, but not what it has started.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) pid: u32,
    command_file: PathBuf,
    secrets_file: PathBuf,
    child: Child,
    input: OwnedWritePty,
    control: OwnedFd,
    modes: Termios,
    reader: Arc<Reader>,
    reading: JoinHandle<()>,
    line: u64,
    end_token: String,
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Shell {
    /// Runs a command, with secrets that a script sets. Gives what background jobs have printed since the last one.
    pub(super) async fn begin(
        &mut self,
        command: &str,
        secrets: Option<Secret<String>>,
        sink: OutputSink,
    ) -> Result<Capture, ToolError> {
        tokio::fs::write(&self.command_file, format!("{command}\n"))
            .await
            .map_err(ToolError::io("write the command to a file"))?;
        let secrets_file = match secrets {
            Some(script) => {
                write_privately(&self.secrets_file, &script)
                    .await
                    .map_err(ToolError::io("hand secrets to the shell"))?;
                quoted(&self.secrets_file.to_string_lossy())
            }
            None => String::new(),
        };
        // The last command may have left the terminal in any state.
        pty::apply(&self.control, &self.modes).map_err(ToolError::io("set up the terminal"))?;
        self.line += 1;
        self.end_token = token();
        let aside = {
            let mut state = self.reader.state();
            state.scanner.expect(self.end_token.clone());
            state.progress = Progress::Running;
            state.line = self.line;
            state.last_output = Instant::now();
            state.flow.sink = sink;
            // A job may have switched to a screen that is not this command's.
            state.flow.display.clear();
            state.flow.capture.take()
        };
        let line = format!(
            "{{ \\__deft_begin {} {secrets_file}; }} >/dev/null 2>&1; \\. {}; {}\n",
            self.line,
            quoted(&self.command_file.to_string_lossy()),
            self.end_line(),
        );
        self.type_in(line.as_bytes()).await?;
        Ok(aside)
    }

    /// Asks for the end of a line that was aborted.
    pub(super) async fn ask_for_end(&mut self) -> Result<(), ToolError> {
        self.reader.state().progress = Progress::Running;
        // The line is known by another number now, or the prompt after it would look like another abort.
        self.line += 1;
        self.reader.state().line = self.line;
        let line = format!("{}\n", self.end_line());
        self.type_in(line.as_bytes()).await
    }

    fn end_line(&self) -> String {
        format!("{{ \\__deft_end {} $?; }} >/dev/null 2>&1", self.end_token)
    }

    /// Types on the terminal's keyboard.
    pub(super) async fn type_in(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        timeout(TYPING_LIMIT, self.input.write_all(bytes))
            .await
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
            .map_err(ToolError::io(
                "type into the terminal: the program does not read its input",
            ))
    }

    /// Shows further output to another watcher.
    pub(super) fn watch(&self, sink: OutputSink) {
        let mut state = self.reader.state();
        state.flow.sink = sink;
        state.last_output = Instant::now();
    }

    /// How far the line is, and whether the terminal is closed.
    pub(super) fn progress(&self) -> (Progress, bool) {
        let state = self.reader.state();
        (state.progress.clone(), state.closed)
    }

    /// When something was printed last.
    pub(super) fn last_output(&self) -> Instant {
        self.reader.state().last_output
    }

    /// Waits for the next change of progress, or for the end of the shell.
    pub(super) async fn changed(&mut self) -> Option<ExitStatus> {
        tokio::select! {
            biased;
            () = self.reader.changed.notified() => None,
            status = self.child.wait() => Some(status.unwrap_or_default()),
        }
    }

    /// Kills the shell, if it still runs, and waits for its end.
    pub(super) async fn kill(&mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(%error, "a shell could not be killed");
        }
    }

    /// How the shell has ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits until all is read that was printed before the shell ended, unless others keep the terminal open.
    pub(super) async fn drain(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while !self.progress().1 {
            if tokio::time::timeout_at(until, self.reader.changed.notified())
                .await
                .is_err()
            {
                return;
            }
        }
    }

    /// Makes the shell ready for its next line, and takes the rest of the output.
    pub(super) fn finish(&self) -> Taken {
        let mut state = self.reader.state();
        state.progress = Progress::Idle;
        state.flow.sink = OutputSink::none();
        let screen = state.flow.display.contents();
        state.flow.display.clear();
        Taken {
            capture: state.flow.capture.take(),
            screen,
        }
    }

    /// Takes the output so far. Its watcher sees no more: the call it belongs to is over.
    pub(super) fn take(&self) -> Taken {
        let mut state = self.reader.state();
        state.flow.sink = OutputSink::none();
        Taken {
            capture: state.flow.capture.take_unfinished(),
            screen: state.flow.display.contents(),
        }
    }

    /// How a program wants its keys.
    pub(super) fn keyboard(&self) -> Keyboard {
        let state = self.reader.state();
        Keyboard {
            full_screen: state.flow.display.is_on(),
            application_keys: state.flow.display.has_application_keys(),
        }
    }

    /// Whether a program waits for somebody to type.
    pub(super) async fn awaits_input(&self) -> bool {
        let Ok(group) = tcgetpgrp(&self.control) else {
            return false;
        };
        let (group, input) = (group.as_raw_pid().cast_unsigned(), pty::input(&self.control));
        tokio::task::spawn_blocking(move || prompt::is_awaited_by(group, input))
            .await
            .unwrap_or(false)
    }

    /// Interrupts the foreground job, as Ctrl-C does, whatever the terminal's mode.
    pub(super) fn interrupt(&self) {
        if let Ok(group) = tcgetpgrp(&self.control) {
            // A job that ended just now needs no signal.
            let _ = kill_process_group(group, Signal::INT);
        }
    }

    /// The shell's working directory, exactly.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()
    }
}

/// A name nobody can guess.
fn token() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Writes a file that nobody else can read.
async fn write_privately(path: &Path, text: &Secret<String>) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    let mut file = options
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .await?;
    file.write_all(text.expose().as_bytes()).await?;
    file.flush().await
}
