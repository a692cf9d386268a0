//! A server that is a program: started beside the files, ended with everything it has started.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use deft_tools::ToolContext;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::Program;
use crate::limits::{CLOSE_GRACE, MAX_LAST_WORDS};
use crate::text::visible;

/// A running program, in a process group of its own. Dropping it kills the group.
pub(crate) struct Process {
    child: Child,
    group: Option<Pid>,
    last_words: LastWords,
    reader: JoinHandle<()>,
}

/// The end of what it wrote to standard error.
#[derive(Clone, Default)]
struct LastWords(Arc<Mutex<Vec<u8>>>);

impl Process {
    /// Starts exactly this command line, in the workspace and its environment, plus what is configured.
    pub(crate) fn start(
        program: &Program,
        place: &ToolContext,
    ) -> Result<(Self, ChildStdout, ChildStdin), String> {
        let directory = match &program.cwd {
            Some(cwd) => place.workspace.join(cwd),
            None => place.workspace.clone(),
        };
        let own = program.env.iter().map(|(name, value)| (name, value.expose()));
        let usual = place.env.iter().map(|(name, value)| (name, value));
        let mut child = Command::new(&program.command)
            .args(&program.args)
            .env_clear()
            .envs(usual.chain(own))
            .current_dir(&directory)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                let command = visible(&program.command);
                format!(
                    "{command:?} cannot be started in {}: {error}",
                    directory.display()
                )
            })?;
        let streams = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let (Some(stdout), Some(stdin), Some(stderr)) = streams else {
            return Err("its standard streams are not connected".to_owned());
        };
        let last_words = LastWords::default();
        let process = Self {
            group: child.id().and_then(|id| Pid::from_raw(id.cast_signed())),
            child,
            reader: tokio::spawn(last_words.clone().listen(stderr)),
            last_words,
        };
        Ok((process, stdout, stdin))
    }

    /// How it ended and what it said last, if it has ended by itself.
    pub(crate) async fn obituary(&mut self) -> String {
        let ended = timeout(CLOSE_GRACE, self.child.wait()).await;
        let ended = match ended {
            Ok(Ok(status)) => format!(" It has ended ({status})."),
            Ok(Err(_)) | Err(_) => String::new(),
        };
        let words = self.last_words.text();
        if words.is_empty() {
            ended
        } else {
            format!("{ended} Its last words: {words}")
        }
    }

    /// Asks it to end, and ends it and its children if it does not.
    pub(crate) async fn close(mut self) {
        self.signal(Signal::TERM);
        let _ = timeout(CLOSE_GRACE, self.child.wait()).await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal); // none left is fine
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.reader.abort();
    }
}

impl LastWords {
    async fn listen(self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&buffer[..count]);
            let surplus = kept.len().saturating_sub(MAX_LAST_WORDS);
            kept.drain(..surplus);
        }
    }

    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        visible(&String::from_utf8_lossy(&kept)).trim().to_owned()
    }
}
