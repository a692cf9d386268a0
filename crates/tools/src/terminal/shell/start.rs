//! Starting a shell.

use std::io::ErrorKind::NotFound;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pty_process::Size;
use tokio::time::timeout;

use super::super::capture::Capture;
use super::super::display::WINDOW;
use super::super::flow::Flow;
use super::super::pty;
use super::super::reader::{Progress, Reader};
use super::super::setup::Setup;
use super::{Shell, token};
use crate::ToolError;

/// How long a shell may take to start.
const START_LIMIT: Duration = Duration::from_secs(20);

impl Shell {
    /// Starts a shell in a directory and waits for its first prompt.
    pub(in super::super) async fn start(setup: &Setup, directory: &Path) -> Result<Self, ToolError> {
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
        let modes = pty::modes(&control).map_err(ToolError::io("set up a terminal"))?;
        let child = pty_process::Command::new("bash")
            .args(["--noprofile", "--rcfile"])
            .arg(&rc_file)
            .args(["--noediting", "-i"])
            .env_clear()
            .envs(setup.environment())
            .current_dir(directory)
            .kill_on_drop(true)
            .spawn(pts)
            .map_err(|error| match error {
                // A directory that is gone is told in the same way.
                pty_process::Error::Io(error) if error.kind() == NotFound && directory.is_dir() => {
                    ToolError::NoShell
                }
                error => failed(error),
            })?;
        let flow = Flow::new(setup.secrets.clone(), Capture::new(setup.outputs.directory()));
        let reader = Arc::new(Reader::new(prompt_token, flow));
        let (output, input) = pty.into_split();
        let reading = tokio::spawn({
            let reader = Arc::clone(&reader);
            async move { reader.read_from(output).await }
        });
        let mut shell = Self {
            pid: child.id().unwrap_or(0),
            command_file: setup.command_file(),
            secrets_file: setup.secrets_file(),
            child,
            input,
            control,
            modes,
            reader,
            reading,
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
                _ => self.reader.changed.notified().await,
            }
        }
    }
}
