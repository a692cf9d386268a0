//! One shell on a pseudo-terminal.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pty_process::{OwnedReadPty, OwnedWritePty, Size};
use rustix::process::{Signal, kill_process_group};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, Termios, tcgetattr, tcgetpgrp,
    tcsetattr,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::capture::{Batch, Capture};
use super::marker::{End, Item, Scanner};
use super::setup::Setup;
use crate::{OutputSink, ToolError};

/// Lines and columns programs are told of.
const WINDOW: (u16, u16) = (40, 120);
/// How long a shell may take to start.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long a program may leave typed text unread.
const TYPING_LIMIT: Duration = Duration::from_secs(5);
/// How many bytes are read at once; the kernel rarely has more.
const READ_SIZE: usize = 16 * 1024;

/// How far the shell is with its line.
#[derive(Clone, Debug)]
pub(super) enum Progress {
    Starting,
    /// Waits for a line.
    Idle,
    Running,
    /// The line was given up (a key, a signal), so that its end was not told.
    Aborted,
    /// The end was told; the shell is not back at its prompt yet.
    Ending(End),
    Done(End),
}

/// What the reader has seen, shared with whoever waits for it.
#[derive(Debug)]
struct Screen {
    state: Mutex<State>,
    /// Told when `progress` or `closed` changes.
    changed: Notify,
}

struct State {
    scanner: Scanner,
    capture: Capture,
    progress: Progress,
    line: u64,
    last_output: Instant,
    sink: OutputSink,
    closed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl Screen {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is valid after every step, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until the terminal is closed.
    async fn read_from(&self, mut pty: OwnedReadPty) {
        let mut buffer = vec![0; READ_SIZE];
        loop {
            let Ok(length @ 1..) = pty.read(&mut buffer).await else {
                self.state().closed = true;
                self.changed.notify_one();
                return;
            };
            let (batch, has_news) = self.state().take_in(&buffer[..length]);
            if let Some(batch) = batch
                && let Err(error) = batch.write().await
            {
                tracing::warn!(%error, "output of a command could not be saved");
            }
            if has_news {
                self.changed.notify_one();
            }
        }
    }
}

impl State {
    fn take_in(&mut self, bytes: &[u8]) -> (Option<Batch>, bool) {
        let (mut batch, mut has_news) = (None, false);
        let Self {
            scanner,
            capture,
            progress,
            line,
            last_output,
            sink,
            ..
        } = self;
        scanner.feed(bytes, |item| match item {
            Item::Output(text) => {
                *last_output = Instant::now();
                sink.send(text);
                batch = capture.push(text).or(batch.take());
            }
            Item::End(end) => *progress = Progress::Ending(end),
            Item::Prompt { line: begun } => {
                has_news = true;
                *progress = match std::mem::replace(progress, Progress::Idle) {
                    Progress::Starting | Progress::Idle => Progress::Idle,
                    Progress::Ending(end) | Progress::Done(end) => Progress::Done(end),
                    // A prompt from before the line was read says nothing about it.
                    Progress::Running if begun == *line => Progress::Aborted,
                    other @ (Progress::Running | Progress::Aborted) => other,
                };
            }
        });
        (batch, has_news)
    }
}

/// A running shell. Dropping it kills it, but not what it has started.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) pid: u32,
    command_file: PathBuf,
    child: Child,
    input: OwnedWritePty,
    control: OwnedFd,
    modes: Termios,
    screen: Arc<Screen>,
    reader: JoinHandle<()>,
    line: u64,
    end_token: String,
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Shell {
    /// Starts a shell in a directory and waits for its first prompt.
    pub(super) async fn start(setup: &Setup, directory: &Path) -> Result<Self, ToolError> {
        let prompt_token = token();
        let rc_file = setup.write_rc(&prompt_token).await?;
        let failed = |error: pty_process::Error| ToolError::Io {
            doing: "start a shell".to_owned(),
            source: match error {
                pty_process::Error::Io(error) => error,
                other => std::io::Error::other(other),
            },
        };
        let (pty, pts) = pty_process::open().map_err(failed)?;
        pty.resize(Size::new(WINDOW.0, WINDOW.1)).map_err(failed)?;
        let control = pty
            .as_fd()
            .try_clone_to_owned()
            .map_err(ToolError::io("start a shell"))?;
        let modes = modes(&control).map_err(ToolError::io("set up a terminal"))?;
        let child = pty_process::Command::new("bash")
            .args(["--noprofile", "--rcfile"])
            .arg(&rc_file)
            .args(["--noediting", "-i"])
            .env_clear()
            .envs(setup.environment())
            .current_dir(directory)
            .kill_on_drop(true)
            .spawn(pts)
            .map_err(failed)?;
        let screen = Arc::new(Screen {
            state: Mutex::new(State {
                scanner: Scanner::new(prompt_token),
                capture: Capture::new(&setup.outputs()),
                progress: Progress::Starting,
                line: 0,
                last_output: Instant::now(),
                sink: OutputSink::none(),
                closed: false,
            }),
            changed: Notify::new(),
        });
        let (output, input) = pty.into_split();
        let reader = tokio::spawn({
            let screen = Arc::clone(&screen);
            async move { screen.read_from(output).await }
        });
        let mut shell = Self {
            pid: child.id().unwrap_or(0),
            command_file: setup.command_file(),
            child,
            input,
            control,
            modes,
            screen,
            reader,
            line: 0,
            end_token: String::new(),
        };
        let started = timeout(START_LIMIT, shell.wait_until_idle()).await;
        // Whatever a shell says at its start is no command's output.
        drop(shell.take());
        // Read by now, or never.
        let _ = tokio::fs::remove_file(rc_file).await;
        match started {
            Ok(true) => Ok(shell),
            Ok(false) | Err(_) => Err(ToolError::Io {
                doing: "start a shell (is `bash` installed in the workspace?)".to_owned(),
                source: std::io::ErrorKind::TimedOut.into(),
            }),
        }
    }

    async fn wait_until_idle(&mut self) -> bool {
        loop {
            let (progress, closed) = self.progress();
            match progress {
                Progress::Idle => return true,
                _ if closed => return false,
                _ => self.screen.changed.notified().await,
            }
        }
    }

    /// Runs a command. Gives what background jobs have printed since the last one.
    pub(super) async fn begin(&mut self, command: &str, sink: OutputSink) -> Result<Capture, ToolError> {
        tokio::fs::write(&self.command_file, format!("{command}\n"))
            .await
            .map_err(ToolError::io("write the command to a file"))?;
        // The last command may have left the terminal in any state.
        tcsetattr(&self.control, OptionalActions::Now, &self.modes)
            .map_err(|error| ToolError::io("set up the terminal")(error.into()))?;
        self.line += 1;
        self.end_token = token();
        let aside = {
            let mut state = self.screen.state();
            state.scanner.expect(self.end_token.clone());
            state.progress = Progress::Running;
            state.line = self.line;
            state.last_output = Instant::now();
            state.sink = sink;
            state.capture.take()
        };
        let line = format!(
            "{{ \\__deft_begin {}; }} >/dev/null 2>&1; \\. {}; {}\n",
            self.line,
            quoted(&self.command_file),
            self.end_line(),
        );
        self.type_in(line.as_bytes()).await?;
        Ok(aside)
    }

    /// Asks for the end of a line that was aborted.
    pub(super) async fn ask_for_end(&mut self) -> Result<(), ToolError> {
        self.screen.state().progress = Progress::Running;
        // The line is known by another number now, or the prompt after it would look like another abort.
        self.line += 1;
        self.screen.state().line = self.line;
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
        let mut state = self.screen.state();
        state.sink = sink;
        state.last_output = Instant::now();
    }

    /// How far the line is, and whether the terminal is closed.
    pub(super) fn progress(&self) -> (Progress, bool) {
        let state = self.screen.state();
        (state.progress.clone(), state.closed)
    }

    /// When something was printed last.
    pub(super) fn last_output(&self) -> Instant {
        self.screen.state().last_output
    }

    /// Waits for the next change of progress, or for the end of the shell.
    pub(super) async fn changed(&mut self) -> Option<ExitStatus> {
        tokio::select! {
            biased;
            () = self.screen.changed.notified() => None,
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
            if tokio::time::timeout_at(until, self.screen.changed.notified())
                .await
                .is_err()
            {
                return;
            }
        }
    }

    /// Makes the shell ready for its next line, and takes the rest of the output.
    pub(super) fn finish(&self) -> Capture {
        let mut state = self.screen.state();
        state.progress = Progress::Idle;
        state.sink = OutputSink::none();
        state.capture.take()
    }

    /// Takes the output so far. Its watcher sees no more: the call it belongs to is over.
    pub(super) fn take(&self) -> Capture {
        let mut state = self.screen.state();
        state.sink = OutputSink::none();
        state.capture.take_unfinished()
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

/// The path as one word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// Modes in which output comes as it was written, input is not echoed, and control keys send signals.
fn modes(terminal: &OwnedFd) -> std::io::Result<Termios> {
    let mut modes = tcgetattr(terminal)?;
    modes.input_modes = InputModes::ICRNL | InputModes::IUTF8;
    modes.output_modes = OutputModes::empty();
    modes.control_modes = ControlModes::CS8 | ControlModes::CREAD | ControlModes::HUPCL;
    // Without NOFLSH a control key would throw away output that is not read yet.
    modes.local_modes = LocalModes::ISIG | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::NOFLSH;
    tcsetattr(terminal, OptionalActions::Now, &modes)?;
    Ok(modes)
}
