//! The body of a request.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use deft_types::{Message, Role};
use serde::Serialize;
use serde_json::value::RawValue;

use super::ChatApi;
use crate::attachment::{Attachment, Format, LEFT_OUT, image_urls};
use crate::provider::CallIds;
use crate::tool_use::{self, FunctionTool};
use crate::{ModelError, Request};

/// How long the server keeps the model in memory after a request: longer than most commands of an agent take.
const KEEP_ALIVE: &str = "30m";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    keep_alive: &'a str,
    // What does not fit is an error to be told, not a beginning to be cut off silently.
    truncate: bool,
    shift: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think<'a>>,
    options: Options<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    // Last, so that a longer conversation begins with the bytes of the shorter one.
    messages: Vec<WireMessage<'a>>,
}

/// Whether to think, or how hard.
#[derive(Serialize)]
#[serde(untagged)]
enum Think<'a> {
    Some(bool),
    Level(&'a str),
}

#[derive(Serialize)]
struct Options<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    num_ctx: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    num_predict: Option<u64>,
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
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: Cow<'a, RawValue>,
}

/// The body of a request, as JSON.
pub(super) fn of(api: &ChatApi, request: &Request) -> Result<Vec<u8>, ModelError> {
    let body = Body {
        model: &api.wire_name,
        stream: true,
        keep_alive: KEEP_ALIVE,
        truncate: false,
        shift: false,
        think: api.thinks.then(|| think(api)),
        options: Options {
            num_ctx: api.context.map(|tokens| tokens.0),
            num_predict: api.max_output.map(|tokens| tokens.0),
            temperature: api.tuning.temperature,
            top_p: api.tuning.top_p,
            top_k: api.tuning.top_k,
            stop: &api.tuning.stop,
            seed: api.tuning.seed,
        },
        tools: request.tools.iter().map(FunctionTool::from).collect(),
        messages: request
            .messages
            .iter()
            .map(|message| wire_message(api, message))
            .collect::<Result<_, _>>()?,
    };
    api.tuning.body(&body)
}

/// One family of models is told a level; all others think or do not.
fn think(api: &ChatApi) -> Think<'_> {
    match &api.tuning.reasoning_effort {
        Some(effort) if api.wire_name.contains("gpt-oss") => Think::Level(effort),
        _ => Think::Some(true),
    }
}

fn wire_message<'a>(api: &ChatApi, message: &'a Message) -> Result<WireMessage<'a>, ModelError> {
    let mut content = message.plain_text();
    let mut images = Vec::new();
    for url in image_urls(message) {
        match Attachment::of(url) {
            Attachment::Image {
                format: Format::Png | Format::Jpeg | Format::Webp,
                base64,
            } if api.accepts_images => images.push(base64),
            _ => {
                content.push('\n');
                content.push_str(LEFT_OUT);
            }
        }
    }
    let calls = message.tool_calls.iter().flatten().map(|call| {
        Ok(WireCall {
            id: tool_use::id(&call.id, CallIds::ANY),
            function: WireFunction {
                name: &call.name,
                arguments: tool_use::input(&call.arguments)?,
            },
        })
    });
    Ok(WireMessage {
        role: message.role,
        content,
        thinking: message.reasoning_content.as_deref().filter(|_| api.thinks),
        images,
        tool_calls: calls.collect::<Result<_, ModelError>>()?,
        tool_name: message.name.as_deref().filter(|_| message.role == Role::Tool),
        tool_call_id: message
            .tool_call_id
            .as_deref()
            .map(|id| tool_use::id(id, CallIds::ANY)),
    })
}
