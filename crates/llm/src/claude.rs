//! What Claude models want of a request, wherever they are served.

use deft_types::{Message, Role, ThinkingBlock, Tokens};
use serde::Serialize;

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

/// What a model's name says of it.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    None,
    Manual,
    Adaptive,
}

/// The last part that is in the name counts.
const MODES: &[(&str, Mode)] = &[
    ("claude", Mode::Adaptive),
    ("claude-v", Mode::None),
    ("claude-2", Mode::None),
    ("claude-instant", Mode::None),
    ("claude-3", Mode::None),
    ("claude-opus-4", Mode::Manual),
    ("claude-sonnet-4", Mode::Manual),
    ("claude-haiku-4", Mode::Manual),
    ("claude-opus-4-6", Mode::Adaptive),
    ("claude-opus-4-7", Mode::Adaptive),
    ("claude-opus-4-8", Mode::Adaptive),
    ("claude-sonnet-4-6", Mode::Adaptive),
];

/// Claude models that take no cache marks where a refused field is an error.
const WITHOUT_CACHE: &[&str] = &[
    "claude-v",
    "claude-instant",
    "claude-3-opus",
    "claude-3-sonnet",
    "claude-3-haiku",
    "claude-3-5-sonnet-20240620",
];

impl Thinking {
    /// How the model of this name reasons. `budget` is the user's word, zero for none at all; without it half
    /// of the output is left for the answer.
    pub(crate) fn of(name: &str, budget: Option<Tokens>, max_output: Tokens) -> Option<Self> {
        if budget == Some(Tokens::ZERO) {
            return None;
        }
        let name = name.to_lowercase();
        let mode = MODES
            .iter()
            .rfind(|(part, _)| name.contains(part))
            .map_or(Mode::None, |(_, mode)| *mode);
        match mode {
            Mode::None => None,
            Mode::Adaptive => Some(Self::Adaptive {
                display: Display::Summarized,
            }),
            Mode::Manual => {
                let budget_tokens = budget
                    .map_or(max_output.0 / 2, |budget| budget.0.max(MIN_BUDGET))
                    .min(max_output.0.saturating_sub(1));
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
pub(crate) fn signed(message: &Message) -> impl Iterator<Item = &ThinkingBlock> {
    message.thinking_blocks.iter().filter(|block| match block {
        ThinkingBlock::Thinking(body) => body.signature.as_ref().is_some_and(|text| !text.is_empty()),
        ThinkingBlock::RedactedThinking(_) => true,
    })
}

/// Whether the model of this name takes marks that say what to cache.
pub(crate) fn takes_cache_marks(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("claude") && !WITHOUT_CACHE.iter().any(|part| name.contains(part))
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
    fn the_name_tells_how_a_model_reasons() {
        let cases = [
            ("claude-sonnet-4-5-20250929", Some(manual(32_000))),
            (
                "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                Some(manual(32_000)),
            ),
            ("claude-opus-4-1-20250805", Some(manual(32_000))),
            ("claude-sonnet-4-6", ADAPTIVE),
            ("Claude-Opus-4-8", ADAPTIVE),
            ("anthropic.claude-sonnet-5", ADAPTIVE),
            ("claude-3-5-sonnet-20241022", None),
            ("anthropic.claude-v2:1", None),
            ("amazon.nova-pro-v1:0", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Thinking::of(name, None, Tokens(64_000)), expected, "{name}");
        }
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
                Thinking::of("claude-sonnet-4-5", budget.map(Tokens), Tokens(max_output)),
                expected,
                "{budget:?}"
            );
        }
        assert_eq!(
            Thinking::of("claude-opus-4-8", Some(Tokens::ZERO), Tokens(64_000)),
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

    #[test]
    fn old_models_and_those_of_others_take_no_cache_marks() {
        assert!(takes_cache_marks("us.anthropic.claude-sonnet-4-5-20250929-v1:0"));
        assert!(!takes_cache_marks("anthropic.claude-3-opus-20240229-v1:0"));
        assert!(!takes_cache_marks("amazon.nova-pro-v1:0"));
    }
}
