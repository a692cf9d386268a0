//! What happens between events: pieces of replies and of output. Shown, never stored.

use std::pin::pin;
use std::time::Duration;

use deft_types::{ActionId, DeltaKind, EventId, Seq};
use deft_workspace::{Preparation, Workspace};
use futures::{Stream, StreamExt, stream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Pieces that wait for a slow watcher; beyond it the oldest are left out.
const BACKLOG: usize = 1024;

/// Something to show at once. The event that follows in the log says it all again.
#[derive(Clone, Debug, PartialEq)]
pub enum Live {
    /// A reply begins; the first event stored from it will have this id.
    ReplyStarted {
        /// The id.
        item: EventId,
        /// Where the log ended then, if that is known: the reply comes behind what stands before it.
        log_end: Option<Seq>,
    },
    /// A piece of a reply.
    Delta {
        /// The reply.
        item: EventId,
        /// Text or reasoning.
        kind: DeltaKind,
        /// The piece.
        text: String,
    },
    /// A piece of a tool call. The first piece of a call carries the tool's name.
    CallDelta {
        /// The reply.
        item: EventId,
        /// Which of its calls, from 0.
        index: usize,
        /// The tool.
        tool: Option<String>,
        /// The next part of the arguments' JSON text.
        arguments: String,
    },
    /// The attempt failed; what was shown of it is void, and another follows after a wait.
    Retry {
        /// The reply.
        item: EventId,
        /// Which attempt follows, from 2.
        attempt: u32,
        /// How long it is waited for.
        wait: Duration,
        /// Why the last one failed.
        reason: String,
    },
    /// The reply will not be completed.
    ReplyAborted {
        /// The reply.
        item: EventId,
    },
    /// The workspace is made ready, or servers for the agent are.
    Preparing {
        /// How far that is.
        line: String,
    },
    /// Nothing is made ready any more: it is there, or it was given up.
    Prepared,
    /// A piece of a tool's output.
    Output {
        /// The action.
        action: ActionId,
        /// The piece.
        chunk: String,
    },
}

/// Shows pieces to whoever watches.
#[derive(Clone)]
pub(crate) struct Broadcast(broadcast::Sender<Live>);

impl Broadcast {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }

    pub(crate) fn show(&self, live: Live) {
        let _ = self.0.send(live); // nobody watching is fine
    }

    /// See [`show_preparation`].
    pub(crate) async fn show_preparation<T>(
        &self,
        workspace: &dyn Workspace,
        work: impl Future<Output = T>,
    ) -> T {
        show_preparation(workspace, work, |live| self.show(live)).await
    }

    /// See [`show_lines`].
    pub(crate) async fn show_lines<T>(
        &self,
        lines: impl Stream<Item = String>,
        work: impl Future<Output = T>,
    ) -> T {
        show_lines(lines, work, |live| self.show(live)).await
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Live> {
        self.0.subscribe()
    }
}

/// Waits for something of a workspace, and shows meanwhile how that is made ready.
pub async fn show_preparation<T>(
    workspace: &dyn Workspace,
    work: impl Future<Output = T>,
    show: impl Fn(Live),
) -> T {
    let heard = workspace.preparation().map(Preparation::listen);
    let lines = stream::unfold(heard, |heard| async {
        let mut heard = heard?;
        loop {
            match heard.recv().await {
                Ok(line) => return Some((line, Some(heard))),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    show_lines(lines, work, show).await
}

/// Waits for something, and shows meanwhile what is told of it.
async fn show_lines<T>(
    lines: impl Stream<Item = String>,
    work: impl Future<Output = T>,
    show: impl Fn(Live),
) -> T {
    let mut lines = pin!(lines.fuse());
    let mut work = pin!(work);
    let mut end = None;
    loop {
        tokio::select! {
            done = &mut work => return done,
            Some(line) = lines.next() => {
                show(Live::Preparing { line });
                end.get_or_insert_with(|| EndShown(&show));
            }
        }
    }
}

/// Shows the end of a preparation, also where nobody waits for it any more.
struct EndShown<'a, F: Fn(Live)>(&'a F);

impl<F: Fn(Live)> Drop for EndShown<'_, F> {
    fn drop(&mut self) {
        (self.0)(Live::Prepared);
    }
}
