//! What skills and agents declare about themselves, so that they can be found and called with the right parameters.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use crate::problem::Fault;
use crate::skill::{Input, Skill};

/// Entries of an answer to a search.
const MAX_FOUND: usize = 8;

/// What somebody can do, wants and gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Declared {
    /// What it can do, in a few words each.
    pub capabilities: Vec<String>,
    /// The JSON schema of the parameters that it takes.
    pub input_schema: Option<Value>,
    /// The JSON schema of what comes of it.
    pub output_schema: Option<Value>,
}

impl Declared {
    /// Reads it. Who names inputs without a schema takes a text for each.
    pub fn new(
        capabilities: Vec<String>,
        input_schema: Option<Value>,
        output_schema: Option<Value>,
        inputs: &[Input],
    ) -> Result<Self, Fault> {
        for (field, schema) in [("input_schema", &input_schema), ("output_schema", &output_schema)] {
            if schema
                .as_ref()
                .is_some_and(|schema| !schema["properties"].is_object())
            {
                return Err(Fault::BadSchema { field });
            }
        }
        let texts = || {
            let text = |input: &Input| {
                let schema = json!({"type": "string", "description": input.description});
                (input.name.clone(), schema)
            };
            let properties: serde_json::Map<_, _> = inputs.iter().map(text).collect();
            json!({"type": "object", "properties": properties})
        };
        Ok(Self {
            capabilities,
            input_schema: input_schema.or_else(|| (!inputs.is_empty()).then(texts)),
            output_schema,
        })
    }
}

/// An entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// What it is called by.
    pub name: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// What it declares.
    pub declared: &'a Declared,
    /// Words that belong to it.
    pub words: &'a [String],
}

impl Offer<'_> {
    /// As a model reads it.
    pub fn told(&self, how: &str) -> String {
        let Declared {
            capabilities,
            input_schema,
            output_schema,
        } = self.declared;
        let mut text = format!("- {} ({how}): {}", self.name, self.description);
        if !capabilities.is_empty() {
            let _ = write!(text, " Can: {}.", capabilities.join(", ")); // a string takes everything
        }
        for (what, schema) in [("Parameters", input_schema), ("Gives", output_schema)] {
            if let Some(schema) = schema {
                let _ = write!(text, " {what}: {schema}");
            }
        }
        text
    }

    /// How well it fits: words of its name count most, then what it can do, then how it is described.
    fn fit(&self, query: &[String]) -> usize {
        let count = |text: &str, weight: usize| {
            let text = text.to_lowercase();
            weight * query.iter().filter(|word| text.contains(word.as_str())).count()
        };
        count(self.name, 4)
            + count(&self.declared.capabilities.join(" "), 3)
            + count(&self.words.join(" "), 2)
            + count(self.description, 1)
    }
}

impl Skill {
    /// Its entry.
    pub(crate) fn offer(&self) -> Offer<'_> {
        Offer {
            name: &self.name,
            description: self.description.as_deref().unwrap_or_default(),
            declared: &self.declared,
            words: &self.triggers,
        }
    }
}

/// Those that fit some words best, with what came with them.
pub fn best<'a, T>(offers: Vec<(Offer<'a>, T)>, query: &str) -> Vec<(Offer<'a>, T)> {
    let words = query.to_lowercase();
    let words: Vec<_> = words
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .map(str::to_owned)
        .collect();
    let mut fitting: Vec<_> = offers
        .into_iter()
        .map(|(offer, more)| (offer.fit(&words), offer, more))
        .filter(|(fit, ..)| *fit > 0)
        .collect();
    fitting.sort_by_key(|(fit, ..)| std::cmp::Reverse(*fit)); // in their order where they fit as well
    let fitting = fitting.into_iter().take(MAX_FOUND);
    fitting.map(|(_, offer, more)| (offer, more)).collect()
}
