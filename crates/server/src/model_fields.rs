//! What a client says of a model.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::fields::{self, Kind, Null, Table};
use crate::validation::{Issue, Place};

const COUNT: Kind = Kind::Integer { least: Some(0) };
const SIZE: Kind = Kind::Integer { least: Some(1) };
const ANY_INTEGER: Kind = Kind::Integer { least: None };
const AMOUNT: Kind = Kind::Number { most: None };

/// The fields of the contract, in its order.
#[rustfmt::skip]
const FIELDS: &Table = &[
    ("model", Kind::Text, Null::Refused),
    ("api_key", Kind::SomeText, Null::Allowed),
    ("provider_connection_id", Kind::Text, Null::Allowed),
    ("auth_type", Kind::OneOf(&["api_key", "subscription"]), Null::Refused),
    ("subscription_vendor", Kind::OneOf(&["openai"]), Null::Allowed),
    ("base_url", Kind::Text, Null::Allowed),
    ("api_version", Kind::Text, Null::Allowed),
    ("aws_access_key_id", Kind::SomeText, Null::Allowed),
    ("aws_secret_access_key", Kind::SomeText, Null::Allowed),
    ("aws_session_token", Kind::SomeText, Null::Allowed),
    ("aws_region_name", Kind::Text, Null::Allowed),
    ("aws_profile_name", Kind::Text, Null::Allowed),
    ("aws_role_name", Kind::Text, Null::Allowed),
    ("aws_session_name", Kind::Text, Null::Allowed),
    ("aws_bedrock_runtime_endpoint", Kind::Text, Null::Allowed),
    ("openrouter_site_url", Kind::Text, Null::Refused),
    ("openrouter_app_name", Kind::Text, Null::Refused),
    ("num_retries", COUNT, Null::Refused),
    ("retry_multiplier", AMOUNT, Null::Refused),
    ("retry_min_wait", COUNT, Null::Refused),
    ("retry_max_wait", COUNT, Null::Refused),
    ("timeout", COUNT, Null::Allowed),
    ("stream_idle_timeout", AMOUNT, Null::Allowed),
    ("max_message_chars", SIZE, Null::Refused),
    ("temperature", AMOUNT, Null::Allowed),
    ("top_p", Kind::Number { most: Some(1.0) }, Null::Allowed),
    ("top_k", AMOUNT, Null::Allowed),
    ("max_input_tokens", SIZE, Null::Allowed),
    ("max_output_tokens", SIZE, Null::Allowed),
    ("model_canonical_name", Kind::Text, Null::Allowed),
    ("api_mode", Kind::OneOf(&["auto", "chat", "responses"]), Null::Refused),
    ("capability_overrides", Kind::Map, Null::Refused),
    ("extra_headers", Kind::Texts, Null::Allowed),
    ("input_cost_per_token", AMOUNT, Null::Allowed),
    ("output_cost_per_token", AMOUNT, Null::Allowed),
    ("ollama_base_url", Kind::Text, Null::Allowed),
    ("stream", Kind::Switch, Null::Refused),
    ("drop_params", Kind::Switch, Null::Refused),
    ("disable_vision", Kind::Switch, Null::Allowed),
    ("disable_stop_word", Kind::Switch, Null::Allowed),
    ("caching_prompt", Kind::Switch, Null::Refused),
    ("log_completions", Kind::Switch, Null::Refused),
    ("log_completions_folder", Kind::Text, Null::Refused),
    ("custom_tokenizer", Kind::Text, Null::Allowed),
    ("native_tool_calling", Kind::Switch, Null::Refused),
    ("force_string_serializer", Kind::Switch, Null::Allowed),
    ("inline_image_urls", Kind::Switch, Null::Allowed),
    ("reasoning_effort", Kind::SomeText, Null::Allowed),
    ("reasoning_summary", Kind::OneOf(&["auto", "concise", "detailed"]), Null::Allowed),
    ("enable_encrypted_reasoning", Kind::Switch, Null::Refused),
    ("prompt_cache_retention", Kind::Text, Null::Allowed),
    ("extended_thinking_budget", ANY_INTEGER, Null::Allowed),
    ("seed", ANY_INTEGER, Null::Allowed),
    ("usage_id", Kind::Text, Null::Refused),
    ("litellm_extra_body", Kind::Map, Null::Refused),
];

/// Reads a model's settings, which stand at `place`.
pub(crate) fn read(place: Place, sent: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let is_named = |model: &Value| !model.is_null() && model != "";
    if !sent.get("model").is_some_and(is_named) {
        let whole = Value::Object(sent.clone());
        return Err(Issue::rule(place, "model must be specified in LLM", &whole).into());
    }
    let mut sent = sent.clone();
    // Who waits so long for an answer waits as long within it.
    if let (Some(timeout), false) = (sent.get("timeout"), sent.contains_key("stream_idle_timeout")) {
        sent.insert("stream_idle_timeout".to_owned(), timeout.clone());
    }
    fields::read(place, &sent, FIELDS)
}
