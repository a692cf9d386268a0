//! From a model's name to the model.

mod adapter;
mod error;
mod settings;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use deft_types::{Secret, Tokens};

use self::adapter::set_up;
pub(crate) use self::adapter::{address_of, admitted};
pub use self::error::OpenModelError;
pub use self::settings::{ApiMode, ModelSettings, Reach};
use crate::bedrock::{AwsSettings, RoleModel};
use crate::capabilities::{Home, Subject};
use crate::cassette::{CassetteError, RecordModel, ReplayModel};
use crate::catalog::{self, Entry};
use crate::chatgpt;
use crate::demo::DemoModel;
use crate::images::{Fetcher, ImagesModel};
use crate::learning::LearningModel;
use crate::own_server::{Behind, OwnServerModel};
use crate::prompted::PromptedModel;
use crate::provider::{Dialect, PROVIDERS, Provider, Wire};
use crate::retry::with_retries;
use crate::script::ScriptModel;
use crate::secrets::Secrets;
use crate::{Model, ModelProfile};

/// What a server at an address of the user's choice is asked to write at most: it may well be a smaller one
/// than the model's name promises.
const MAX_OUTPUT_ELSEWHERE: Tokens = Tokens(16_384);

/// A name with more wrong letters than this is not a misspelling.
const MAX_TYPOS: usize = 2;

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
    let model = build(name, settings)?;
    Ok(match provider_of(name).map(|(provider, _)| provider.wire) {
        Some(Wire::Chat(Dialect::Local(kind))) => Arc::new(LearningModel::new(name, kind, settings, model)),
        Some(_) | None => model,
    })
}

/// A provider's model as far as it is known without asking its server.
pub(crate) fn build(name: &str, settings: &ModelSettings) -> Result<Arc<dyn Model>, OpenModelError> {
    if let Some(subscription) = &settings.subscription {
        return chatgpt::open(name, settings, subscription);
    }
    if let Some(aws) = &settings.aws
        && let Some(role) = &aws.role
        && provider_of(name).is_some_and(|(provider, _)| provider.wire == Wire::Bedrock)
    {
        return Ok(Arc::new(RoleModel::new(name, settings, aws, role)?));
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
    dressed(model, provider, settings)
}

/// The model with what it lacks: images of the right size, and tool calls in words.
pub(crate) fn dressed(
    model: Arc<dyn Model>,
    provider: &Provider,
    settings: &ModelSettings,
) -> Result<Arc<dyn Model>, OpenModelError> {
    let can = model.profile().capabilities;
    let fetcher = if can.inline_images {
        let tls = deft_net::tls(settings.ca_file.as_deref()).map_err(|error| no_client(&error))?;
        Some(Fetcher::new(tls).map_err(|error| no_client(&error))?)
    } else {
        None
    };
    let model = Arc::new(ImagesModel::new(model, fetcher, provider.wire.max_image_bytes()));
    // Of Ollama's models only their server knows, so theirs is decided once it has been asked.
    Ok(if provider.wire == Wire::Ollama {
        model
    } else if !can.native_tool_calls {
        Arc::new(PromptedModel(model))
    } else if let Some(behind) = behind(provider, settings) {
        Arc::new(OwnServerModel::new(model, behind))
    } else {
        model
    })
}

/// Who may be behind an address that the user gives. None: a provider that is known to call tools as it should, or the
/// user says how it is.
fn behind(provider: &Provider, settings: &ModelSettings) -> Option<Behind> {
    let is_said =
        settings.capability_overrides.native_tool_calls.is_some() || settings.subscription.is_some();
    match provider.wire {
        _ if is_said => None,
        _ if provider.is_local() => Some(Behind::OwnServer),
        Wire::Chat(Dialect::OpenAi | Dialect::Compatible) if settings.base_url.is_some() => {
            Some(Behind::Anybody)
        }
        _ => None,
    }
}

pub(crate) fn no_client(error: &dyn std::error::Error) -> OpenModelError {
    OpenModelError::Client {
        reason: error.to_string(),
    }
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

/// What must not be shown. A short value is no secret, and would blot out half a message.
fn secrets(settings: &ModelSettings) -> Secrets {
    let headers = settings.extra_headers.iter().map(|(_, value)| value.clone());
    let values = api_key(settings)
        .into_iter()
        .chain(headers)
        .chain(settings.aws.iter().flat_map(AwsSettings::secrets));
    Secrets::new(values)
}

/// Who offers the model, and the name it goes by there.
pub(crate) fn provider_of(name: &str) -> Option<(&'static Provider, &str)> {
    match name.split_once('/') {
        Some((provider, rest)) if !rest.is_empty() => Some((Provider::named(provider)?, rest)),
        Some(_) => None,
        None => Some((Provider::named(&catalog::look_up(name)?.provider)?, name)),
    }
}

pub(crate) fn profile(
    name: &str,
    wire_name: &str,
    provider: &Provider,
    settings: &ModelSettings,
) -> ModelProfile {
    let known = catalog::look_up(settings.known_as.as_deref().unwrap_or(name));
    let subject = subject(wire_name, provider, settings, known.as_ref());
    let context_window = known.as_ref().and_then(|entry| entry.context_window);
    let known_output = known.as_ref().and_then(|entry| entry.max_output).map(|limit| {
        // Some rows give the whole window as the limit of the output: that leaves no room for a prompt.
        let limit = match context_window {
            Some(window) if limit >= window => Tokens(window.0 / 2),
            _ => limit,
        };
        match subject.home {
            Home::Elsewhere => limit.min(MAX_OUTPUT_ELSEWHERE),
            Home::Provider => limit,
        }
    });
    ModelProfile {
        name: name.to_owned(),
        context_window: settings.tuning.context_window.or(context_window),
        max_output: settings.tuning.max_output.or(known_output),
        prices: settings.prices.or_else(|| {
            // A server of one's own does not ask what somebody else does for a model of that name.
            let known = known.as_ref();
            let known = known.filter(|entry| !provider.is_local() || entry.provider == provider.name);
            known.and_then(|entry| entry.prices)
        }),
        capabilities: subject.capabilities(),
    }
}

/// Whom to ask what the model can do.
pub(crate) fn subject<'a>(
    wire_name: &'a str,
    provider: &'a Provider,
    settings: &'a ModelSettings,
    entry: Option<&'a Entry>,
) -> Subject<'a> {
    let mut overrides = settings.capability_overrides;
    match settings.api_mode {
        ApiMode::Auto => {}
        ApiMode::Chat => overrides.responses_api = Some(false),
        ApiMode::Responses => overrides.responses_api = Some(true),
    }
    let known_as = settings.known_as.as_deref();
    Subject {
        provider,
        wire_name: known_as.map_or(wire_name, |known| {
            known.split_once('/').map_or(known, |(_, name)| name)
        }),
        home: match settings.base_url {
            Some(_) if !provider.base_url.is_empty() => Home::Elsewhere,
            _ => Home::Provider,
        },
        overrides,
        discovered: settings.discovered,
        entry,
    }
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
