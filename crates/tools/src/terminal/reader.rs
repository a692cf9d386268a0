//! Reads what comes out of a terminal, and knows from it how far the shell is.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pty_process::OwnedReadPty;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::capture::Batch;
use super::flow::Flow;
use super::marker::{End, Item, Scanner};

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

/// What has been read, shared with whoever waits for it.
#[derive(Debug)]
pub(super) struct Reader {
    state: Mutex<State>,
    /// Told when `progress` or `closed` changes.
    pub(super) changed: Notify,
}

pub(super) struct State {
    pub(super) scanner: Scanner,
    pub(super) flow: Flow,
    pub(super) progress: Progress,
    pub(super) line: u64,
    pub(super) last_output: Instant,
    pub(super) closed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl Reader {
    pub(super) fn new(prompt_token: String, flow: Flow) -> Self {
        Self {
            state: Mutex::new(State {
                scanner: Scanner::new(prompt_token),
                flow,
                progress: Progress::Starting,
                line: 0,
                last_output: Instant::now(),
                closed: false,
            }),
            changed: Notify::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // The state is valid after every step, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until the terminal is closed.
    pub(super) async fn read_from(&self, mut pty: OwnedReadPty) {
        let mut buffer = vec![0; READ_SIZE];
        loop {
            let Ok(length @ 1..) = pty.read(&mut buffer).await else {
                self.state().close();
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
        let mut has_news = false;
        let Self {
            scanner,
            flow,
            progress,
            line,
            last_output,
            ..
        } = self;
        scanner.feed(bytes, |item| match item {
            Item::Output(text) => {
                *last_output = Instant::now();
                flow.push(text);
            }
            Item::End(end) => {
                flow.end();
                *progress = Progress::Ending(end);
            }
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
        (flow.due(), has_news)
    }

    fn close(&mut self) {
        self.flow.end();
        self.closed = true;
    }
}
