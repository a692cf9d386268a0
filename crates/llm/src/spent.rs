//! What a call used, whether or not it comes to a reply.

use deft_types::{Money, Tokens};
use serde::{Deserialize, Serialize};

use crate::{Delta, ModelProfile, Usage};

/// About what a token of English or code is.
const BYTES_PER_TOKEN: u64 = 4;

/// What a call used, whether or not it comes to a reply. It is fed with the call's deltas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// What each attempt used, the last one last; without those of which the provider said nothing.
    pub attempts: Vec<Usage>,
    /// What other models used on the way.
    pub others: Vec<OtherUse>,
    /// Whether the last attempt is our estimate, because the call was cut off before its provider counted.
    pub estimated: bool,
    /// Whether the last of the attempts is the one under way.
    under_way: bool,
    /// Whether an attempt failed and the next one has not begun.
    waits: bool,
    /// Bytes of the reply that have come in the attempt under way.
    streamed: u64,
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
        self.waits = matches!(delta, Delta::Retry { .. });
        match delta {
            Delta::Usage(usage) => {
                if std::mem::replace(&mut self.under_way, true) {
                    self.attempts.pop(); // the last word of each attempt counts
                }
                self.attempts.push(*usage);
            }
            Delta::Retry { .. } => {
                self.under_way = false;
                self.streamed = 0;
            }
            Delta::OtherUse(other) => self.others.push(other.clone()),
            Delta::Text(piece) | Delta::Reasoning(piece) | Delta::ToolCall { arguments: piece, .. } => {
                self.streamed += piece.len() as u64;
            }
            Delta::Started { .. }
            | Delta::Thinking(_)
            | Delta::ReasoningItem(_)
            | Delta::Prefix(_)
            | Delta::Finished(_) => {}
        }
    }

    /// The same for a call that ends here, before its reply is whole. What its provider has not counted is estimated
    /// from what was sent, about `prompt`, and from what has come.
    #[must_use]
    pub fn cut_off(mut self, prompt: Tokens, profile: &ModelProfile) -> Self {
        if self.waits {
            return self; // nothing was asked since the attempt that failed
        }
        let told = self.usage();
        let come = Tokens(self.streamed.div_ceil(BYTES_PER_TOKEN));
        let mut usage = told.unwrap_or(Usage {
            prompt,
            ..Usage::default()
        });
        usage.completion = usage.completion.max(come);
        usage.cost = profile
            .prices
            .as_ref()
            .map(|prices| prices.cost(&usage))
            .or(usage.cost);
        if told.is_some() {
            self.attempts.pop();
        }
        self.attempts.push(usage);
        self.estimated = told.is_none_or(|told| told != usage);
        self
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Prices;

    fn cut(deltas: &[Delta]) -> Spent {
        let mut spent = Spent::default();
        for delta in deltas {
            spent.add(delta);
        }
        let dollar = Money::from_picodollars(1_000_000_000_000);
        let profile = ModelProfile {
            prices: Some(Prices::flat(dollar, dollar)),
            ..ModelProfile::unknown("m")
        };
        spent.cut_off(Tokens(100), &profile)
    }

    #[test]
    fn what_nobody_counted_is_estimated_from_what_was_sent_and_what_came() {
        let spent = cut(&[Delta::Text("12345678".to_owned())]);
        assert!(spent.estimated);
        let [usage] = spent.attempts[..] else {
            panic!("{spent:?}")
        };
        assert_eq!((usage.prompt, usage.completion), (Tokens(100), Tokens(2)));
        assert_eq!(usage.cost, Some(Money::from_picodollars(102_000_000_000_000)));
    }

    #[test]
    fn what_the_provider_has_counted_stands_and_only_the_rest_is_estimated() {
        let told = Usage {
            prompt: Tokens(90),
            completion: Tokens(1),
            ..Usage::default()
        };
        let spent = cut(&[Delta::Usage(told), Delta::Reasoning("x".repeat(40))]);
        let [usage] = spent.attempts[..] else {
            panic!("{spent:?}")
        };
        assert_eq!((usage.prompt, usage.completion), (Tokens(90), Tokens(10)));
    }

    #[test]
    fn waiting_for_the_next_attempt_costs_nothing() {
        let retry = Delta::Retry {
            attempt: 2,
            wait: Duration::ZERO,
            reason: String::new(),
        };
        let spent = cut(&[Delta::Text("half".to_owned()), retry]);
        assert_eq!((spent.attempts.len(), spent.estimated), (0, false));
    }
}
