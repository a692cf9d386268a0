//! A tree of what is left: each conversation draws on what those above it have left.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_types::{Money, Tokens};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Budget, Left, NoAgent, Reached, Used};

/// What calls under way may take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    calls: u32,
    most: Used,
}

/// What is kept for a call, until it is dropped.
pub(crate) struct KeptForCall {
    of: Vec<Purse>,
    most: Used,
}

impl Drop for KeptForCall {
    fn drop(&mut self) {
        for purse in &self.of {
            purse.0.kept.send_modify(|kept| {
                kept.calls -= 1;
                kept.most = kept.most.less(self.most);
            });
        }
    }
}

/// What a conversation may still use. Cheap to clone; whoever has one draws on the same.
#[derive(Clone, Default)]
pub struct Purse(Arc<Pocket>);

#[derive(Default)]
struct Pocket {
    left: Mutex<Left>,
    /// What agents below have used since it was filled.
    used_below: Mutex<Used>,
    /// What the dearest call has cost, here or below.
    dearest: Mutex<Money>,
    /// What calls below that are under way may take.
    kept: watch::Sender<Kept>,
    /// Model calls of the run, those of agents below included.
    steps: AtomicU32,
    /// That of the conversation which gave the task.
    above: Option<Purse>,
}

impl Purse {
    /// One that draws on another, where there is one.
    pub(crate) fn below(above: Option<Self>) -> Self {
        Self(Arc::new(Pocket {
            above,
            ..Pocket::default()
        }))
    }

    /// One for several conversations together; see [`Purse::set_money`].
    pub fn shared() -> Self {
        Self::default()
    }

    /// So much money is left to all who draw on it. None: as much as they like.
    pub fn set_money(&self, left: Option<Money>) {
        self.left().cost = left;
    }

    pub(crate) fn set(&self, left: Left) {
        let mut used = self.used_below();
        *used = Used::default();
        *self.left() = left;
    }

    /// The same while agents below are at work: what they have used is missing, and they are those that were started.
    pub(crate) fn set_beside_others(&self, new: Left) {
        let used = self.used_below(); // held, so that nothing is used meanwhile
        let mut left = self.left();
        *left = Left {
            agents: left.agents,
            depth: left.depth,
            ..new.after(*used)
        };
    }

    /// Keeps for a call what it takes at most, so that those beside it do not use it too: together they go beyond a limit
    /// by one call at most. Where there is too little left until others have ended, gives what tells that one has.
    pub(crate) fn keep(&self, most: Used) -> Result<KeptForCall, watch::Receiver<Kept>> {
        let mut kept = KeptForCall { of: Vec::new(), most };
        let mut next = self.0.above.as_ref();
        while let Some(purse) = next {
            let ended = purse.0.kept.subscribe();
            let fits = purse.0.kept.send_if_modified(|kept| {
                let fits = kept.calls == 0
                    || purse
                        .left()
                        .spent_after(kept.most.cost, kept.most.tokens)
                        .is_none();
                if fits {
                    kept.calls += 1;
                    kept.most = kept.most.and(most);
                }
                fits
            });
            if !fits {
                return Err(ended);
            }
            kept.of.push(purse.clone());
            next = purse.0.above.as_ref();
        }
        Ok(kept)
    }

    /// So much more is left, where there is a limit at all.
    pub(crate) fn add(&self, more: Budget) {
        let mut left = self.left();
        left.cost = left.cost.map(|left| left + more.cost);
        left.tokens = left.tokens.map(|left| left + more.tokens);
        left.until = left
            .until
            .and_then(|until| until.checked_add(Duration::from_secs(more.seconds)));
        left.steps = left.steps.map(|left| left.saturating_add(more.steps));
        left.agents = left.agents.map(|left| left.saturating_add(more.agents));
        left.depth = left.depth.map(|left| left.saturating_add(more.depth));
    }

    /// A run begins: its steps are counted anew.
    pub(crate) fn begin_run(&self) {
        self.0.steps.store(0, Ordering::Relaxed);
    }

    /// The steps of the run so far.
    pub(crate) fn steps(&self) -> u32 {
        self.0.steps.load(Ordering::Relaxed)
    }

    /// A step is taken, here and for those above.
    pub(crate) fn step(&self) {
        let mut next = Some(self);
        while let Some(purse) = next {
            purse.0.steps.fetch_add(1, Ordering::Relaxed);
            let mut left = purse.left();
            left.steps = left.steps.map(|left| left.saturating_sub(1));
            drop(left);
            next = purse.0.above.as_ref();
        }
    }

    /// Something was used by the conversation itself: so much less is left to it and to those above.
    pub(crate) fn spent(&self, used: Used) {
        self.see_price(used.cost);
        let mut left = self.left();
        *left = left.after(used);
        drop(left);
        let mut next = self.0.above.as_ref();
        while let Some(purse) = next {
            purse.see_price(used.cost);
            let mut below = purse.used_below();
            *below = below.and(used);
            let mut left = purse.left();
            *left = left.after(used);
            drop((left, below));
            next = purse.0.above.as_ref();
        }
    }

    /// What agents below have used is counted with the rest from now on.
    pub(crate) fn counted(&self, used: Used) {
        let mut below = self.used_below();
        *below = below.less(used);
    }

    /// The first limit that is reached, here or above.
    pub(crate) fn reached(&self, now: Instant) -> Option<Reached> {
        if let Some(limit) = self.left().reached(now) {
            return Some(Reached::Here(limit));
        }
        match self.0.above.as_ref()?.reached(now)? {
            Reached::Here(limit) | Reached::Above(limit) => Some(Reached::Above(limit)),
        }
    }

    /// What there is no more of to pay a call with, here or above, whether it belongs to a run or not.
    pub(crate) fn is_spent(&self) -> Option<Reached> {
        self.is_spent_after((Money::ZERO, Tokens::ZERO))
    }

    /// The same after something that was used and is not counted yet.
    pub(crate) fn is_spent_after(&self, used: (Money, Tokens)) -> Option<Reached> {
        if let Some(limit) = self.left().spent_after(used.0, used.1) {
            return Some(Reached::Here(limit));
        }
        match self.0.above.as_ref()?.is_spent_after(used)? {
            Reached::Here(limit) | Reached::Above(limit) => Some(Reached::Above(limit)),
        }
    }

    /// Takes one of the agents that may still be started, if there is one here and above.
    pub(crate) fn take_agent(&self) -> Result<(), NoAgent> {
        self.take_agent_at(1)
    }

    /// The same for one that is so many levels below.
    fn take_agent_at(&self, level: u32) -> Result<(), NoAgent> {
        let mut left = self.left();
        if left.depth.is_some_and(|depth| depth < level) {
            return Err(NoAgent::Depth);
        }
        let taken = left
            .agents
            .map(|agents| agents.checked_sub(1).ok_or(NoAgent::Number));
        let taken = taken.transpose()?;
        if let Some(above) = &self.0.above {
            above.take_agent_at(level.saturating_add(1))?;
        }
        left.agents = taken;
        Ok(())
    }

    /// Gives back one that was taken and could not be started.
    pub(crate) fn give_agent_back(&self) {
        let mut left = self.left();
        left.agents = left.agents.map(|agents| agents.saturating_add(1));
        drop(left);
        if let Some(above) = &self.0.above {
            above.give_agent_back();
        }
    }

    /// What the dearest call has cost, here or above or below those.
    pub(crate) fn dearest(&self) -> Money {
        let here = *self.0.dearest.lock().unwrap_or_else(PoisonError::into_inner);
        here.max(self.0.above.as_ref().map(Self::dearest).unwrap_or_default())
    }

    fn see_price(&self, cost: Money) {
        let mut dearest = self.0.dearest.lock().unwrap_or_else(PoisonError::into_inner);
        *dearest = cost.max(*dearest);
    }

    fn used_below(&self) -> MutexGuard<'_, Used> {
        self.0.used_below.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.0.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
