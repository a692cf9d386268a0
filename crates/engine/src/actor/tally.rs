//! What a call to a model has used so far, known also if the call is dropped in the middle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_llm::{Delta, Model, Spent};
use deft_store::StoreError;
use deft_types::{Source, Stats, Tokens};
use serde_json::json;

use super::Actor;
use super::spending::{self, Call};
use crate::state::{self, key};
use crate::turn::Draft;

/// A call under way: the model, what it is asked for, and what it has used.
#[derive(Clone)]
pub(crate) struct Tally {
    pub(crate) usage_id: &'static str,
    pub(crate) model: Arc<dyn Model>,
    /// About how much was sent.
    pub(crate) prompt: Tokens,
    spent: Arc<Mutex<Spent>>,
}

impl Tally {
    pub(crate) fn new(usage_id: &'static str, model: Arc<dyn Model>, prompt: Tokens) -> Self {
        Self {
            usage_id,
            model,
            prompt,
            spent: Arc::default(),
        }
    }

    /// Takes the next piece of the call.
    pub(crate) fn see(&self, delta: &Delta) {
        self.lock().add(delta);
    }

    /// What the call used, which has ended.
    pub(crate) fn spent(&self) -> Spent {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Actor {
    /// Counts a call that is dropped before its end.
    pub(super) async fn count_cut_off(&mut self, tally: &Tally) -> Result<(), StoreError> {
        let profile = tally.model.profile();
        let spent = tally.spent().cut_off(self.meter.correct(tally.prompt), profile);
        let call = Call {
            usage_id: tally.usage_id,
            profile,
            at: self.world.now(),
        };
        self.record_stats(spending::add_call(&self.state.stats, &call, &spent, None))
            .await
    }

    /// Stores what was used, if that is more than before.
    pub(super) async fn record_stats(&mut self, stats: Stats) -> Result<(), StoreError> {
        if stats == self.state.stats {
            return Ok(());
        }
        let told = state::update(key::STATS, json!(stats));
        self.record(vec![Draft::new(Source::Environment, told)]).await
    }
}
