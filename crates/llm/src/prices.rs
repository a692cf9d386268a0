//! What tokens cost.

use deft_types::{Money, Tokens};
use serde::{Deserialize, Serialize};

use crate::Usage;

/// What a model's tokens cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// The usual rates.
    pub base: Rates,
    /// The rates of a request with a long prompt, where they differ.
    pub long: Option<LongPrompt>,
}

/// Prices of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Of the prompt.
    pub input: Money,
    /// Of the completion, reasoning included unless that has a price of its own.
    pub output: Money,
    /// Of the part of the prompt that the provider had in its cache.
    pub cache_read: Money,
    /// Of the part of the prompt that the provider put into its cache.
    pub cache_write: Money,
    /// Of the reasoning in the completion, where it has a price of its own.
    #[serde(default)]
    pub reasoning: Option<Money>,
}

/// Rates for the whole of a request whose prompt is longer than a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongPrompt {
    /// The longest prompt that costs the usual rates.
    pub above: Tokens,
    /// What the tokens of a longer one cost.
    pub rates: Rates,
}

impl Prices {
    /// The price of a model that costs nothing.
    pub const FREE: Self = Self::flat(Money::ZERO, Money::ZERO);

    /// One price for what goes in, cached or not, and one for what comes out.
    pub const fn flat(input: Money, output: Money) -> Self {
        Self {
            base: Rates {
                input,
                output,
                cache_read: input,
                cache_write: input,
                reasoning: None,
            },
            long: None,
        }
    }

    /// What a use of the model costs.
    pub fn cost(&self, usage: &Usage) -> Money {
        let rates = match &self.long {
            Some(long) if usage.prompt > long.above => &long.rates,
            Some(_) | None => &self.base,
        };
        let cached = usage.cache_read + usage.cache_write;
        let plain = Tokens(usage.prompt.0.saturating_sub(cached.0));
        let reasoning = usage.reasoning.min(usage.completion);
        let said = Tokens(usage.completion.0 - reasoning.0);
        rates.input * plain
            + rates.cache_read * usage.cache_read
            + rates.cache_write * usage.cache_write
            + rates.output * said
            + rates.reasoning.unwrap_or(rates.output) * reasoning
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn rates(input: &str) -> Rates {
        Rates {
            input: dollars(input),
            output: dollars("1000"),
            cache_read: dollars("0.5"),
            cache_write: dollars("2"),
            reasoning: None,
        }
    }

    fn usage() -> Usage {
        Usage {
            prompt: Tokens(100),
            completion: Tokens(10),
            cache_read: Tokens(60),
            cache_write: Tokens(30),
            reasoning: Tokens(4),
            cost: None,
        }
    }

    #[test]
    fn cached_tokens_are_part_of_the_prompt_and_counted_once() {
        let prices = Prices {
            base: rates("1"),
            long: None,
        };
        assert_eq!(prices.cost(&usage()), dollars("10100"));
    }

    #[test]
    fn reasoning_may_have_a_price_of_its_own_and_is_counted_once() {
        let prices = |reasoning: Option<&str>| Prices {
            base: Rates {
                reasoning: reasoning.map(dollars),
                ..rates("1")
            },
            long: None,
        };
        // 6 × 1000 + 4 × 5000
        assert_eq!(prices(Some("5000")).cost(&usage()), dollars("26100"));
        let claimed = Usage {
            reasoning: Tokens(99),
            ..usage()
        };
        assert_eq!(
            prices(None).cost(&claimed),
            dollars("10100"),
            "never more than came out"
        );
    }

    #[test]
    fn a_prompt_above_the_limit_costs_the_higher_rate_as_a_whole() {
        let prices = |above| Prices {
            base: rates("1"),
            long: Some(LongPrompt {
                above: Tokens(above),
                rates: rates("7"),
            }),
        };
        assert_eq!(prices(100).cost(&usage()), dollars("10100"));
        assert_eq!(prices(99).cost(&usage()), dollars("10160"));
    }

    #[test]
    fn the_price_of_a_cheap_token_is_exact() {
        let prices = Prices::flat(dollars("3.78e-09"), Money::ZERO);
        let usage = Usage {
            prompt: Tokens(1_000_000_007),
            ..Usage::default()
        };
        assert_eq!(prices.cost(&usage), dollars("3.78000002646"));
    }
}
