//! One plain command: its shell, its pipes and its end.

use std::os::fd::OwnedFd;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use deft_tools::{Family, MaskedStream, SHELL_VARIABLE, Secrets};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpgid};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};
use tokio_util::sync::CancellationToken;

use super::log::OutputLog;
use super::{EndReason, Ended, OutputChannel};
use crate::files::through_fd;
use crate::request_error::RequestError;

/// What is read at once.
const READ_BYTES: usize = 32 * 1024;
/// How long a command that is to end gets to do so by itself.
const END_GRACE: Duration = Duration::from_millis(500);
/// How long output is waited for after the end of the shell, when something it left in the background may still
/// write.
const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// Ended commands whose background processes are waited for.
const MAX_LEFTOVERS: usize = 256;

/// A shell that has been started.
pub(super) struct Child {
    process: tokio::process::Child,
    family: Family,
    input: Option<String>,
}

impl Child {
    pub(super) fn spawn(
        command: &str,
        directory: &OwnedFd,
        env: Vec<(String, String)>,
        mark: String,
        input: Option<String>,
    ) -> Result<Self, RequestError> {
        // A group, to be ended together, but no session of its own: by that the terminal knows its orphans.
        let process = Command::new("/bin/sh")
            .args(["-c", command])
            .current_dir(through_fd(directory))
            .env_clear()
            .envs(env)
            .env(SHELL_VARIABLE, &mark)
            .process_group(0)
            .stdin(if input.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| RequestError::failed(format!("the shell cannot be started: {error}")))?;
        let family = Family {
            name: mark,
            shell: process.id(),
        };
        Ok(Self {
            process,
            family,
            input,
        })
    }

    /// Waits for the end, or brings it about.
    pub(super) async fn run(
        mut self,
        log: &OutputLog,
        secrets: &Secrets,
        timeout: Option<Duration>,
        stop: &CancellationToken,
        leftovers: &Leftovers,
    ) -> Ended {
        let (stdout, stderr) = (self.process.stdout.take(), self.process.stderr.take());
        let (stdin, input) = (self.process.stdin.take(), self.input.take());
        let cut = CancellationToken::new();
        let mut pumped = pin!(async {
            tokio::join!(
                feed(stdin, input, &cut),
                pump(stdout, OutputChannel::Stdout, log, secrets, &cut),
                pump(stderr, OutputChannel::Stderr, log, secrets, &cut)
            )
        });
        let mut all_read = false;
        let mut out_of_time = pin!(async {
            match timeout {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        });
        let (reason, mut status) = loop {
            tokio::select! {
                status = self.process.wait() => break (EndReason::Exited, status.ok()),
                () = stop.cancelled() => break (EndReason::Stopped, None),
                () = &mut out_of_time => break (EndReason::TimedOut, None),
                _ = &mut pumped, if !all_read => all_read = true,
            }
        };
        log.shell_ended();
        let group = self.family.shell.and_then(|pid| Pid::from_raw(pid.cast_signed()));
        if reason != EndReason::Exited {
            if let Some(group) = group {
                let _ = kill_process_group(group, Signal::TERM);
            }
            let _ = tokio::time::timeout(END_GRACE, self.process.wait()).await;
            self.family.kill().await;
            status = self.process.wait().await.ok();
        }
        if !all_read && tokio::time::timeout(DRAIN_GRACE, &mut pumped).await.is_err() {
            cut.cancel();
            pumped.await;
        }
        leftovers.expect(group);
        Ended {
            exit_code: status.map_or(-1, exit_code),
            reason,
        }
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status
        .code()
        .or_else(|| status.signal().map(|signal| -signal))
        .unwrap_or(-1)
}

/// Gives a command what it may read; it need not.
async fn feed(stdin: Option<ChildStdin>, input: Option<String>, cut: &CancellationToken) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        tokio::select! {
            _ = stdin.write_all(input.as_bytes()) => {}
            () = cut.cancelled() => {}
        }
    }
}

/// Carries what is written to the log, without secrets, until its end or until it is cut.
async fn pump(
    stream: Option<impl AsyncRead + Unpin>,
    channel: OutputChannel,
    log: &OutputLog,
    secrets: &Secrets,
    cut: &CancellationToken,
) {
    let Some(mut stream) = stream else { return };
    let (mut masked, mut buffer) = (MaskedStream::default(), BytesMut::new());
    loop {
        buffer.clear();
        buffer.reserve(READ_BYTES);
        let length = tokio::select! {
            read = stream.read_buf(&mut buffer) => read.unwrap_or(0),
            () = cut.cancelled() => 0,
        };
        let mut shown = BytesMut::new();
        if length == 0 {
            masked.end(&secrets.mask(), |bytes| shown.extend_from_slice(bytes));
        } else {
            masked.push(&secrets.mask(), &buffer, |bytes| shown.extend_from_slice(bytes));
        }
        add(log, channel, shown.freeze(), cut).await;
        if length == 0 {
            return;
        }
    }
}

async fn add(log: &OutputLog, channel: OutputChannel, bytes: Bytes, cut: &CancellationToken) {
    if !bytes.is_empty() {
        tokio::select! {
            biased;
            () = log.push(channel, bytes) => {}
            () = cut.cancelled() => {}
        }
    }
}

/// The groups of commands that have ended. What such a command left in the background becomes a child of this
/// process, and somebody must take note of its end.
#[derive(Default)]
pub(super) struct Leftovers(Mutex<Vec<Pid>>);

impl Leftovers {
    fn expect(&self, group: Option<Pid>) {
        self.collect();
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if groups.len() < MAX_LEFTOVERS {
            groups.extend(group);
        }
    }

    /// Takes note of those that have ended, and forgets groups with nobody left.
    pub(super) fn collect(&self) {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|group| {
            loop {
                match waitpgid(*group, WaitOptions::NOHANG) {
                    Ok(Some(_)) => {}
                    Ok(None) => return true,
                    Err(_) => return false,
                }
            }
        });
    }
}
