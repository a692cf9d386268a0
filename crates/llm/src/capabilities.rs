//! What a model can do, from whoever knows it best.

mod names;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::catalog::Entry;
use crate::provider::{Dialect, Provider, Wire};

/// How a model is made to think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingMode {
    /// It is not: it thinks by itself, or never.
    None,
    /// It is given a budget of tokens.
    Manual,
    /// It is told to choose for itself how much.
    Adaptive,
}

/// Makes the resolved struct and its partial twin out of one list.
macro_rules! capabilities {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr,)*) => {
        /// What a model can do, all questions answered.
        #[allow(clippy::struct_excessive_bools)] // each is a question of its own
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Capabilities {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Default for Capabilities {
            /// Of a model that nobody knows anything about.
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        /// What one source says about a model. `None`: it does not say.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct KnownCapabilities {
            $($(#[$doc])* pub $name: Option<$type>,)*
        }

        impl KnownCapabilities {
            /// What this source says, and where it is silent, what the next one says.
            fn or(self, next: Self) -> Self {
                Self { $($name: self.$name.or(next.$name),)* }
            }

            fn resolved(self) -> Capabilities {
                Capabilities { $($name: self.$name.unwrap_or($default),)* }
            }
        }
    };
}

capabilities! {
    /// It takes images. Where not, a line of text stands in for them.
    vision: bool = true,
    /// It calls tools by its provider's own format, not by a prompted one.
    native_tool_calls: bool = true,
    /// It may call several tools in one reply.
    parallel_tool_calls: bool = true,
    /// It can be told how hard to reason.
    reasoning_effort: bool = false,
    /// How it is made to think.
    thinking: ThinkingMode = ThinkingMode::None,
    /// It takes temperature and the like.
    sampling: bool = true,
    /// Its provider caches only what is marked.
    explicit_cache_markers: bool = false,
    /// Its provider takes a key by which it finds the cache.
    prompt_cache_key: bool = false,
    /// Its provider keeps the cache for a day if asked to.
    prompt_cache_retention: bool = false,
    /// It stops at given words.
    stop_words: bool = true,
    /// It takes system messages.
    system_messages: bool = true,
    /// It is asked by the Responses API.
    responses_api: bool = false,
    /// It wants its own reasoning back, or refuses the next turn.
    send_reasoning_back: bool = false,
    /// A message must be a string, not a list of parts.
    string_only_content: bool = false,
    /// Images must be sent along; an address is not enough.
    inline_images: bool = false,
}

/// Where a model is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// At its provider.
    Provider,
    /// At an address of the user's choice.
    Elsewhere,
}

/// What can be known about a model before it is asked.
pub(crate) struct Subject<'a> {
    pub(crate) provider: &'a Provider,
    /// Its name without the provider.
    pub(crate) wire_name: &'a str,
    pub(crate) home: Home,
    /// What the user says.
    pub(crate) overrides: KnownCapabilities,
    /// What its server says.
    pub(crate) discovered: KnownCapabilities,
    /// Its row in the table.
    pub(crate) entry: Option<&'a Entry>,
}

impl Subject<'_> {
    /// What the sources say, in their order: the user, the model's server, the provider's limits, the table, and
    /// rules about names.
    pub(crate) fn known(&self) -> KnownCapabilities {
        self.overrides
            .or(self.discovered)
            .or(self.limits())
            .or(self.entry.map(|entry| entry.capabilities).unwrap_or_default())
            .or(names::capabilities(&self.name()))
    }

    fn name(&self) -> String {
        format!("{}/{}", self.provider.name, self.wire_name).to_lowercase()
    }

    /// What is known, and a guess where nothing is.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let known = self.known();
        let reasons = known.reasoning_effort == Some(true);
        let guessed = KnownCapabilities {
            // Most models that reason refuse a temperature, Claude only while it is told to think.
            sampling: Some(
                !reasons
                    || self.name().contains("gemini")
                    || matches!(self.provider.wire, Wire::Anthropic | Wire::Bedrock),
            ),
            ..KnownCapabilities::default()
        };
        known.or(guessed).resolved()
    }

    /// What the server takes, whatever the model.
    fn limits(&self) -> KnownCapabilities {
        let only_responses = self.entry.is_some_and(|entry| entry.chat == Some(false));
        let (cache_key, retention, responses) = match (self.provider.wire, self.home) {
            (Wire::Chat(Dialect::OpenAi | Dialect::Proxy), Home::Provider) => (true, None, None),
            // Whoever that is may refuse fields it does not know.
            (Wire::Chat(Dialect::OpenAi | Dialect::Proxy), Home::Elsewhere) => (false, Some(false), None),
            // Its chat API serves every model that has one, and at more versions.
            (Wire::Chat(Dialect::Azure), _) => (false, Some(false), Some(only_responses)),
            (
                Wire::Chat(Dialect::OpenRouter | Dialect::Compatible | Dialect::Strict | Dialect::Local(_))
                | Wire::Anthropic
                | Wire::Bedrock
                | Wire::Gemini
                | Wire::Ollama,
                _,
            ) => (false, Some(false), Some(false)),
        };
        let fetches_nothing = matches!(self.provider.wire, Wire::Gemini | Wire::Bedrock | Wire::Ollama);
        KnownCapabilities {
            prompt_cache_key: Some(cache_key),
            prompt_cache_retention: retention,
            responses_api: responses,
            inline_images: fetches_nothing.then_some(true),
            ..KnownCapabilities::default()
        }
    }
}
