//! What can be told about models without asking one.

use deft_types::Tokens;

use crate::catalog;
use crate::open::{profile, provider_of, subject};
use crate::provider::PROVIDERS;
use crate::{KnownCapabilities, ModelSettings, Prices, ThinkingMode};

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

/// What is known about a model that has no settings of its own.
pub fn facts(name: &str) -> ModelFacts {
    facts_with(name, &ModelSettings::default())
}

/// What is known about a model with the settings it would be opened with, which may be nothing.
pub fn facts_with(name: &str, settings: &ModelSettings) -> ModelFacts {
    let Some((provider, wire_name)) = provider_of(name) else {
        return ModelFacts {
            name: name.to_owned(),
            context_window: None,
            prices: None,
            abilities: None,
        };
    };
    let profile = profile(name, wire_name, provider, settings);
    let entry = catalog::look_up(settings.known_as.as_deref().unwrap_or(name));
    let known = subject(wire_name, provider, settings, entry.as_ref()).known();
    ModelFacts {
        name: profile.name,
        context_window: profile.context_window,
        prices: profile.prices,
        abilities: abilities(&known),
    }
}

/// `None`: nobody says anything about them.
fn abilities(known: &KnownCapabilities) -> Option<Vec<Ability>> {
    let thinks = known.thinking.map(|mode| mode != ThinkingMode::None);
    let said = [
        (Ability::Tools, known.native_tool_calls),
        (Ability::Vision, known.vision),
        (Ability::Thinking, known.reasoning_effort.or(thinks)),
    ];
    said.iter().any(|(_, there)| there.is_some()).then(|| {
        let said = said.map(|(ability, there)| (ability, there == Some(true)));
        Ability::among(&said)
    })
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

    #[test]
    fn what_the_user_says_of_a_model_is_among_its_facts() {
        let settings = ModelSettings {
            prices: Some(Prices::FREE),
            capability_overrides: KnownCapabilities {
                vision: Some(true),
                ..KnownCapabilities::default()
            },
            ..ModelSettings::default()
        };
        let own = facts_with("vllm/my-own", &settings);
        assert_eq!(
            (own.prices, own.abilities),
            (Some(Prices::FREE), Some(vec![Ability::Vision]))
        );
        assert_eq!(facts("vllm/gpt-4o").prices, None, "as it is when it is opened");
    }
}
