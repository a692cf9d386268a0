//! From a model's name to the model.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deft_types::{Secret, Tokens};
use reqwest::Url;
use serde::Deserialize;

use crate::anthropic::{self, AnthropicApi};
use crate::api::Api;
use crate::azure;
use crate::bedrock::{AwsSettings, BedrockApi};
use crate::capabilities::{Home, Subject};
use crate::cassette::{CassetteError, RecordModel, ReplayModel};
use crate::catalog;
use crate::chat::ChatApi;
use crate::claude::Thinking;
use crate::demo::DemoModel;
use crate::gemini::GeminiApi;
use crate::http::{self, HttpModel};
use crate::images::{Fetcher, ImagesModel};
use crate::ollama::{self, OllamaModel};
use crate::openai::{self, Endpoint};
use crate::prompted::PromptedModel;
use crate::provider::{Dialect, PROVIDERS, Provider, Wire};
use crate::responses::ResponsesApi;
use crate::retry::{RetryPolicy, with_retries};
use crate::script::{ScriptError, ScriptModel};
use crate::{KnownCapabilities, Model, ModelProfile, Prices, Proxies, Tuning};

/// What a server at an address of the user's choice is asked to write at most: it may well be a smaller one
/// than the model's name promises.
const MAX_OUTPUT_ELSEWHERE: Tokens = Tokens(16_384);

/// A name with more wrong letters than this is not a misspelling.
const MAX_TYPOS: usize = 2;

/// A shorter value is no secret.
const MIN_SECRET_BYTES: usize = 8;

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
    /// When and how often to ask again.
    pub retry: RetryPolicy,
    /// What its tokens cost, where the user knows better than the built-in table.
    pub prices: Option<Prices>,
    /// The proxies between this machine and the server.
    pub proxies: Proxies,
    /// A file with certificates, in PEM form, to trust beside the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// Headers to send with each request.
    pub extra_headers: Vec<(String, Secret<String>)>,
    /// Which of OpenAI's APIs a model is asked by.
    pub api_mode: ApiMode,
    /// The version of Azure's API, if not the usual one.
    pub api_version: Option<String>,
    /// How the model is asked to answer.
    pub tuning: Tuning,
    /// What the user says the model can do.
    pub capability_overrides: KnownCapabilities,
    /// What the model's server says it can do, where it was asked.
    pub discovered: KnownCapabilities,
    /// Region and keys for models on AWS Bedrock.
    pub aws: Option<AwsSettings>,
    /// How many tokens a Claude model with a fixed budget may reason before it answers; zero: any Claude model
    /// answers at once. `None`: half of its output.
    pub extended_thinking_budget: Option<Tokens>,
}

/// Which of OpenAI's APIs a model is asked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiMode {
    /// The one that suits the model.
    #[default]
    Auto,
    /// The chat API.
    Chat,
    /// The Responses API.
    Responses,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            api_key: None,
            base_url: None,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(2),
            retry: RetryPolicy::default(),
            prices: None,
            proxies: Proxies::default(),
            ca_file: None,
            extra_headers: Vec::new(),
            api_mode: ApiMode::default(),
            api_version: None,
            tuning: Tuning::default(),
            capability_overrides: KnownCapabilities::default(),
            discovered: KnownCapabilities::default(),
            aws: None,
            extended_thinking_budget: None,
        }
    }
}

/// Why a model could not be opened. The person changes a setting.
#[derive(Debug, thiserror::Error)]
pub enum OpenModelError {
    /// The name means nothing to us.
    #[error(
        "unknown model `{name}`.{} A model is `demo`, `script:FILE`, `replay:FILE`, `record:FILE:MODEL`, or PROVIDER/NAME where PROVIDER is one of {}. \
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
    /// A model on AWS lacks something.
    #[error("`{name}` needs {what}")]
    MissingAws {
        /// What was asked for.
        name: String,
        /// What is missing, and how it is set.
        what: &'static str,
    },
    /// The base address is none.
    #[error("`LLM_BASE_URL` must be an address such as `http://localhost:8000/v1`: {reason}")]
    BadBaseUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The provider has no address that serves everybody.
    #[error(
        "`{name}` needs the address of your own resource: set `LLM_BASE_URL`, such as `https://RESOURCE.openai.azure.com`"
    )]
    MissingBaseUrl {
        /// What was asked for.
        name: String,
    },
    /// The script cannot be read.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The cassette cannot be used.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// No HTTP client could be made on this machine.
    #[error("no HTTP client could be made: {reason}")]
    Client {
        /// What is wrong.
        reason: String,
    },
}

/// Opens a model by name: `demo`, `script:FILE`, `replay:FILE`, `record:FILE:MODEL`, or PROVIDER/NAME such as
/// `openai/gpt-4o`. A known model of a known provider may go without the PROVIDER.
pub fn open(name: &str, settings: &ModelSettings) -> Result<Arc<dyn Model>, OpenModelError> {
    let model = open_once(name, settings)?;
    // Scripted failures are there to be seen, and what is recorded has had its retries.
    let is_remote = name != "demo"
        && !["script:", "record:", "replay:"]
            .iter()
            .any(|kind| name.starts_with(kind));
    Ok(if is_remote {
        with_retries(model, settings.retry.clone())
    } else {
        model
    })
}

fn open_once(name: &str, settings: &ModelSettings) -> Result<Arc<dyn Model>, OpenModelError> {
    if name == "demo" {
        return Ok(Arc::new(DemoModel::new()));
    }
    if let Some(file) = name.strip_prefix("script:") {
        return Ok(Arc::new(ScriptModel::read(Path::new(file))?));
    }
    if let Some(file) = name.strip_prefix("replay:") {
        return Ok(Arc::new(ReplayModel::open(name, Path::new(file))?));
    }
    if let Some(rest) = name.strip_prefix("record:") {
        let (file, inner) = rest.split_once(':').ok_or_else(|| CassetteError::Name {
            name: name.to_owned(),
        })?;
        let recorded = RecordModel::open(name, Path::new(file), open(inner, settings)?, secrets(settings))?;
        return Ok(Arc::new(recorded));
    }
    let (provider, wire_name) = provider_of(name).ok_or_else(|| OpenModelError::UnknownName {
        name: name.to_owned(),
        guess: guess(name),
    })?;
    let api_key = api_key(settings);
    if let (None, None, Some(variable)) = (&api_key, &settings.base_url, provider.key_variable)
        && provider.wire != Wire::Bedrock
    {
        return Err(OpenModelError::MissingKey {
            name: name.to_owned(),
            variable,
        });
    }
    let profile = profile(name, wire_name, provider, settings);
    let model = set_up(name, wire_name, provider, profile, api_key, settings)?;
    dressed(model, settings)
}

/// The model with what it lacks: images of the right size, and tool calls in words.
fn dressed(model: Arc<dyn Model>, settings: &ModelSettings) -> Result<Arc<dyn Model>, OpenModelError> {
    let can = model.profile().capabilities;
    let fetcher = if can.inline_images {
        let tls = http::tls(settings.ca_file.as_deref()).map_err(|error| no_client(&error))?;
        Some(Fetcher::new(tls).map_err(|error| no_client(&error))?)
    } else {
        None
    };
    let model = Arc::new(ImagesModel::new(model, fetcher));
    Ok(if can.native_tool_calls {
        model
    } else {
        Arc::new(PromptedModel(model))
    })
}

fn no_client(error: &dyn std::error::Error) -> OpenModelError {
    OpenModelError::Client {
        reason: error.to_string(),
    }
}

/// The model behind its provider's wire format.
fn set_up(
    name: &str,
    wire_name: &str,
    provider: &Provider,
    profile: ModelProfile,
    api_key: Option<Secret<String>>,
    settings: &ModelSettings,
) -> Result<Arc<dyn Model>, OpenModelError> {
    let client = http::new_client(settings).map_err(|error| no_client(&error))?;
    let secrets = secrets(settings);
    let base = || address_of(name, provider, settings);
    let tuning = || settings.tuning.clone().for_model(&profile.capabilities);
    let api: Arc<dyn Api> = match provider.wire {
        Wire::Chat(dialect) => {
            let endpoint = Endpoint {
                wire_name: wire_name.to_owned(),
                dialect,
                url: address(&base()?, wire_name, dialect, &profile, settings),
                api_key,
                max_output: profile.max_output,
                capabilities: profile.capabilities,
                tuning: tuning(),
            };
            if profile.capabilities.responses_api {
                Arc::new(ResponsesApi(endpoint))
            } else {
                Arc::new(ChatApi(endpoint))
            }
        }
        Wire::Anthropic => {
            let max_output = profile.max_output.unwrap_or(anthropic::DEFAULT_MAX_OUTPUT);
            Arc::new(AnthropicApi {
                wire_name: wire_name.to_owned(),
                url: anthropic::address(&base()?),
                api_key,
                max_output,
                accepts_images: profile.capabilities.vision,
                thinking: Thinking::of(
                    profile.capabilities.thinking,
                    settings.extended_thinking_budget,
                    max_output,
                ),
            })
        }
        Wire::Bedrock => Arc::new(BedrockApi::new(
            wire_name,
            provider.base_url,
            api_key,
            settings,
            &profile,
        )?),
        Wire::Gemini => Arc::new(GeminiApi::new(&base()?, wire_name, api_key, tuning(), &profile)),
        Wire::Ollama => {
            let setup = ollama::Setup {
                wire_name: wire_name.to_owned(),
                base: base()?,
                api_key,
                client,
                idle_timeout: settings.idle_timeout,
                secrets,
                tuning: tuning(),
                overrides: settings.capability_overrides,
            };
            return Ok(Arc::new(OllamaModel::new(setup, profile)));
        }
    };
    Ok(Arc::new(HttpModel {
        profile,
        api,
        client,
        idle_timeout: settings.idle_timeout,
        secrets,
    }))
}

/// Where a provider's server is.
pub(crate) fn address_of(
    name: &str,
    provider: &Provider,
    settings: &ModelSettings,
) -> Result<Url, OpenModelError> {
    let text = settings.base_url.as_deref().unwrap_or(provider.base_url);
    if text.is_empty() {
        return Err(OpenModelError::MissingBaseUrl {
            name: name.to_owned(),
        });
    }
    let address = match provider.wire {
        Wire::Ollama => ollama::address(text),
        Wire::Chat(_) | Wire::Anthropic | Wire::Bedrock | Wire::Gemini => text.to_owned(),
    };
    http::base_address(&address).map_err(|error| OpenModelError::BadBaseUrl {
        reason: error.to_string(),
    })
}

/// The environment variable that a model's provider has its server's address in, for who reads the environment.
pub fn address_variable(name: &str) -> Option<&'static str> {
    match provider_of(without_recorder(name))?.0.wire {
        Wire::Ollama => Some("OLLAMA_HOST"),
        Wire::Chat(_) | Wire::Anthropic | Wire::Bedrock | Wire::Gemini => None,
    }
}

/// The environment variable that a model's provider has its key in, for who reads the environment.
pub fn key_variable(name: &str) -> Option<&'static str> {
    provider_of(without_recorder(name))?.0.key_variable
}

/// The model that a recorder asks.
pub(crate) fn without_recorder(name: &str) -> &str {
    let recorded = name.strip_prefix("record:").and_then(|rest| rest.split_once(':'));
    recorded.map_or(name, |(_, model)| without_recorder(model))
}

/// The key, if there is one. A key read from a file often ends with a line break.
fn api_key(settings: &ModelSettings) -> Option<Secret<String>> {
    let key = settings.api_key.as_ref()?.expose().trim();
    (!key.is_empty()).then(|| Secret::new(key.to_owned()))
}

/// What must not be shown. A short value of a header is no secret, and would blot out half a message.
fn secrets(settings: &ModelSettings) -> Vec<Secret<String>> {
    let headers = settings.extra_headers.iter().map(|(_, value)| value.clone());
    api_key(settings)
        .into_iter()
        .chain(headers.filter(|value| value.expose().len() >= MIN_SECRET_BYTES))
        .chain(settings.aws.iter().flat_map(AwsSettings::secrets))
        .collect()
}

/// Who offers the model, and the name it goes by there.
pub(crate) fn provider_of(name: &str) -> Option<(&'static Provider, &str)> {
    match name.split_once('/') {
        Some((provider, rest)) if !rest.is_empty() => Some((Provider::named(provider)?, rest)),
        Some(_) => None,
        None => Some((Provider::named(&catalog::look_up(name)?.provider)?, name)),
    }
}

/// Where requests go.
fn address(
    base: &Url,
    wire_name: &str,
    dialect: Dialect,
    profile: &ModelProfile,
    settings: &ModelSettings,
) -> Url {
    let version = settings.api_version.as_deref();
    match (dialect, profile.capabilities.responses_api) {
        (Dialect::Azure, false) => azure::chat_address(base, wire_name, version),
        (Dialect::Azure, true) => azure::responses_address(base, version),
        (_, false) => openai::address(base, "chat/completions"),
        (_, true) => openai::address(base, "responses"),
    }
}

fn profile(name: &str, wire_name: &str, provider: &Provider, settings: &ModelSettings) -> ModelProfile {
    let known = catalog::look_up(name);
    let home = match settings.base_url {
        Some(_) if !provider.base_url.is_empty() => Home::Elsewhere,
        _ => Home::Provider,
    };
    let context_window = known.as_ref().and_then(|entry| entry.context_window);
    let known_output = known.as_ref().and_then(|entry| entry.max_output).map(|limit| {
        // Some rows give the whole window as the limit of the output: that leaves no room for a prompt.
        let limit = match context_window {
            Some(window) if limit >= window => Tokens(window.0 / 2),
            _ => limit,
        };
        match home {
            Home::Elsewhere => limit.min(MAX_OUTPUT_ELSEWHERE),
            Home::Provider => limit,
        }
    });
    let mut overrides = settings.capability_overrides;
    match settings.api_mode {
        ApiMode::Auto => {}
        ApiMode::Chat => overrides.responses_api = Some(false),
        ApiMode::Responses => overrides.responses_api = Some(true),
    }
    let subject = Subject {
        provider,
        wire_name,
        home,
        overrides,
        discovered: settings.discovered,
        entry: known.as_ref(),
    };
    ModelProfile {
        name: name.to_owned(),
        context_window,
        max_output: settings.tuning.max_output.or(known_output),
        prices: settings
            .prices
            .or_else(|| known.as_ref().and_then(|entry| entry.prices)),
        capabilities: subject.capabilities(),
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
