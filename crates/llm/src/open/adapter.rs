//! From a provider to the adapter that speaks its wire format.

use std::sync::Arc;
use std::time::Duration;

use deft_net::admits;
use deft_types::{Secret, is_public};
use reqwest::Url;

use super::{ModelSettings, OpenModelError, Reach, no_client, secrets};
use crate::anthropic::{self, AnthropicApi};
use crate::api::Api;
use crate::azure;
use crate::bedrock::BedrockApi;
use crate::chat::ChatApi;
use crate::claude::Thinking;
use crate::gemini::GeminiApi;
use crate::http::{self, HttpModel};
use crate::ollama::{self, OllamaModel};
use crate::openai::{self, Endpoint};
use crate::provider::{Dialect, Provider, Wire};
use crate::responses::ResponsesApi;
use crate::{Model, ModelProfile};

/// How long a server on one's own machine may be silent before its answer: it may have to load the model first, and
/// to ask again would make it begin again.
const LOADING_TIMEOUT: Duration = Duration::from_mins(10);

/// The model behind its provider's wire format.
pub(super) fn set_up(
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
    let head_timeout = match settings.head_timeout {
        Some(timeout) => timeout,
        None if provider.is_local() => settings.idle_timeout.max(LOADING_TIMEOUT),
        None => settings.idle_timeout,
    };
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
                takes_cache_marks: profile.capabilities.explicit_cache_markers,
                thinking: Thinking::of(
                    profile.capabilities.thinking,
                    settings.extended_thinking_budget,
                    max_output,
                ),
                tuning: tuning(),
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
                head_timeout,
                secrets,
                tuning: settings.tuning.clone(),
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
        head_timeout,
        secrets,
        subscription: None,
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
    admitted(&address, settings.reach)
}

/// An address, if it can be read and may be reached.
pub(crate) fn admitted(address: &str, reach: Reach) -> Result<Url, OpenModelError> {
    let bad = |reason: String| OpenModelError::BadBaseUrl { reason };
    let address = http::base_address(address).map_err(|error| bad(error.to_string()))?;
    match reach {
        Reach::Public if !admits(&address, is_public) => Err(bad(
            "only an admin may name addresses that are not on the public internet: they are reached by the server itself"
                .to_owned(),
        )),
        Reach::Public | Reach::Anywhere => Ok(address),
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
