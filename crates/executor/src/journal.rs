//! What an executor knows of its calls: those that run, those whose results nobody has acknowledged yet,
//! and, for a while, those that are done with.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use deft_types::ActionId;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::frame::Outcome;

/// Results that wait for an acknowledgement; beyond it new calls are refused.
const MAX_UNACKNOWLEDGED: usize = 1024;
/// Acknowledged ids remembered, so that a late repeat is not run again.
const MAX_REMEMBERED: usize = 4096;
/// Pieces of output that wait for a slow reader; beyond it the oldest are left out.
const OUTPUT_BACKLOG: usize = 256;

/// A call that was made here.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The result, once there is one.
    pub(crate) outcome: watch::Receiver<Option<Outcome>>,
    /// Output while it runs.
    pub(crate) output: broadcast::Sender<String>,
    /// Stops it.
    pub(crate) cancel: CancellationToken,
}

impl Entry {
    /// Whether there is a result, or never will be because the tool broke.
    fn has_ended(&self) -> bool {
        self.outcome.borrow().is_some() || self.outcome.has_changed().is_err()
    }

    /// Waits for the result.
    pub(crate) async fn ended(&mut self) -> Outcome {
        let outcome = self
            .outcome
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Outcome::Failed {
            message: "The executor ended before the call did.".to_owned(),
        })
    }
}

/// What a `call` finds.
pub(crate) enum Admission {
    /// Nobody asked before: run it, and put the result here.
    Run(Entry, watch::Sender<Option<Outcome>>),
    /// It runs or has run.
    Join(Entry),
    /// It must not run; the text says why.
    Refuse(String),
}

/// All calls of one executor.
#[derive(Default)]
pub(crate) struct Journal {
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    entries: HashMap<ActionId, Entry>,
    /// Calls that still run, but whose results nobody wants.
    unwanted: HashSet<ActionId>,
    acknowledged: HashSet<ActionId>,
    acknowledged_order: VecDeque<ActionId>,
}

impl Journal {
    pub(crate) fn admit(&self, id: &ActionId) -> Admission {
        let mut calls = self.lock();
        if let Some(entry) = calls.entries.get(id) {
            return Admission::Join(entry.clone());
        }
        if calls.acknowledged.contains(id) {
            return Admission::Refuse(
                "This call was made before and its result was acknowledged; it is not run again.".into(),
            );
        }
        if calls.entries.len() >= MAX_UNACKNOWLEDGED {
            return Admission::Refuse(format!(
                "{MAX_UNACKNOWLEDGED} results wait to be acknowledged; acknowledge them before making new calls."
            ));
        }
        let (sender, outcome) = watch::channel(None);
        let entry = Entry {
            outcome,
            output: broadcast::Sender::new(OUTPUT_BACKLOG),
            cancel: CancellationToken::new(),
        };
        calls.entries.insert(id.clone(), entry.clone());
        Admission::Run(entry, sender)
    }

    pub(crate) fn find(&self, id: &ActionId) -> Option<Entry> {
        self.lock().entries.get(id).cloned()
    }

    /// Whether every call that was made has its result.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().entries.values().all(Entry::has_ended)
    }

    /// Forgets a call's result: now, or as soon as there is one.
    pub(crate) fn acknowledge(&self, id: &ActionId) {
        let mut calls = self.lock();
        match calls.entries.get(id) {
            None => {}
            Some(entry) if entry.has_ended() => calls.forget(id),
            Some(_) => {
                calls.unwanted.insert(id.clone());
            }
        }
    }

    /// The call has its result.
    pub(crate) fn ended(&self, id: &ActionId) {
        let mut calls = self.lock();
        if calls.unwanted.remove(id) {
            calls.forget(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    fn forget(&mut self, id: &ActionId) {
        self.entries.remove(id);
        self.acknowledged.insert(id.clone());
        self.acknowledged_order.push_back(id.clone());
        if self.acknowledged_order.len() > MAX_REMEMBERED
            && let Some(oldest) = self.acknowledged_order.pop_front()
        {
            self.acknowledged.remove(&oldest);
        }
    }
}
