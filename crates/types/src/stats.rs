//! What models were used for, and what it cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::amount::{Money, Tokens};
use crate::tagged::Extra;

/// All use of models in a conversation, by what they were used for (`agent`, `condenser` …).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// By usage id.
    #[serde(default)]
    pub usage_to_metrics: BTreeMap<String, Metrics>,
    /// What of it was spent in the conversation that this one is a copy of. Left out where nothing was, so that the
    /// wire's form stays as it was.
    #[serde(default, skip_serializing_if = "Money::is_zero")]
    pub inherited_cost: Money,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// How the usage ids begin under which a conversation counts what those have used that it gave tasks to.
pub const OF_TASKS: &str = "task:";

impl Stats {
    /// Everything spent so far.
    pub fn total_cost(&self) -> Money {
        self.usage_to_metrics
            .values()
            .map(|metrics| metrics.accumulated_cost)
            .sum()
    }

    /// What was spent in this conversation itself: by no other that it copies or that does a part of its work.
    pub fn own_cost(&self) -> Money {
        let own = self.usage_to_metrics.iter();
        let own = own.filter(|(usage, _)| !usage.starts_with(OF_TASKS));
        let own: Money = own.map(|(_, metrics)| metrics.accumulated_cost).sum();
        (own - self.inherited_cost).max(Money::ZERO)
    }

    /// All tokens so far, of prompts and replies together.
    pub fn total_tokens(&self) -> Tokens {
        let used = self.usage_to_metrics.values().map(Metrics::total_tokens);
        used.fold(Tokens::ZERO, |sum, tokens| sum + tokens)
    }

    /// Whether more was spent than [`Self::total_cost`] says, and nobody knows how much.
    pub fn cost_unknown(&self) -> bool {
        self.usage_to_metrics.values().any(|metrics| metrics.cost_unknown)
    }
}

/// The use of one model for one purpose.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// The model.
    #[serde(default)]
    pub model_name: String,
    /// Spent so far.
    #[serde(default)]
    pub accumulated_cost: Money,
    /// Calls were made whose price nobody knows: more was spent than `accumulated_cost` says. Left out
    /// otherwise, so that the wire's form stays as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_unknown: bool,
    /// What may be spent.
    pub max_budget_per_task: Option<Money>,
    /// Tokens so far.
    pub accumulated_token_usage: Option<TokenUsage>,
    /// Each call's cost; left out of snapshots.
    pub costs: Option<Vec<Cost>>,
    /// Each call's duration; left out of snapshots.
    pub response_latencies: Option<Vec<Latency>>,
    /// Each call's tokens; left out of snapshots.
    pub token_usages: Option<Vec<TokenUsage>>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Metrics {
    /// Prompts and replies together.
    pub fn total_tokens(&self) -> Tokens {
        let used = self.accumulated_token_usage.as_ref();
        used.map_or(Tokens::ZERO, |used| used.prompt_tokens + used.completion_tokens)
    }

    /// Leaves only the sums: lists of all calls would grow without end.
    pub fn forget_calls(&mut self) {
        self.costs = None;
        self.response_latencies = None;
        self.token_usages = None;
    }
}

/// The cost of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The model.
    pub model: String,
    /// The cost.
    pub cost: Money,
    /// When, in seconds since 1970.
    pub timestamp: f64,
}

/// The duration of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The model.
    pub model: String,
    /// Seconds.
    pub latency: f64,
    /// The reply.
    pub response_id: String,
}

/// Tokens of one call, or of several added up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// The model.
    pub model: String,
    /// What went in, cached or not.
    pub prompt_tokens: Tokens,
    /// What came out, reasoning included.
    pub completion_tokens: Tokens,
    /// The share of the prompt that came from the provider's cache.
    pub cache_read_tokens: Tokens,
    /// The share of the prompt that was put into it.
    pub cache_write_tokens: Tokens,
    /// The share of the completion that was reasoning.
    pub reasoning_tokens: Tokens,
    /// The size of the model's context window.
    pub context_window: Tokens,
    /// Prompt and completion of the last call.
    pub per_turn_token: Tokens,
    /// The reply.
    pub response_id: String,
}
