//! What a call used, whether or not it comes to a reply.

use deft_types::Money;
use serde::{Deserialize, Serialize};

use crate::{Delta, Usage};

/// What a call used, whether or not it comes to a reply. It is fed with the call's deltas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// What each attempt used, the last one last; without those of which the provider said nothing.
    pub attempts: Vec<Usage>,
    /// What other models used on the way.
    pub others: Vec<OtherUse>,
    /// Whether the last of the attempts is the one under way.
    under_way: bool,
}

/// What another model used on the way to a reply, such as one that chose who answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherUse {
    /// What it was used for, as statistics name it.
    pub usage_id: String,
    /// The model.
    pub model: String,
    /// What it used.
    pub usage: Usage,
}

impl Spent {
    /// Takes the next piece of the call.
    pub fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Usage(usage) => {
                if std::mem::replace(&mut self.under_way, true) {
                    self.attempts.pop(); // the last word of each attempt counts
                }
                self.attempts.push(*usage);
            }
            Delta::Retry { .. } => self.under_way = false,
            Delta::OtherUse(other) => self.others.push(other.clone()),
            Delta::Started { .. }
            | Delta::Text(_)
            | Delta::Reasoning(_)
            | Delta::ToolCall { .. }
            | Delta::Thinking(_)
            | Delta::ReasoningItem(_)
            | Delta::Prefix(_)
            | Delta::Finished(_) => {}
        }
    }

    /// What the attempt under way has used.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.attempts.last().copied().filter(|_| self.under_way)
    }

    /// What is known of the cost of all attempts; `None` where that of the last is not.
    pub(crate) fn cost(&self) -> Option<Money> {
        self.usage()?.cost?;
        Some(self.attempts.iter().filter_map(|usage| usage.cost).sum())
    }
}
