//! Limits and prices of known models, from a table that is built in.

use std::collections::{BTreeMap, HashMap};

use deft_types::{Money, Tokens};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{KnownCapabilities, LongPrompt, Prices, Rates, ThinkingMode};

/// Rows as `data/trim.py` writes them.
const TABLE: &str = include_str!("../data/models.json");

/// What the table knows of a model.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) provider: String,
    pub(crate) context_window: Option<Tokens>,
    pub(crate) max_output: Option<Tokens>,
    pub(crate) prices: Option<Prices>,
    pub(crate) capabilities: KnownCapabilities,
    /// Whether it is reached by the chat API, if the table says.
    pub(crate) chat: Option<bool>,
}

/// One row. The last columns are left out where they do not apply.
#[derive(Deserialize)]
struct Row<'a>(
    &'a str,                           // provider
    Option<u64>,                       // context window
    Option<u64>,                       // longest output
    Option<Money>,                     // price of a token: input
    Option<Money>,                     // output
    Option<Money>,                     // read from the cache
    Option<Money>,                     // written to it
    &'a str,                           // capabilities
    #[serde(default)] Option<LongRow>, // prices for long prompts
    #[serde(default)] Option<Money>,   // price of a reasoning token
);

/// The longest prompt at the usual prices, then the prices of a longer one in the order above.
#[derive(Deserialize)]
struct LongRow(u64, Money, Money, Option<Money>, Option<Money>);

/// Looks a model up by its name as written, then without the provider before the first slash.
pub(crate) fn look_up(name: &str) -> Option<Entry> {
    // The rows stay text until one is wanted, which keeps this cheap; it is done
    // once per opened model, so nothing is kept.
    let rows: HashMap<&str, &RawValue> = serde_json::from_str(TABLE).ok()?;
    let row = rows.get(name).or_else(|| rows.get(name.split_once('/')?.1))?;
    read(row.get())
}

/// The names of all models of the table with their providers, by name.
pub fn known_models() -> Vec<(String, String)> {
    let rows: BTreeMap<&str, &RawValue> = serde_json::from_str(TABLE).unwrap_or_default();
    let entry = |(name, row): (&str, &RawValue)| Some((name.to_owned(), read(row.get())?.provider));
    rows.into_iter().filter_map(entry).collect()
}

fn read(row: &str) -> Option<Entry> {
    let Row(
        provider,
        context_window,
        max_output,
        input,
        output,
        cache_read,
        cache_write,
        capabilities,
        long,
        reasoning,
    ) = serde_json::from_str(row).ok()?;
    let prices = input.zip(output).map(|(input, output)| Prices {
        base: Rates {
            reasoning,
            ..rates(input, output, cache_read, cache_write)
        },
        long: long.map(
            |LongRow(above, input, output, cache_read, cache_write)| LongPrompt {
                above: Tokens(above),
                rates: rates(input, output, cache_read, cache_write),
            },
        ),
    });
    Some(Entry {
        provider: provider.to_owned(),
        context_window: context_window.map(Tokens),
        max_output: max_output.map(Tokens),
        prices,
        capabilities: KnownCapabilities {
            // The table names every model that sees.
            vision: Some(capabilities.contains('v')),
            native_tool_calls: says(capabilities, 'f'),
            parallel_tool_calls: says(capabilities, 'p'),
            reasoning_effort: says(capabilities, 'r'),
            thinking: capabilities.contains('a').then_some(ThinkingMode::Adaptive),
            sampling: says(capabilities, 't'),
            system_messages: says(capabilities, 's'),
            responses_api: says(capabilities, 'e'),
            ..KnownCapabilities::default()
        },
        chat: says(capabilities, 'c'),
    })
}

/// A letter in lower case is a yes, in upper case a no.
fn says(letters: &str, letter: char) -> Option<bool> {
    let no = letter.to_ascii_uppercase();
    letters
        .chars()
        .find(|known| *known == letter || *known == no)
        .map(|known| known == letter)
}

/// Where the table names no price for the cache, the provider charges as for any other token.
fn rates(input: Money, output: Money, cache_read: Option<Money>, cache_write: Option<Money>) -> Rates {
    Rates {
        input,
        output,
        cache_read: cache_read.unwrap_or(input),
        cache_write: cache_write.unwrap_or(input),
        reasoning: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(text: &str) -> Money {
        text.parse().unwrap()
    }

    #[test]
    fn every_row_can_be_read() {
        let rows: HashMap<&str, &RawValue> = serde_json::from_str(TABLE).unwrap();
        assert!(rows.len() > 3_000);
        for (name, row) in rows {
            assert!(read(row.get()).is_some(), "{name}");
        }
    }

    #[test]
    fn finds_a_model_with_and_without_its_provider() {
        let known = look_up("gpt-4o").unwrap();
        assert_eq!(known.provider, "openai");
        assert_eq!(known.context_window, Some(Tokens(128_000)));
        assert_eq!(known.max_output, Some(Tokens(16_384)));
        assert_eq!(known.capabilities.vision, Some(true));
        let prices = known.prices.unwrap();
        assert_eq!(
            (prices.base, prices.long),
            (
                rates(dollars("2.5e-6"), dollars("1e-5"), Some(dollars("1.25e-6")), None),
                None
            )
        );
        assert_eq!(look_up("openai/gpt-4o"), Some(known));
    }

    #[test]
    fn reasoning_has_a_price_of_its_own_where_the_table_says_so() {
        let reasoning = |name| look_up(name).unwrap().prices.unwrap().base.reasoning;
        assert_eq!(reasoning("dashscope/qwen-turbo"), Some(dollars("5e-7")));
        assert_eq!(reasoning("gpt-4o"), None);
    }

    #[test]
    fn long_prompts_have_prices_of_their_own_where_the_table_says_so() {
        let prices = look_up("gemini/gemini-2.5-pro").unwrap().prices.unwrap();
        assert_eq!(prices.base.input, dollars("1.25e-6"));
        assert_eq!(
            prices.long,
            Some(LongPrompt {
                above: Tokens(200_000),
                rates: rates(
                    dollars("2.5e-6"),
                    dollars("1.5e-5"),
                    Some(dollars("2.5e-7")),
                    None
                ),
            })
        );
    }

    #[test]
    fn a_capability_is_there_or_not_or_unknown() {
        let of = |name: &str| look_up(name).unwrap();
        assert_eq!(of("gpt-5").capabilities.responses_api, Some(true));
        assert_eq!(of("gpt-4o").capabilities.responses_api, None);
        assert_eq!(of("o3").capabilities.parallel_tool_calls, Some(false));
        assert_eq!(of("azure/gpt-5-codex").chat, Some(false));
        assert_eq!(
            of("claude-opus-4-8").capabilities.thinking,
            Some(ThinkingMode::Adaptive)
        );
    }

    #[test]
    fn a_name_with_its_provider_comes_first() {
        assert_eq!(look_up("deepseek/deepseek-chat").unwrap().provider, "deepseek");
    }

    #[test]
    fn knows_nothing_of_other_names() {
        assert_eq!(look_up("openai/no-such-model"), None);
    }
}
