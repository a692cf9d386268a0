//! The body of a request.

mod messages;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::messages::{WireMessage, messages};
use crate::Request;
use crate::openai::{CACHE_RETENTION, Endpoint};
use crate::provider::Dialect;
use crate::tool_use::FunctionTool;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

impl CacheControl {
    const EPHEMERAL: Self = Self { r#type: "ephemeral" };
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The body of a request.
pub(super) fn of<'a>(model: &'a Endpoint, request: &'a Request) -> Body<'a> {
    let capabilities = &model.capabilities;
    let tuning = &model.tuning;
    let max_output = model.max_output.map(|tokens| tokens.0);
    let (newer_limit, takes_top_k) = match model.dialect {
        Dialect::OpenAi => (true, false),
        Dialect::Proxy => (true, true),
        Dialect::Azure => (capabilities.reasoning_effort, false),
        Dialect::Compatible | Dialect::OpenRouter | Dialect::Local(_) => (false, true),
        Dialect::Strict => (false, false),
    };
    let strict = model.dialect == Dialect::Strict;
    let marks = capabilities.explicit_cache_markers && model.dialect == Dialect::OpenRouter;
    Body {
        model: &model.wire_name,
        messages: messages(model, request),
        tools: request.tools.iter().map(FunctionTool::from).collect(),
        stream: true,
        stream_options: (!strict).then_some(StreamOptions { include_usage: true }),
        max_completion_tokens: max_output.filter(|_| newer_limit),
        max_tokens: max_output.filter(|_| !newer_limit),
        reasoning_effort: tuning.reasoning_effort.as_deref(),
        temperature: tuning.temperature,
        top_p: tuning.top_p,
        top_k: tuning.top_k.filter(|_| takes_top_k),
        stop: &tuning.stop,
        seed: tuning.seed.filter(|_| !strict),
        prompt_cache_key: request
            .cache_key
            .as_deref()
            .filter(|_| capabilities.prompt_cache_key),
        prompt_cache_retention: capabilities.prompt_cache_retention.then_some(CACHE_RETENTION),
        cache_control: marks.then_some(CacheControl::EPHEMERAL),
    }
}
