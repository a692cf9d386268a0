//! What answers prompts.

use std::sync::Arc;

use deft_types::{Message, Money, Tokens, ToolSpec};
use futures::stream::BoxStream;
use serde_json::Value;

use crate::{Capabilities, Delta, ModelError, Usage};

/// What answers prompts.
pub trait Model: Send + Sync {
    /// What is known about it.
    fn profile(&self) -> &ModelProfile;

    /// Answers a request piece by piece. Nothing happens before the first poll; dropping the stream
    /// cancels the call at once. A whole reply ends with [`Delta::Finished`], a failed one with an error.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>>;
}

/// What is known about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelProfile {
    /// Its name as the user wrote it, such as `openai/gpt-4o`.
    pub name: String,
    /// How much it can read in one request, if known.
    pub context_window: Option<Tokens>,
    /// How much it is asked to write at most, if known.
    pub max_output: Option<Tokens>,
    /// What it costs. `None`: unknown, so that every cost is reported as zero unless the provider names it.
    pub prices: Option<Prices>,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl ModelProfile {
    /// What a reply cost: what the provider says, else what the prices make it, else zero.
    pub fn cost(&self, usage: &Usage) -> Money {
        match (usage.cost, &self.prices) {
            (Some(cost), _) => cost,
            (None, Some(prices)) => prices.cost(usage),
            (None, None) => Money::ZERO,
        }
    }
}

/// Prices of one token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Of the prompt.
    pub input: Money,
    /// Of the completion, reasoning included.
    pub output: Money,
    /// Of the part of the prompt that the provider had in its cache.
    pub cache_read: Money,
    /// Of the part of the prompt that the provider put into its cache.
    pub cache_write: Money,
}

impl Prices {
    /// The price of a model that costs nothing.
    pub const FREE: Self = Self {
        input: Money::ZERO,
        output: Money::ZERO,
        cache_read: Money::ZERO,
        cache_write: Money::ZERO,
    };

    fn cost(&self, usage: &Usage) -> Money {
        #[allow(clippy::cast_precision_loss)] // token counts are far below 2^52
        let of = |tokens: u64, price: Money| Money(tokens as f64 * price.0);
        let plain = usage
            .prompt
            .0
            .saturating_sub(usage.cache_read.0)
            .saturating_sub(usage.cache_write.0);
        of(plain, self.input)
            + of(usage.cache_read.0, self.cache_read)
            + of(usage.cache_write.0, self.cache_write)
            + of(usage.completion.0, self.output)
    }
}

/// One question to a model.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The whole exchange so far, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// The tools it may call.
    pub tools: Arc<[ToolSchema]>,
    /// Names requests that share a beginning, so that a provider finds its cache: the conversation's id.
    pub cache_key: Option<String>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSchema {
    /// The name it is called by.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

impl From<&ToolSpec> for ToolSchema {
    fn from(spec: &ToolSpec) -> Self {
        Self {
            name: spec.name().to_owned(),
            description: spec.definition.description.clone(),
            parameters: spec.parameters.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(prices: Option<Prices>) -> ModelProfile {
        ModelProfile {
            name: "test".to_owned(),
            context_window: None,
            max_output: None,
            prices,
            capabilities: Capabilities::default(),
        }
    }

    fn usage(cost: Option<Money>) -> Usage {
        Usage {
            prompt: Tokens(100),
            completion: Tokens(10),
            cache_read: Tokens(60),
            cache_write: Tokens(30),
            reasoning: Tokens(4),
            cost,
        }
    }

    #[test]
    fn cached_tokens_are_part_of_the_prompt_and_counted_once() {
        let prices = Prices {
            input: Money(1.0),
            output: Money(1000.0),
            cache_read: Money(0.5),
            cache_write: Money(2.0),
        };
        let cost = profile(Some(prices)).cost(&usage(None));
        assert_eq!(cost, Money(10.0 + 30.0 + 60.0 + 10_000.0));
    }

    #[test]
    fn the_providers_own_figure_beats_the_price_table() {
        assert_eq!(
            profile(Some(Prices::FREE)).cost(&usage(Some(Money(0.25)))),
            Money(0.25)
        );
    }

    #[test]
    fn an_unknown_price_costs_nothing() {
        assert_eq!(profile(None).cost(&usage(None)), Money::ZERO);
    }
}
