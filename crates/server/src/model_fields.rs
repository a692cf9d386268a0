//! What a client says of a model.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Object, Others, Table};
use crate::validation::{Issue, Place};

const COUNT: Kind = Kind::Integer { least: Some(0) };
const SIZE: Kind = Kind::Integer { least: Some(1) };
const ANY_INTEGER: Kind = Kind::Integer { least: None };
const SECRET: Kind = Kind::Hidden(&Kind::SomeText);
const AMOUNT: Kind = Kind::Number { most: None };

/// The fields of the contract, in its order.
#[rustfmt::skip]
pub(crate) const FIELDS: &Table = &[
    ("model", Kind::Text, Gap::Absent),
    ("api_key", SECRET, Gap::Null),
    ("provider_connection_id", Kind::Text, Gap::Null),
    ("auth_type", Kind::OneOf(&["api_key", "subscription"]), Gap::Absent),
    ("subscription_vendor", Kind::OneOf(&["openai"]), Gap::Null),
    ("base_url", Kind::Text, Gap::Null),
    ("api_version", Kind::Text, Gap::Null),
    ("aws_access_key_id", SECRET, Gap::Null),
    ("aws_secret_access_key", SECRET, Gap::Null),
    ("aws_session_token", SECRET, Gap::Null),
    ("aws_region_name", Kind::Text, Gap::Null),
    ("aws_profile_name", Kind::Text, Gap::Null),
    ("aws_role_name", Kind::Text, Gap::Null),
    ("aws_session_name", Kind::Text, Gap::Null),
    ("aws_bedrock_runtime_endpoint", Kind::Text, Gap::Null),
    ("openrouter_site_url", Kind::Text, Gap::Absent),
    ("openrouter_app_name", Kind::Text, Gap::Absent),
    ("num_retries", COUNT, Gap::Absent),
    ("retry_multiplier", AMOUNT, Gap::Absent),
    ("retry_min_wait", COUNT, Gap::Absent),
    ("retry_max_wait", COUNT, Gap::Absent),
    ("timeout", COUNT, Gap::Null),
    ("stream_idle_timeout", AMOUNT, Gap::Null),
    ("max_message_chars", SIZE, Gap::Absent),
    ("temperature", AMOUNT, Gap::Null),
    ("top_p", Kind::Number { most: Some(1.0) }, Gap::Null),
    ("top_k", AMOUNT, Gap::Null),
    ("max_input_tokens", SIZE, Gap::Null),
    ("max_output_tokens", SIZE, Gap::Null),
    ("model_canonical_name", Kind::Text, Gap::Null),
    ("api_mode", Kind::OneOf(&["auto", "chat", "responses"]), Gap::Absent),
    ("capability_overrides", Kind::Each(&CAPABILITY), Gap::Absent),
    ("extra_headers", Kind::Hidden(&Kind::Each(&Kind::Text)), Gap::Null),
    ("input_cost_per_token", AMOUNT, Gap::Null),
    ("output_cost_per_token", AMOUNT, Gap::Null),
    ("ollama_base_url", Kind::Text, Gap::Null),
    ("stream", Kind::Switch, Gap::Absent),
    ("drop_params", Kind::Switch, Gap::Absent),
    ("disable_vision", Kind::Switch, Gap::Null),
    ("disable_stop_word", Kind::Switch, Gap::Null),
    ("caching_prompt", Kind::Switch, Gap::Absent),
    ("log_completions", Kind::Switch, Gap::Absent),
    ("log_completions_folder", Kind::Text, Gap::Absent),
    ("custom_tokenizer", Kind::Text, Gap::Null),
    ("native_tool_calling", Kind::Switch, Gap::Absent),
    ("force_string_serializer", Kind::Switch, Gap::Null),
    ("inline_image_urls", Kind::Switch, Gap::Null),
    ("reasoning_effort", Kind::SomeText, Gap::Null),
    ("reasoning_summary", Kind::OneOf(&["auto", "concise", "detailed"]), Gap::Null),
    ("enable_encrypted_reasoning", Kind::Switch, Gap::Absent),
    ("prompt_cache_retention", Kind::Text, Gap::Null),
    ("extended_thinking_budget", ANY_INTEGER, Gap::Null),
    ("seed", ANY_INTEGER, Gap::Null),
    ("usage_id", Kind::Text, Gap::Absent),
    ("litellm_extra_body", Kind::Map, Gap::Absent),
    ("fallback_strategy", Kind::Object(&FALLBACK), Gap::Null),
];

const CAPABILITY: Kind = Kind::Either(&[("bool", &Kind::Switch), ("str", &Kind::Text)]);
const FALLBACK: Object = Object {
    class: Some("FallbackStrategy"),
    fields: &[("fallback_llms", Kind::List(&Kind::Text), Gap::None)],
    others: Others::Kept,
};

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
