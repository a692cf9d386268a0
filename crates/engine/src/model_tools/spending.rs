//! What tools have spent on models.

use std::sync::{Arc, Mutex, PoisonError};

use deft_llm::{Model, Reply};
use deft_types::{Money, Stats, Tokens};

/// What tools have spent, until it is stored.
#[derive(Clone, Default)]
pub(crate) struct Spending {
    spent: Arc<Mutex<Vec<ModelUse>>>,
}

/// What a tool has spent.
pub(crate) enum ModelUse {
    /// One use of a model, to be added.
    Reply {
        usage_id: String,
        model: Arc<dyn Model>,
        reply: Box<Reply>,
    },
    /// All that another conversation has spent so far.
    Total { usage_id: String, stats: Stats },
}

impl Spending {
    pub(crate) fn add(&self, usage_id: String, model: Arc<dyn Model>, reply: Reply) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.push(ModelUse::Reply {
            usage_id,
            model,
            reply: Box::new(reply),
        });
    }

    /// Another conversation that belongs to this one has spent so much in all.
    pub(crate) fn add_total(&self, usage_id: String, stats: &Stats) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.push(ModelUse::Total {
            usage_id,
            stats: stats.clone(),
        });
    }

    /// What was used, by calls to models alone, since it was last taken.
    pub(crate) fn not_counted(&self) -> (Money, Tokens) {
        let spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let none = (Money::ZERO, Tokens::ZERO);
        spent.iter().fold(none, |(cost, tokens), used| match used {
            ModelUse::Reply { reply, .. } => {
                let (more, used) = used_by(reply);
                (cost + more, tokens + used)
            }
            ModelUse::Total { .. } => (cost, tokens), // told to those above as it was used
        })
    }

    /// What was spent since it was last taken.
    pub(crate) fn take(&self) -> Vec<ModelUse> {
        std::mem::take(&mut *self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The money and the tokens that a reply has taken.
pub(crate) fn used_by(reply: &Reply) -> (Money, Tokens) {
    let tokens = reply.usage.prompt + reply.usage.completion;
    (reply.cost.unwrap_or(Money::ZERO), tokens)
}
