//! From a model's name to the model.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deft_types::{Secret, Tokens};
use reqwest::Url;

use crate::api::Api;
use crate::catalog;
use crate::chat::{self, ChatApi};
use crate::demo::DemoModel;
use crate::gemini::{self, GeminiApi, Generation};
use crate::http::{self, HttpModel};
use crate::ollama::{self, OllamaModel};
use crate::provider::{PROVIDERS, Provider, Wire};
use crate::script::{ScriptError, ScriptModel};
use crate::{Model, ModelProfile, Prices};

/// What a server at an address of the user's choice is asked to write at most: it may well be a smaller one
/// than the model's name promises.
const MAX_OUTPUT_ELSEWHERE: Tokens = Tokens(16_384);

/// A name with more wrong letters than this is not a misspelling.
const MAX_TYPOS: usize = 2;

/// What opening a model takes besides its name.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The provider's key.
    pub api_key: Option<Secret<String>>,
    /// Where the server is, if not at the provider's own address.
    pub base_url: Option<String>,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long a server may be silent, before or within its answer.
    pub idle_timeout: Duration,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            api_key: None,
            base_url: None,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(2),
        }
    }
}

/// Why a model could not be opened. The person changes a setting.
#[derive(Debug, thiserror::Error)]
pub enum OpenModelError {
    /// The name means nothing to us.
    #[error(
        "unknown model `{name}`.{} A model is `demo`, `script:FILE`, or PROVIDER/NAME where PROVIDER is one of {}. \
         For any other OpenAI-compatible server set `LLM_BASE_URL` and write `openai/NAME`",
        guess.as_ref().map(|guess| format!(" Did you mean `{guess}`?")).unwrap_or_default(),
        provider_names(),
    )]
    UnknownName {
        /// What was asked for.
        name: String,
        /// What was perhaps meant.
        guess: Option<String>,
    },
    /// The provider wants a key and there is none.
    #[error("`{name}` needs an API key: set `LLM_API_KEY` (or `{variable}`)")]
    MissingKey {
        /// What was asked for.
        name: String,
        /// The provider's own name for the setting.
        variable: &'static str,
    },
    /// The base address is none.
    #[error("`LLM_BASE_URL` must be an address such as `http://localhost:8000/v1`: {reason}")]
    BadBaseUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The script cannot be read.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// No HTTP client could be made on this machine.
    #[error("no HTTP client could be made: {reason}")]
    Client {
        /// What is wrong.
        reason: String,
    },
}

/// Opens a model by name: `demo`, `script:FILE`, or PROVIDER/NAME such as `openai/gpt-4o`. A known model of a
/// known provider may go without the PROVIDER.
pub fn open(name: &str, settings: &ModelSettings) -> Result<Arc<dyn Model>, OpenModelError> {
    if name == "demo" {
        return Ok(Arc::new(DemoModel::new()));
    }
    if let Some(file) = name.strip_prefix("script:") {
        return Ok(Arc::new(ScriptModel::read(Path::new(file))?));
    }
    let (provider, wire_name) = provider_of(name).ok_or_else(|| OpenModelError::UnknownName {
        name: name.to_owned(),
        guess: guess(name),
    })?;
    // A key read from a file often ends with a line break.
    let api_key = settings.api_key.as_ref().map(|key| key.expose().trim());
    let api_key = api_key
        .filter(|key| !key.is_empty())
        .map(|key| Secret::new(key.to_owned()));
    if let (None, None, Some(variable)) = (&api_key, &settings.base_url, provider.key_variable) {
        return Err(OpenModelError::MissingKey {
            name: name.to_owned(),
            variable,
        });
    }
    let profile = profile(name, settings);
    let base = address_of(provider, settings)?;
    let client = http::new_client(settings.connect_timeout).map_err(|error| OpenModelError::Client {
        reason: error.to_string(),
    })?;
    let api: Arc<dyn Api> = match provider.wire {
        Wire::Chat(dialect) => Arc::new(ChatApi {
            wire_name: wire_name.to_owned(),
            dialect,
            url: chat::address(&base),
            api_key: api_key.clone(),
            max_output: profile.max_output,
            accepts_images: profile.accepts_images,
        }),
        Wire::Gemini => Arc::new(GeminiApi {
            url: gemini::address(&base, wire_name),
            api_key: api_key.clone(),
            max_output: profile.max_output,
            accepts_images: profile.accepts_images,
            generation: Generation::of(wire_name),
        }),
        Wire::Ollama => {
            return Ok(Arc::new(OllamaModel {
                setup: Arc::new(ollama::Setup {
                    wire_name: wire_name.to_owned(),
                    base,
                    api_key,
                    client,
                    idle_timeout: settings.idle_timeout,
                    profile: ModelProfile {
                        prices: profile.prices.or(Some(Prices::FREE)),
                        ..profile
                    },
                    learned: OnceLock::new(),
                }),
            }));
        }
    };
    Ok(Arc::new(HttpModel {
        profile,
        api,
        client,
        idle_timeout: settings.idle_timeout,
        secrets: api_key.into_iter().collect(),
    }))
}

/// Where a provider's server is.
pub(crate) fn address_of(provider: &Provider, settings: &ModelSettings) -> Result<Url, OpenModelError> {
    let text = settings.base_url.as_deref().unwrap_or(provider.base_url);
    let address = match provider.wire {
        Wire::Ollama => ollama::address(text),
        Wire::Chat(_) | Wire::Gemini => text.to_owned(),
    };
    http::base_address(&address).map_err(|error| OpenModelError::BadBaseUrl {
        reason: error.to_string(),
    })
}

/// The environment variable that a model's provider has its server's address in, for who reads the environment.
pub fn address_variable(name: &str) -> Option<&'static str> {
    match provider_of(name)?.0.wire {
        Wire::Ollama => Some("OLLAMA_HOST"),
        Wire::Chat(_) | Wire::Gemini => None,
    }
}

/// The environment variable that a model's provider has its key in, for who reads the environment.
pub fn key_variable(name: &str) -> Option<&'static str> {
    provider_of(name)?.0.key_variable
}

/// Who offers the model, and the name it goes by there.
pub(crate) fn provider_of(name: &str) -> Option<(&'static Provider, &str)> {
    match name.split_once('/') {
        Some((provider, rest)) if !rest.is_empty() => Some((Provider::named(provider)?, rest)),
        Some(_) => None,
        None => Some((Provider::named(&catalog::look_up(name)?.provider)?, name)),
    }
}

fn profile(name: &str, settings: &ModelSettings) -> ModelProfile {
    let known = catalog::look_up(name);
    let context_window = known.as_ref().and_then(|entry| entry.context_window);
    let max_output = known.as_ref().and_then(|entry| entry.max_output).map(|limit| {
        // Some rows give the whole window as the limit of the output: that leaves no room for a prompt.
        let limit = match context_window {
            Some(window) if limit >= window => Tokens(window.0 / 2),
            _ => limit,
        };
        match settings.base_url {
            Some(_) => limit.min(MAX_OUTPUT_ELSEWHERE),
            None => limit,
        }
    });
    ModelProfile {
        name: name.to_owned(),
        context_window,
        max_output,
        prices: known.as_ref().and_then(|entry| entry.prices),
        // A model nobody knows is given the images: the user who sends them should know.
        accepts_images: known.as_ref().is_none_or(|entry| entry.accepts_images),
    }
}

fn provider_names() -> String {
    PROVIDERS
        .iter()
        .map(|provider| provider.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The nearest name that would be understood, if one is near.
fn guess(name: &str) -> Option<String> {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    let distance = |known: &str| strsim::damerau_levenshtein(&first.to_lowercase(), known);
    if rest.is_empty() {
        return (distance("demo") <= MAX_TYPOS).then(|| "demo".to_owned());
    }
    let nearest = PROVIDERS.iter().min_by_key(|provider| distance(provider.name))?;
    (distance(nearest.name) <= MAX_TYPOS).then(|| format!("{}/{rest}", nearest.name))
}
