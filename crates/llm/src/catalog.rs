//! Limits and prices of known models, from a table that is built in.

use std::collections::HashMap;

use deft_types::{Money, Tokens};
use serde_json::value::RawValue;

use crate::Prices;

/// Rows as `data/trim.py` writes them.
const TABLE: &str = include_str!("../data/models.json");

/// What the table knows of a model.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) provider: String,
    pub(crate) context_window: Option<Tokens>,
    pub(crate) max_output: Option<Tokens>,
    pub(crate) prices: Option<Prices>,
    pub(crate) accepts_images: bool,
    pub(crate) calls_tools: bool,
    pub(crate) reasons: bool,
}

/// Provider, context window, max output, prices (input, output, cache read, cache write), capabilities.
type Row<'a> = (
    &'a str,
    Option<u64>,
    Option<u64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    &'a str,
);

/// Looks a model up by its name as written, then without the provider before the first slash.
pub(crate) fn look_up(name: &str) -> Option<Entry> {
    // The rows stay text until one is wanted, which keeps this cheap; it is done
    // once per opened model, so nothing is kept.
    let rows: HashMap<&str, &RawValue> = serde_json::from_str(TABLE).ok()?;
    let row = rows.get(name).or_else(|| rows.get(name.split_once('/')?.1))?;
    read(row.get())
}

fn read(row: &str) -> Option<Entry> {
    let (provider, context_window, max_output, input, output, cache_read, cache_write, capabilities): Row =
        serde_json::from_str(row).ok()?;
    let prices = input.zip(output).map(|(input, output)| Prices {
        input: Money(input),
        output: Money(output),
        // Where the table names no price for the cache, the provider charges as for any other token.
        cache_read: Money(cache_read.unwrap_or(input)),
        cache_write: Money(cache_write.unwrap_or(input)),
    });
    Some(Entry {
        provider: provider.to_owned(),
        context_window: context_window.map(Tokens),
        max_output: max_output.map(Tokens),
        prices,
        accepts_images: capabilities.contains('v'),
        calls_tools: capabilities.contains('f'),
        reasons: capabilities.contains('r'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(known.accepts_images);
        let prices = known.prices.unwrap();
        assert_eq!(
            (prices.input, prices.output, prices.cache_read, prices.cache_write),
            (Money(2.5e-6), Money(1e-5), Money(1.25e-6), Money(2.5e-6))
        );
        assert_eq!(look_up("openai/gpt-4o"), Some(known));
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
