//! Everything about a conversation that a watcher is to hear, in the right order.

use std::collections::VecDeque;
use std::sync::Arc;

use deft_engine::Live;
use deft_store::EventStream;
use deft_types::{ActionId, Event, EventBody, Seq, Source, Status};
use futures::StreamExt as _;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use crate::catalog::Catalog;
use crate::info::Snapshot;
use crate::resident::{Audience, Farewell, Resident, Signal};

/// One thing to tell.
pub(crate) enum Item {
    /// An event of the log.
    Event(Seq, Arc<Event>),
    /// The state, behind the events that made it so.
    State(Arc<Snapshot>, Audience),
    /// A piece of a reply or of output.
    Live(Arc<Live>),
    /// It is over.
    Farewell(Farewell),
}

/// Follows one conversation for one watcher. A slow watcher delays nobody and loses no event.
pub(crate) struct Feed {
    pub(crate) resident: Arc<Resident>,
    catalog: Arc<Catalog>,
    events: EventStream,
    signals: Receiver<Signal>,
    farewell: watch::Receiver<Option<Farewell>>,
    /// States that events still have to come before.
    waiting: VecDeque<(Arc<Snapshot>, Audience)>,
    /// A reply that has begun, and where the log ended then.
    early: Option<(Seq, Arc<Live>)>,
    /// What ends a reply, until the pieces of that are told.
    late: Option<Late>,
    /// The last event that was told, or that the watcher has without us.
    pub(crate) told: Option<Seq>,
    /// What open calls had written when the watcher came.
    pub(crate) written: Vec<(ActionId, String)>,
    /// Up to here events are history, which nothing interrupts.
    pub(crate) history: Option<Seq>,
}

/// An event that pieces have to come before.
struct Late {
    seq: Seq,
    event: Arc<Event>,
    /// Of how many signals it is known that they came before it.
    signals: Option<usize>,
}

impl Feed {
    /// Begins behind `after`. What stands in the log up to `history` is told before anything else.
    pub(crate) fn new(
        resident: Arc<Resident>,
        catalog: Arc<Catalog>,
        after: Option<Seq>,
        history: Option<Seq>,
    ) -> Self {
        let from = after.map_or(Seq::FIRST, Seq::next);
        let (signals, written) = resident.listen_with_written();
        Self {
            signals,
            written,
            farewell: resident.farewell.subscribe(),
            events: catalog.store.follow(resident.id, from),
            resident,
            catalog,
            waiting: VecDeque::new(),
            early: None,
            late: None,
            told: after,
            history,
        }
    }

    /// Whether everything that was in the log at the beginning has been told.
    pub(crate) fn is_live(&self) -> bool {
        self.told >= self.history
    }

    /// Waits for the next thing. Losing interest meanwhile loses nothing.
    pub(crate) async fn next(&mut self) -> Item {
        loop {
            if self.is_live()
                && let Some((state, _)) = self.waiting.front()
                && state.after <= self.told
            {
                let is_old = state.after < self.told;
                if is_old && let Ok(fresh) = self.resident.state_after(&self.catalog, self.told).await {
                    self.waiting[0].0 = fresh; // events that were told meanwhile have changed it
                }
                if let Some((state, audience)) =
                    self.waiting.pop_front_if(|(state, _)| state.after <= self.told)
                {
                    return Item::State(state, audience);
                }
            }
            if let Some(item) = self.in_its_place() {
                return item;
            }
            let farewell = async {
                let said = self.farewell.wait_for(Option::is_some).await;
                said.map_or(None, |said| *said).unwrap_or(Farewell::Stopping)
            };
            let relayed = async {
                match &self.late {
                    Some(Late {
                        seq, signals: None, ..
                    }) => self.resident.relayed(*seq).await,
                    Some(_) | None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                farewell = farewell => return Item::Farewell(farewell),
                signal = self.signals.recv(), if self.told >= self.history && self.early.is_none() => {
                    if let Some(Late { signals: Some(before), .. }) = &mut self.late {
                        *before = before.saturating_sub(1).min(self.signals.len());
                    }
                    match signal {
                        Ok(Signal::Live(piece)) => match *piece {
                            Live::ReplyStarted { log_end: Some(end), .. } => self.early = Some((end, piece)),
                            _ => return Item::Live(piece),
                        },
                        Ok(Signal::State(state, audience)) => self.waiting.push_back((state, audience)),
                        Err(RecvError::Lagged(_)) => self.replace_lost_state().await,
                        Err(RecvError::Closed) => return Item::Farewell(Farewell::Reloaded),
                    }
                },
                () = relayed => {
                    let before = self.signals.len();
                    if let Some(late) = &mut self.late {
                        late.signals = Some(before);
                    }
                },
                event = self.events.next(), if self.late.is_none() => match event {
                    Some(Ok((seq, event))) if Some(seq) > self.history && ends_reply(&event) => {
                        self.late = Some(Late { seq, event, signals: None });
                    }
                    Some(Ok((seq, event))) => {
                        self.told = Some(seq);
                        return Item::Event(seq, event);
                    }
                    Some(Err(error)) => {
                        tracing::warn!(conversation = %self.resident.id, %error, "a watcher cannot be told more");
                        return Item::Farewell(Farewell::Reloaded);
                    }
                    None => return Item::Farewell(Farewell::Deleted),
                },
            }
        }
    }

    /// What had to wait and need not any more.
    fn in_its_place(&mut self) -> Option<Item> {
        let next = self.told.map_or(Seq::FIRST, Seq::next);
        if let Some((_, piece)) = self.early.take_if(|(end, _)| *end <= next) {
            return Some(Item::Live(piece));
        }
        let is_behind = self.early.is_some(); // the next reply: this one's pieces are all told
        let late = self.late.take_if(|late| is_behind || late.signals == Some(0))?;
        self.told = Some(late.seq);
        Some(Item::Event(late.seq, late.event))
    }

    /// Too slow for the signals: the state that ended a run may be among those that were lost.
    async fn replace_lost_state(&mut self) {
        if let Ok(snapshot) = self.catalog.snapshot(self.resident.id).await
            && snapshot.status != Status::Running
        {
            self.waiting.push_back((Arc::new(snapshot), Audience::Everybody));
        }
    }
}

/// Whether a reply may have ended with it.
fn ends_reply(event: &Event) -> bool {
    event.source == Source::Agent && matches!(event.body, EventBody::Action(_) | EventBody::Message(_))
}
