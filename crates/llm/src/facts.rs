//! What can be told about models without asking one.

use deft_types::Tokens;

use crate::Prices;
use crate::catalog::{self, Entry};
use crate::provider::PROVIDERS;

/// What is known about a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// Its name, as `--model` takes it.
    pub name: String,
    /// How much it can read in one request, if known.
    pub context_window: Option<Tokens>,
    /// What it costs, if known.
    pub prices: Option<Prices>,
    /// What it can do, if known.
    pub abilities: Option<Vec<Ability>>,
}

/// Something that not every model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// It calls tools.
    Tools,
    /// It sees images.
    Vision,
    /// It thinks before it answers.
    Thinking,
}

impl Ability {
    /// A word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Vision => "vision",
            Self::Thinking => "thinking",
        }
    }

    /// Those that somebody says are there.
    pub(crate) fn among(said: &[(Self, bool)]) -> Vec<Self> {
        let there = said.iter().filter(|(_, there)| *there);
        there.map(|(ability, _)| *ability).collect()
    }
}

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderFacts {
    /// What stands before the slash of a model's name.
    pub name: &'static str,
    /// The environment variable that its own tools read the key from; `None`: it takes no key.
    pub key_variable: Option<&'static str>,
}

/// All providers, the one to suggest first at the top.
pub fn providers() -> impl Iterator<Item = ProviderFacts> {
    PROVIDERS.iter().map(|provider| ProviderFacts {
        name: provider.name,
        key_variable: provider.key_variable,
    })
}

/// What the built-in table knows about a model, which may be nothing.
pub fn facts(name: &str) -> ModelFacts {
    let entry = catalog::look_up(name);
    ModelFacts {
        name: name.to_owned(),
        context_window: entry.as_ref().and_then(|entry| entry.context_window),
        prices: entry.as_ref().and_then(|entry| entry.prices),
        abilities: entry.as_ref().map(abilities),
    }
}

fn abilities(entry: &Entry) -> Vec<Ability> {
    let capabilities = &entry.capabilities;
    Ability::among(&[
        (Ability::Tools, capabilities.native_tool_calls == Some(true)),
        (Ability::Vision, capabilities.vision == Some(true)),
        (Ability::Thinking, capabilities.reasoning_effort == Some(true)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_model_has_all_its_facts_and_an_unknown_one_its_name() {
        let known = facts("gemini/gemini-2.5-pro");
        assert_eq!(known.context_window, Some(Tokens(1_048_576)));
        assert!(known.prices.is_some());
        assert_eq!(
            known.abilities,
            Some(vec![Ability::Tools, Ability::Vision, Ability::Thinking])
        );
        let unknown = facts("vllm/my-own");
        assert_eq!(
            (unknown.context_window, unknown.prices, unknown.abilities),
            (None, None, None)
        );
    }
}
