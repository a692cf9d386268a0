//! The body of a request.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use deft_types::{Content, Message, Role, ToolCall};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{GeminiApi, call_id, schema, signed_part};
use crate::attachment::{Attachment, Format, LEFT_OUT};
use crate::tool_use;
use crate::{ModelError, Request, ToolSchema};

/// Google's own stand-in for the signature of a call that another model made.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

const LOST_RESULT: &str = "[The result of this call is lost.]";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    generation_config: GenerationConfig<'a>,
    // Last, so that a longer conversation begins with the bytes of the shorter one.
    contents: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig<'a> {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: Speaker,
    parts: Vec<Part<'a>>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Speaker {
    User,
    Model,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Part<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        inline_data: Blob<'a>,
    },
    Call {
        function_call: Call<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    Result {
        function_response: CallResult<'a>,
    },
    AsItCame(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blob<'a> {
    mime_type: &'static str,
    data: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct CallResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Output,
}

#[derive(Serialize)]
struct Output {
    output: String,
}

/// The body of a request, as JSON.
pub(super) fn of(api: &GeminiApi, request: &Request) -> Result<Vec<u8>, ModelError> {
    let instructions = request
        .messages
        .iter()
        .take_while(|message| message.role == Role::System)
        .count();
    let (system, rest) = request.messages.split_at(instructions);
    let declarations: Vec<_> = request.tools.iter().map(declaration).collect();
    let body = Body {
        system_instruction: Some(Instruction {
            parts: system.iter().flat_map(|message| said(api, message)).collect(),
        })
        .filter(|instruction| !instruction.parts.is_empty()),
        tools: (!declarations.is_empty()).then_some([Tools {
            function_declarations: declarations,
        }]),
        generation_config: GenerationConfig {
            max_output_tokens: api.max_output.map(|tokens| tokens.0),
            temperature: api.tuning.temperature,
            top_p: api.tuning.top_p,
            top_k: api.tuning.top_k,
            stop_sequences: &api.tuning.stop,
            seed: api.tuning.seed,
            thinking_config: api.generation.shows_thoughts().then(|| thinking(api)),
        },
        contents: contents(api, rest)?,
    };
    api.tuning.body(&body)
}

/// The newer models are told a level; to those before them it is so many tokens.
fn thinking(api: &GeminiApi) -> ThinkingConfig<'_> {
    let effort = api.tuning.reasoning_effort.as_deref();
    let takes_levels = api.generation.wants_signatures();
    ThinkingConfig {
        include_thoughts: true,
        thinking_level: effort.filter(|_| takes_levels),
        thinking_budget: effort.filter(|_| !takes_levels).and_then(|effort| match effort {
            "minimal" | "low" => Some(1_024),
            "medium" => Some(8_192),
            "high" | "xhigh" => Some(24_576),
            _ => None,
        }),
    }
}

fn declaration(tool: &ToolSchema) -> Declaration<'_> {
    Declaration {
        name: &tool.name,
        description: &tool.description,
        parameters: schema::of_arguments(&tool.parameters),
    }
}

fn contents<'a>(api: &GeminiApi, messages: &'a [Arc<Message>]) -> Result<Vec<Turn<'a>>, ModelError> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        if message.role != Role::Assistant {
            add(&mut turns, Speaker::User, said(api, message));
            continue;
        }
        let calls = message.tool_calls.as_deref().unwrap_or_default();
        add(&mut turns, Speaker::Model, replied(api, message, calls)?);
        let mut results = Vec::new();
        while !calls.is_empty()
            && let Some(result) = rest.next_if(|message| message.role == Role::Tool)
        {
            results.push(result.as_ref());
        }
        let waiting = results.is_empty() && rest.peek().is_none();
        if !calls.is_empty() && !waiting {
            add(&mut turns, Speaker::User, results_of(api, calls, &results));
        }
    }
    Ok(turns)
}

/// Adds a turn that says something. A call must come right after the user's turn, so what the model says in a row
/// is one turn.
fn add<'a>(turns: &mut Vec<Turn<'a>>, role: Speaker, parts: Vec<Part<'a>>) {
    match turns.last_mut() {
        _ if parts.is_empty() => {}
        Some(last) if role == Speaker::Model && last.role == role => last.parts.extend(parts),
        _ => turns.push(Turn { role, parts }),
    }
}

/// The parts of a message from anyone but the model.
fn said<'a>(api: &GeminiApi, message: &'a Message) -> Vec<Part<'a>> {
    message
        .content
        .iter()
        .flat_map(|part| said_in(api, part))
        .collect()
}

fn said_in<'a>(api: &GeminiApi, part: &'a Content) -> Vec<Part<'a>> {
    match part {
        // It refuses an empty text.
        Content::Text(body) if body.text.is_empty() => Vec::new(),
        Content::Text(body) => vec![text(body.text.as_str())],
        Content::Image(body) => body.image_urls.iter().map(|url| image(api, url)).collect(),
    }
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> Part<'a> {
    Part::Text { text: text.into() }
}

/// An image or document. Google's servers fetch nothing, and do not read every format.
fn image<'a>(api: &GeminiApi, url: &'a str) -> Part<'a> {
    let (mime_type, data) = match Attachment::of(url) {
        _ if !api.accepts_images => return text(LEFT_OUT),
        Attachment::Image { format, base64 } => match format {
            Format::Png => ("image/png", base64),
            Format::Jpeg => ("image/jpeg", base64),
            Format::Webp => ("image/webp", base64),
            Format::Gif => return text(LEFT_OUT),
        },
        Attachment::Pdf { base64 } => ("application/pdf", base64),
        Attachment::Link(_) | Attachment::Unusable => return text(LEFT_OUT),
    };
    Part::Image {
        inline_data: Blob { mime_type, data },
    }
}

/// The parts of the model's own message: text, signed parts in their places, calls.
fn replied<'a>(
    api: &GeminiApi,
    message: &'a Message,
    calls: &'a [ToolCall],
) -> Result<Vec<Part<'a>>, ModelError> {
    let whole = message.plain_text();
    let mut parts = Vec::new();
    let mut end = 0;
    for (range, part) in signed_part::kept(message, &whole) {
        if range.start > end {
            parts.push(text(whole[end..range.start].to_owned()));
        }
        end = range.end;
        parts.push(Part::AsItCame(part));
    }
    if end < whole.len() {
        parts.push(text(whole[end..].to_owned()));
    }
    for (index, call) in calls.iter().enumerate() {
        // Of calls made at once only the first is signed.
        let stand_in = (index == 0 && api.generation.wants_signatures()).then_some(FOREIGN_SIGNATURE);
        parts.push(Part::Call {
            function_call: Call {
                id: call_id::given(&call.id),
                name: &call.name,
                args: tool_use::input(&call.arguments)?,
            },
            thought_signature: call_id::signature(&call.id).or(stand_in),
        });
    }
    Ok(parts)
}

/// One result for each call, in the order of the calls, as Gemini insists; then the images of the results.
fn results_of<'a>(api: &GeminiApi, calls: &'a [ToolCall], results: &[&'a Message]) -> Vec<Part<'a>> {
    let answers = |result: &Message, call: &ToolCall| result.tool_call_id.as_ref() == Some(&call.id);
    let mut parts: Vec<_> = calls
        .iter()
        .map(|call| {
            let result = results.iter().find(|result| answers(result, call));
            Part::Result {
                function_response: CallResult {
                    id: call_id::given(&call.id),
                    name: &call.name,
                    response: Output {
                        output: result.map_or_else(|| LOST_RESULT.to_owned(), |result| result.plain_text()),
                    },
                },
            }
        })
        .collect();
    for result in results {
        let is_of_a_call = calls.iter().any(|call| answers(result, call));
        let is_text = |part: &Content| part.as_text().is_some();
        let more = result
            .content
            .iter()
            .filter(|part| !(is_of_a_call && is_text(part)));
        parts.extend(more.flat_map(|part| said_in(api, part)));
    }
    parts
}
