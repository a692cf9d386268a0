//! The task that tells watchers of a conversation what its engine does.

use std::sync::Arc;

use deft_engine::Live;
use deft_types::{ConversationId, EventBody, Seq, Status};
use futures::StreamExt as _;
use serde::Deserialize as _;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::{Audience, Farewell, Signal, Stage};
use crate::catalog::Catalog;
use crate::webhooks::Webhooks;

/// Follows the log and the engine, and turns what matters into signals.
pub(super) struct Watcher {
    pub(super) id: ConversationId,
    pub(super) catalog: Arc<Catalog>,
    pub(super) webhooks: Arc<Webhooks>,
    pub(super) live: broadcast::Receiver<Live>,
    pub(super) stage: Arc<Stage>,
    pub(super) farewell: watch::Receiver<Option<Farewell>>,
    /// When the state is to be told next.
    pub(super) due: Option<Instant>,
}

impl Watcher {
    /// `status` is what it was before the event at `from`.
    pub(super) async fn run(mut self, from: Seq, mut status: Status) {
        let mut events = self.catalog.store.follow(self.id, from);
        loop {
            let due = self.due;
            let at = async move {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let farewell = async {
                let _ = self.farewell.wait_for(Option::is_some).await; // nobody left to say it is one too
            };
            tokio::select! {
                biased;
                piece = self.live.recv() => match piece {
                    Ok(piece) => self.tell(piece),
                    Err(broadcast::error::RecvError::Lagged(_)) => {} // pieces are said again by the event
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                event = events.next() => match event {
                    Some(Ok((seq, event))) => {
                        self.tell_pieces();
                        self.stage.touch();
                        self.stage.relayed.send_modify(|relayed| relayed.through = Some(seq));
                        self.webhooks.appended(self.id);
                        self.saw(&event.body, &mut status);
                    }
                    Some(Err(error)) => {
                        tracing::warn!(conversation = %self.id, %error, "cannot follow a conversation");
                        return;
                    }
                    None => return, // deleted
                },
                () = farewell => return,
                () = self.stage.wanted.notified() => self.due = Some(Instant::now()),
                () = at => self.tell_state().await,
            }
        }
    }

    /// Tells what the engine has shown until now.
    fn tell_pieces(&mut self) {
        loop {
            match self.live.try_recv() {
                Ok(piece) => self.tell(piece),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    fn tell(&self, piece: Live) {
        let mut written = self.stage.written();
        if let Live::Output { action, chunk } = &piece {
            written.add(action, chunk);
        }
        self.send(Signal::Live(Arc::new(piece)));
    }

    /// The end of a run is told with the whole state; so is what a step still brings after a pause.
    fn saw(&mut self, body: &EventBody, status: &mut Status) {
        if let EventBody::Observation(answer) = body {
            self.stage.written().forget(&answer.action_id);
        }
        let is_end = match body {
            EventBody::StateUpdate(update) if update.key == "execution_status" => {
                let before = *status;
                *status = Status::deserialize(&update.value).unwrap_or(before);
                let mut run = self.stage.run();
                run.current = match *status {
                    Status::Running => run.next.pop().or(run.current.take()),
                    _ => None,
                };
                let went_on = matches!(before, Status::Running | Status::Paused); // a step that was paused may be its last
                went_on && before != *status && *status != Status::Running
            }
            EventBody::Observation(_) | EventBody::AgentError(_) | EventBody::Interrupt(_) => {
                *status == Status::Paused
            }
            _ => false,
        };
        if is_end {
            if *status != Status::Paused {
                self.stage.written().clear();
            }
            self.due = Some(Instant::now());
        }
    }

    async fn tell_state(&mut self) {
        self.due = self.stage.too_early();
        if self.due.is_some() {
            return;
        }
        match self.catalog.snapshot(self.id).await {
            Ok(snapshot) => self.send(Signal::State(Arc::new(snapshot), Audience::Everybody)),
            Err(error) => tracing::warn!(conversation = %self.id, ?error, "cannot tell the state"),
        }
    }

    fn send(&self, signal: Signal) {
        let _ = self.stage.signals.send(signal); // nobody listening is fine
    }
}

/// Nobody is to wait for pieces that nobody tells any more.
impl Drop for Watcher {
    fn drop(&mut self) {
        self.stage.relayed.send_modify(|relayed| relayed.is_on = false);
    }
}
