//! What `deft models` prints.

use std::fmt::Write;

use deft_llm::{Ability, Finding, ModelFacts, Verdict};

use super::line::one_line;
use super::style::Style;
use crate::models::{ModelList, per_million, public_address};

/// The models and providers, section by section.
pub(crate) fn model_list(list: &ModelList, style: &Style) -> String {
    let heading = style.heading;
    let mut text = format!("{heading}The model that is set{heading:#}\n");
    match &list.configured {
        Some((facts, source)) => {
            text += &table(std::slice::from_ref(facts));
            let _ = writeln!(text, "  set by {}", one_line(source));
        }
        None => text += "  none: pass --model PROVIDER/NAME, or set LLM_MODEL\n",
    }
    if !list.named.is_empty() {
        let _ = writeln!(text, "\n{heading}Models with names of your own{heading:#}");
        let called = |(name, facts): &(String, ModelFacts)| ModelFacts {
            name: format!("{name} = {}", facts.name),
            ..facts.clone()
        };
        text += &table(&list.named.iter().map(called).collect::<Vec<_>>());
    }
    let _ = writeln!(text, "\n{heading}On this machine{heading:#}");
    for found in &list.local {
        let address = one_line(&public_address(found));
        let _ = match &found.models {
            Some(models) if models.is_empty() => {
                writeln!(text, "  {} at {address} has no models", found.place.kind.title())
            }
            Some(models) => write!(
                text,
                "  {} at {address}\n{}",
                found.place.kind.title(),
                table(models)
            ),
            None => writeln!(text, "  {} does not run at {address}", found.place.kind.title()),
        };
    }
    let _ = writeln!(text, "\n{heading}Providers{heading:#}");
    let width = list
        .providers
        .iter()
        .map(|(provider, _)| provider.name.len())
        .max();
    let width = width.unwrap_or(0);
    for (provider, is_set) in &list.providers {
        let name = provider.name;
        let (mark, key) = match (provider.key_variable, is_set) {
            (None, _) => (style.plain, "needs no key".to_owned()),
            (Some(variable), true) => (style.good, format!("{variable} is set")),
            (Some(variable), false) => (style.dim, format!("{variable} is not set")),
        };
        let _ = writeln!(text, "  {name:width$}  {mark}{key}{mark:#}");
    }
    if let Some(source) = &list.key_source {
        let _ = writeln!(text, "  A key for any of them comes from {}.", one_line(source));
    }
    text
}

/// A line a model: name, context size, price, abilities.
fn table(models: &[ModelFacts]) -> String {
    let rows: Vec<_> = models.iter().map(cells).collect();
    let widest = |column: usize| {
        rows.iter()
            .map(|cells| cells[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let [name_width, window_width, price_width] = [widest(0), widest(1), widest(2)];
    rows.iter()
        .map(|[name, window, price, abilities]| {
            format!("    {name:name_width$}  {window:>window_width$}  {price:price_width$}  {abilities}\n")
        })
        .collect()
}

fn cells(facts: &ModelFacts) -> [String; 4] {
    let window = match facts.context_window {
        Some(window) => format!("{window} tokens"),
        None => "size unknown".to_owned(),
    };
    let price = match facts.prices {
        None => "price unknown".to_owned(),
        Some(prices) if prices == deft_llm::Prices::FREE => "free".to_owned(),
        Some(prices) => format!(
            "{} in, {} out per million",
            per_million(prices.base.input),
            per_million(prices.base.output)
        ),
    };
    let abilities = match facts.abilities.as_deref() {
        None => "abilities unknown".to_owned(),
        Some([]) => "text only".to_owned(),
        Some(abilities) => abilities
            .iter()
            .copied()
            .map(Ability::as_str)
            .collect::<Vec<_>>()
            .join(", "),
    };
    [one_line(&facts.name), window, price, abilities]
}

/// A line for a layer that was tried, and what to do where it fails.
pub(crate) fn finding_line(finding: &Finding, style: &Style) -> String {
    let layer = finding.layer;
    match &finding.verdict {
        Verdict::Good(words) => {
            let mark = style.good;
            format!("{mark}✔{mark:#} {layer:14}  {}\n", one_line(words))
        }
        Verdict::Bad { what, remedy } => {
            let mark = style.error;
            format!(
                "{mark}✘{mark:#} {layer:14}  {}\n  {:14}  → {remedy}\n",
                one_line(what),
                ""
            )
        }
    }
}
