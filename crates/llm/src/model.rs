//! What answers prompts.

use std::sync::Arc;

use deft_types::{Tokens, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::count::count_here;
use crate::{Capabilities, Delta, Messages, ModelError, Prices, TokenCount, Usage};

/// What answers prompts.
pub trait Model: Send + Sync {
    /// What is known about it.
    fn profile(&self) -> &ModelProfile;

    /// Answers a request piece by piece. Nothing happens before the first poll; dropping the stream
    /// cancels the call at once. A whole reply ends with [`Delta::Finished`], a failed one with an error.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>>;

    /// Counts the tokens of a request, by whoever can: the model's server, its tokenizer, else an estimate. It never
    /// fails, and asks the network only where there is a server.
    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        count_here(self.profile().name.clone(), request).boxed()
    }
}

/// What is known about a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelProfile {
    /// Its name as the user wrote it, such as `openai/gpt-4o`.
    pub name: String,
    /// How much it can read in one request, if known.
    pub context_window: Option<Tokens>,
    /// How much it is asked to write at most, if known.
    pub max_output: Option<Tokens>,
    /// What it costs. `None`: unknown, and so is the cost of each call unless the provider names it.
    pub prices: Option<Prices>,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl ModelProfile {
    /// What is known about a model of which only the name is.
    pub fn unknown(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            context_window: None,
            max_output: None,
            prices: None,
            capabilities: Capabilities::default(),
        }
    }

    /// The same piece of a reply; what was used has its cost, as far as it is known: what the provider says, else
    /// what the prices make it.
    pub(crate) fn priced(&self, delta: Delta) -> Delta {
        match delta {
            Delta::Usage(usage) => Delta::Usage(Usage {
                cost: usage
                    .cost
                    .or_else(|| self.prices.as_ref().map(|prices| prices.cost(&usage))),
                ..usage
            }),
            other => other,
        }
    }
}

/// One question to a model.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The whole exchange so far.
    pub messages: Messages,
    /// The tools it may call.
    pub tools: Arc<[ToolSchema]>,
    /// Names requests that share a beginning, so that a provider finds its cache: the conversation's id.
    pub cache_key: Option<String>,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    use deft_types::Money;

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

    fn cost(prices: Option<Prices>, said: Option<Money>) -> Option<Money> {
        let usage = Usage {
            prompt: Tokens(100),
            cost: said,
            ..Usage::default()
        };
        match profile(prices).priced(Delta::Usage(usage)) {
            Delta::Usage(usage) => usage.cost,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_providers_own_figure_beats_the_price_table() {
        let said = "0.25".parse().ok();
        assert_eq!(cost(Some(Prices::FREE), said), said);
        assert_eq!(cost(Some(Prices::FREE), None), Some(Money::ZERO));
    }

    #[test]
    fn without_a_price_the_cost_is_unknown_and_not_zero() {
        assert_eq!(cost(None, None), None);
    }
}
