//! A model as a client of the server describes it: the `llm` object of a conversation's agent.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use deft_llm::{
    ApiMode, AwsKeys, AwsRole, AwsSettings, Finding, KnownCapabilities, Model, ModelSettings, Prices, Reach,
    Subscription, ThinkingMode, Tuning,
};
use deft_server::ClientModel;
use deft_types::{Money, Secret, Tokens};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::compose;
use crate::settings::{MODELS_IN_FILES, Settings};

/// What clients send where they have nothing to say about it.
const DEFAULT_THINKING_BUDGET: u64 = 200_000;
/// Seconds, of the same kind.
const DEFAULT_WAIT: f64 = 300.0;
/// The most that a client can have us wait, in seconds.
const MAX_WAIT: f64 = 24.0 * 3600.0;

/// The fields that we understand. Clients send many more.
#[derive(Deserialize)]
struct Llm {
    model: String,
    model_canonical_name: Option<String>,
    auth_type: Option<AuthType>,
    api_key: Option<Secret<String>>,
    base_url: Option<String>,
    api_version: Option<String>,
    api_mode: Option<ApiMode>,
    extra_headers: Option<BTreeMap<String, Secret<String>>>,
    num_retries: Option<u32>,
    retry_min_wait: Option<u64>,
    retry_max_wait: Option<u64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    /// The contract lets it have a fraction.
    top_k: Option<f64>,
    seed: Option<i64>,
    reasoning_effort: Option<String>,
    reasoning_summary: Option<String>,
    extended_thinking_budget: Option<i64>,
    max_input_tokens: Option<u64>,
    max_output_tokens: Option<u64>,
    input_cost_per_token: Option<f64>,
    output_cost_per_token: Option<f64>,
    native_tool_calling: Option<bool>,
    timeout: Option<u64>,
    stream_idle_timeout: Option<f64>,
    disable_vision: Option<bool>,
    disable_stop_word: Option<bool>,
    force_string_serializer: Option<bool>,
    inline_image_urls: Option<bool>,
    caching_prompt: Option<bool>,
    /// How long a provider is asked to keep what it knows of a prompt; null: it is not asked.
    #[serde(default = "usual_retention")]
    prompt_cache_retention: Option<String>,
    #[serde(default)]
    capability_overrides: Overrides,
    #[serde(default)]
    litellm_extra_body: Option<Map<String, Value>>,
    aws_region_name: Option<String>,
    aws_access_key_id: Option<String>,
    aws_secret_access_key: Option<Secret<String>>,
    aws_session_token: Option<Secret<String>>,
    aws_profile_name: Option<String>,
    aws_role_name: Option<String>,
    aws_session_name: Option<String>,
    aws_bedrock_runtime_endpoint: Option<String>,
}

/// What a client says of a model's abilities. Other names mean nothing, as in the contract.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Overrides {
    supports_reasoning_effort: Option<bool>,
    thinking_mode: Option<ThinkingWord>,
    supports_sampling_params: Option<bool>,
    supports_prompt_cache: Option<bool>,
    supports_prompt_cache_key: Option<bool>,
    supports_prompt_cache_retention: Option<bool>,
    supports_stop_words: Option<bool>,
    supports_responses_api: Option<bool>,
    supports_vision: Option<bool>,
    force_string_serializer: Option<bool>,
    send_reasoning_content: Option<bool>,
    requires_inline_image_data: Option<bool>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ThinkingWord {
    Adaptive,
    Manual,
    None,
    Unknown,
}

/// What pays for it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AuthType {
    ApiKey,
    Subscription,
}

impl Llm {
    fn read(wanted: &ClientModel) -> anyhow::Result<Self> {
        let mut llm = Self::deserialize(&wanted.llm).context("the settings of the model cannot be read")?;
        // It is the address by another name, and only models on AWS have it.
        let endpoint = llm.aws_bedrock_runtime_endpoint.take();
        llm.base_url = llm
            .base_url
            .or(endpoint.filter(|_| llm.model.starts_with("bedrock/")));
        Ok(llm)
    }
}

/// Opens it. A name of the user's own stands for all that the user's settings say of it.
pub(crate) fn open(wanted: &ClientModel, settings: &Settings) -> anyhow::Result<Arc<dyn Model>> {
    let llm = Llm::read(wanted)?;
    if settings.models.contains_key(&llm.model) {
        return Ok(compose::open_model(&llm.model, settings)?.model);
    }
    Ok(deft_llm::open(&llm.model, &reached_by(&llm, wanted, settings)?)?)
}

/// Tries it out, layer by layer.
pub(crate) async fn check(wanted: &ClientModel, settings: &Settings) -> anyhow::Result<Vec<Finding>> {
    let llm = Llm::read(wanted)?;
    let (name, reached) = if settings.models.contains_key(&llm.model) {
        compose::reached(&llm.model, settings)
    } else {
        (llm.model.clone(), reached_by(&llm, wanted, settings)?)
    };
    let mut findings = Vec::new();
    deft_llm::check(&name, &reached, |finding| findings.push(finding.clone())).await;
    Ok(findings)
}

/// How a model is reached that is none of our own. Who may not name every address may not name files either.
fn reached_by(llm: &Llm, wanted: &ClientModel, settings: &Settings) -> anyhow::Result<ModelSettings> {
    let is_file = MODELS_IN_FILES.iter().any(|start| llm.model.starts_with(start));
    anyhow::ensure!(
        !is_file || wanted.reach == Reach::Anywhere,
        "only an admin may name models that are files of the server"
    );
    let ours = compose::reached_by_client(&llm.model, settings);
    let variable = |name: &str| std::env::var(name).ok();
    Ok(ModelSettings {
        reach: reach(llm, wanted, settings),
        aws: aws(llm, wanted.reach, ours.aws.as_ref(), variable)?,
        ..reached(llm, ours, &wanted.subscription)
    })
}

/// Where its server may be: those that our own settings name are for everybody.
fn reach(llm: &Llm, wanted: &ClientModel, settings: &Settings) -> Reach {
    let named = llm.base_url.as_deref();
    let all = settings.models.values().map(|model| model.base_url.as_ref());
    let mut ours = all.chain([settings.base_url.value.as_ref()]).flatten();
    let is_theirs = named.is_some_and(|named| {
        ours.all(|ours| ours.as_str().trim_end_matches('/') != named.trim_end_matches('/'))
    });
    if is_theirs && !matches!(llm.auth_type, Some(AuthType::Subscription)) {
        wanted.reach
    } else {
        Reach::Anywhere
    }
}

/// `ours` is how the server would reach the model by itself; `subscription` pays where the client wants it to.
fn reached(llm: &Llm, ours: ModelSettings, subscription: &Arc<dyn Subscription>) -> ModelSettings {
    let subscription = match llm.auth_type {
        Some(AuthType::Subscription) => Some(Arc::clone(subscription)),
        Some(AuthType::ApiKey) | None => None,
    };
    // Our key is meant for the address that we know: never for one that a client names.
    let api_key = match (&subscription, &llm.base_url) {
        (Some(_), _) => None,
        (None, None) => llm.api_key.clone().or_else(|| ours.api_key.clone()),
        (None, Some(_)) => llm.api_key.clone(),
    };
    let base_url = match &subscription {
        Some(subscription) => Some(subscription.backend()), // a token goes nowhere else
        None => llm.base_url.clone().or_else(|| ours.base_url.clone()),
    };
    let budget = llm
        .extended_thinking_budget
        .and_then(|budget| u64::try_from(budget).ok())
        .filter(|budget| *budget != DEFAULT_THINKING_BUDGET);
    ModelSettings {
        api_key,
        base_url,
        api_version: llm.api_version.clone(),
        api_mode: llm.api_mode.unwrap_or_default(),
        extra_headers: llm
            .extra_headers
            .clone()
            .unwrap_or_default()
            .into_iter()
            .collect(),
        extended_thinking_budget: budget.map(Tokens),
        known_as: llm.model_canonical_name.clone(),
        prices: prices(llm),
        capability_overrides: capabilities(llm),
        idle_timeout: seconds(llm.stream_idle_timeout).unwrap_or(ours.idle_timeout),
        head_timeout: seconds(llm.timeout.and_then(|timeout| u32::try_from(timeout).ok()))
            .or(ours.head_timeout),
        retry: deft_llm::RetryPolicy {
            attempts: llm
                .num_retries
                .map_or(ours.retry.attempts, |retries| retries.saturating_add(1)),
            first_wait: llm
                .retry_min_wait
                .map_or(ours.retry.first_wait, Duration::from_secs),
            longest_wait: llm
                .retry_max_wait
                .map_or(ours.retry.longest_wait, Duration::from_secs),
            ..ours.retry.clone()
        },
        tuning: Tuning {
            reasoning_effort: llm.reasoning_effort.clone(),
            reasoning_summary: llm.reasoning_summary.clone(),
            temperature: llm.temperature,
            top_p: llm.top_p,
            top_k: llm.top_k.map(whole),
            seed: llm.seed,
            context_window: llm.max_input_tokens.map(Tokens),
            max_output: llm.max_output_tokens.map(Tokens),
            extra_body: llm.litellm_extra_body.clone().unwrap_or_default(),
            stop: Vec::new(),
        },
        subscription,
        ..ours
    }
}

/// What was said of a wait. The contract's usual one is sent by clients who have nothing to say, and none would be for ever.
fn seconds(said: Option<impl Into<f64>>) -> Option<Duration> {
    let said = said.map(Into::into);
    let said = said.filter(|seconds| *seconds > 0.0 && (*seconds - DEFAULT_WAIT).abs() > f64::EPSILON);
    said.map(|seconds| Duration::from_secs_f64(seconds.min(MAX_WAIT)))
}

/// What the client says that the model can do. What is switched off stays so, whatever else is said.
fn capabilities(llm: &Llm) -> KnownCapabilities {
    let said = &llm.capability_overrides;
    let off = |is_off: Option<bool>| (is_off == Some(true)).then_some(false);
    let uncached = off(llm.caching_prompt.map(|caches| !caches));
    KnownCapabilities {
        native_tool_calls: llm.native_tool_calling.filter(|native| !native),
        vision: off(llm.disable_vision).or(said.supports_vision),
        reasoning_effort: said.supports_reasoning_effort,
        thinking: said.thinking_mode.and_then(|word| match word {
            ThinkingWord::Adaptive => Some(ThinkingMode::Adaptive),
            ThinkingWord::Manual => Some(ThinkingMode::Manual),
            ThinkingWord::None => Some(ThinkingMode::None),
            ThinkingWord::Unknown => None,
        }),
        sampling: said.supports_sampling_params,
        explicit_cache_markers: uncached.or(said.supports_prompt_cache),
        prompt_cache_key: uncached.or(said.supports_prompt_cache_key),
        prompt_cache_retention: uncached
            .or(off(Some(llm.prompt_cache_retention.is_none())))
            .or(said.supports_prompt_cache_retention),
        stop_words: off(llm.disable_stop_word).or(said.supports_stop_words),
        responses_api: said.supports_responses_api,
        string_only_content: llm.force_string_serializer.or(said.force_string_serializer),
        send_reasoning_back: said.send_reasoning_content,
        inline_images: llm.inline_image_urls.or(said.requires_inline_image_data),
        ..KnownCapabilities::default()
    }
}

/// What counts for clients who say nothing of it.
#[allow(clippy::unnecessary_wraps)] // it stands for a field that may be null
fn usual_retention() -> Option<String> {
    Some("24h".to_owned())
}

fn prices(llm: &Llm) -> Option<Prices> {
    let money = |dollars: Option<f64>| Money::try_from(dollars?).ok();
    let input = money(llm.input_cost_per_token)?;
    Some(Prices::flat(input, money(llm.output_cost_per_token)?))
}

/// Who asks on AWS: whom the client says, or else we, though not at an address that the client names. Files of the
/// server, and roles that its own keys may take on, are for those who may have it reach everything.
fn aws(
    llm: &Llm,
    reach: Reach,
    ours: Option<&AwsSettings>,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<AwsSettings>> {
    let keys = llm
        .aws_access_key_id
        .clone()
        .zip(llm.aws_secret_access_key.clone());
    let keys = keys.map(|(access_key_id, secret_access_key)| AwsKeys {
        access_key_id,
        secret_access_key,
        session_token: llm.aws_session_token.clone(),
    });
    let region = llm.aws_region_name.clone();
    let (profile, role) = (llm.aws_profile_name.as_deref(), llm.aws_role_name.clone());
    let is_ours = profile.is_some() || (role.is_some() && keys.is_none());
    anyhow::ensure!(
        !is_ours || reach == Reach::Anywhere,
        "only an admin may name profiles of AWS on the server, or roles for its own keys"
    );
    let of_profile = profile.map(|name| AwsSettings::from_profile(name, &variable));
    let of_profile = of_profile.transpose()?;
    let ours = ours.filter(|_| llm.base_url.is_none());
    let said = keys.is_some() || region.is_some() || role.is_some();
    let mut aws = match of_profile.or_else(|| ours.filter(|_| keys.is_none()).cloned()) {
        Some(aws) => aws,
        None if said => AwsSettings::default(),
        None => return Ok(None),
    };
    aws.region = region.or(aws.region);
    aws.keys = keys.or(aws.keys);
    aws.role = role
        .map(|arn| AwsRole::new(arn, llm.aws_session_name.clone(), &variable))
        .or(aws.role);
    Ok(Some(aws))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // what does not fit becomes the nearest that does
fn whole(number: f64) -> u64 {
    number.round() as u64
}
