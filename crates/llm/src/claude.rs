//! What Claude models want of a request, wherever they are served.

mod order;

use deft_types::{Message, Role, ThinkingBlock, Tokens};
use serde::Serialize;

pub(crate) use self::order::{Place, Reasoning, Said, said};
use crate::{ThinkingMode, Tuning};

/// The beta that lets a model with a manual budget reason between tool calls too.
pub(crate) const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";

/// A smaller budget is refused.
const MIN_BUDGET: u64 = 1_024;

/// How a model is asked to reason before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Thinking {
    /// Up to a number of tokens.
    #[serde(rename = "enabled")]
    Manual { budget_tokens: u64 },
    /// As much as the model sees fit. Later models show their reasoning only where they are asked to.
    Adaptive { display: Display },
}

/// What is shown of adaptive reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Display {
    Summarized,
}

/// How a model works on its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct OutputConfig<'a> {
    effort: &'a str,
}

impl Thinking {
    /// How hard it is asked to think: a budget already says so.
    pub(crate) fn output_config(self, tuning: &Tuning) -> Option<OutputConfig<'_>> {
        match self {
            Self::Manual { .. } => None,
            Self::Adaptive { .. } => tuning
                .reasoning_effort
                .as_deref()
                .map(|effort| OutputConfig { effort }),
        }
    }

    /// How a model of this kind is asked. `budget` is the user's word, zero for none at all; without it half of the
    /// output is left for the answer.
    pub(crate) fn of(mode: ThinkingMode, budget: Option<Tokens>, max_output: Tokens) -> Option<Self> {
        if budget == Some(Tokens::ZERO) {
            return None;
        }
        match mode {
            ThinkingMode::None => None,
            ThinkingMode::Adaptive => Some(Self::Adaptive {
                display: Display::Summarized,
            }),
            ThinkingMode::Manual => {
                let budget_tokens = budget.map_or(max_output.0 / 2, |budget| budget.0.max(MIN_BUDGET));
                Self::Manual { budget_tokens }.within(max_output)
            }
        }
    }

    /// The same where no more than this may be written: a budget must leave room for an answer.
    pub(crate) fn within(self, max_output: Tokens) -> Option<Self> {
        match self {
            Self::Adaptive { .. } => Some(self),
            Self::Manual { budget_tokens } => {
                let budget_tokens = budget_tokens.min(max_output.0.saturating_sub(1));
                (budget_tokens >= MIN_BUDGET).then_some(Self::Manual { budget_tokens })
            }
        }
    }

    /// Whether it may go on from this history. A turn that another model began without signed reasoning
    /// cannot be finished with a manual budget.
    pub(crate) fn fits(self, history: &[impl AsRef<Message>]) -> bool {
        match self {
            Self::Adaptive { .. } => true,
            Self::Manual { .. } => history
                .iter()
                .map(AsRef::as_ref)
                .rev()
                .take_while(|message| message.role != Role::User)
                .filter(|message| message.role == Role::Assistant)
                .last()
                .is_none_or(|first| signed(first).next().is_some()),
        }
    }
}

/// The reasoning of a message that its provider would take back.
fn signed(message: &Message) -> impl Iterator<Item = &ThinkingBlock> {
    message.thinking_blocks.iter().filter(|block| match block {
        ThinkingBlock::Thinking(body) => body.signature.as_ref().is_some_and(|text| !text.is_empty()),
        ThinkingBlock::RedactedThinking(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use deft_types::{Extra, SignedThinking};

    use super::*;

    const ADAPTIVE: Option<Thinking> = Some(Thinking::Adaptive {
        display: Display::Summarized,
    });

    fn manual(budget_tokens: u64) -> Thinking {
        Thinking::Manual { budget_tokens }
    }

    #[test]
    fn a_budget_is_kept_within_what_the_server_takes() {
        let cases = [
            (Some(200_000), 64_000, Some(manual(63_999))),
            (Some(10_000), 64_000, Some(manual(10_000))),
            (Some(1), 64_000, Some(manual(1_024))),
            (None, 2_000, None),
            (Some(0), 64_000, None),
        ];
        for (budget, max_output, expected) in cases {
            assert_eq!(
                Thinking::of(ThinkingMode::Manual, budget.map(Tokens), Tokens(max_output)),
                expected,
                "{budget:?}"
            );
        }
        assert_eq!(
            Thinking::of(ThinkingMode::Adaptive, Some(Tokens::ZERO), Tokens(64_000)),
            None
        );
    }

    #[test]
    fn a_turn_that_began_without_signed_reasoning_is_finished_without_a_budget() {
        let thoughtful = |role| {
            let mut message = Message::text(role, "x");
            message
                .thinking_blocks
                .push(ThinkingBlock::Thinking(SignedThinking {
                    thinking: "hm".to_owned(),
                    signature: Some("sig".to_owned()),
                    extra: Extra::new(),
                }));
            Arc::new(message)
        };
        let plain = |role| Arc::new(Message::text(role, "x"));
        let (user, assistant, tool) = (Role::User, Role::Assistant, Role::Tool);
        let budget = manual(2_000);
        // A later reply of the same turn may come without.
        let own = [
            plain(user),
            thoughtful(assistant),
            plain(tool),
            plain(assistant),
            plain(tool),
        ];
        let foreign = [
            plain(user),
            plain(assistant),
            plain(tool),
            thoughtful(assistant),
            plain(tool),
        ];
        assert!(budget.fits(&own));
        assert!(!budget.fits(&foreign));
        assert!(budget.fits(&[plain(user), plain(assistant), plain(user)]));
        assert!(ADAPTIVE.unwrap().fits(&foreign));
    }
}
