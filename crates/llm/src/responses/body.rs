//! The body of a request.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::iter;
use std::sync::Arc;

use deft_types::{Content, ImageContent, Message, Role, ToolCall};
use serde::Serialize;
use serde_json::Value;

use super::reasoning::{self, WireReasoning};
use crate::attachment::{Attachment, LEFT_OUT, PDF_NAME};
use crate::openai::{CACHE_RETENTION, Endpoint, NO_IMAGES};
use crate::provider::CallIds;
use crate::tool_use;
use crate::{Request, ToolSchema};

/// What the server sends besides: its reasoning, which it keeps no more than anything else.
const INCLUDED: &[&str] = &["reasoning.encrypted_content"];

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    instructions: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    store: bool,
    stream: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<WireEffort<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_retention: Option<&'static str>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct WireEffort<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: Role,
        content: Vec<Part<'a>>,
    },
    Reasoning(WireReasoning),
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText {
        text: String,
    },
    OutputText {
        text: String,
    },
    InputImage {
        image_url: &'a str,
    },
    InputFile {
        filename: &'static str,
        file_data: &'a str,
    },
}

/// Text alone goes as a string, which every server takes.
#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

/// The body of a request. What grows comes last.
pub(super) fn of<'a>(model: &'a Endpoint, request: &'a Request) -> Body<'a> {
    let capabilities = &model.capabilities;
    let tuning = &model.tuning;
    let is_system = |message: &&Arc<Message>| message.role == Role::System;
    let instructions: Vec<_> = request.messages.iter().take_while(is_system).collect();
    let rest = &request.messages[instructions.len()..];
    let effort = WireEffort {
        effort: tuning.reasoning_effort.as_deref(),
        summary: tuning.reasoning_summary.as_deref(),
    };
    Body {
        model: &model.wire_name,
        instructions: instructions
            .iter()
            .map(|message| message.plain_text())
            .collect::<Vec<_>>()
            .join("\n\n"),
        tools: request.tools.iter().map(tool).collect(),
        store: false,
        stream: true,
        include: if capabilities.reasoning_effort {
            INCLUDED
        } else {
            &[]
        },
        reasoning: Some(effort).filter(|wish| wish.effort.is_some() || wish.summary.is_some()),
        max_output_tokens: model.max_output.map(|tokens| tokens.0),
        temperature: tuning.temperature,
        top_p: tuning.top_p,
        prompt_cache_key: request
            .cache_key
            .as_deref()
            .filter(|_| capabilities.prompt_cache_key),
        prompt_cache_retention: capabilities.prompt_cache_retention.then_some(CACHE_RETENTION),
        input: rest.iter().flat_map(|message| items(model, message)).collect(),
    }
}

fn tool(schema: &ToolSchema) -> WireTool<'_> {
    WireTool {
        r#type: "function",
        name: &schema.name,
        description: &schema.description,
        parameters: &schema.parameters,
        strict: false,
    }
}

fn items<'a>(model: &Endpoint, message: &'a Message) -> Vec<Item<'a>> {
    match message.role {
        Role::Assistant => reply(message),
        Role::Tool => vec![Item::FunctionCallOutput {
            call_id: tool_use::id(message.tool_call_id.as_deref().unwrap_or_default(), CallIds::ANY),
            output: output(model, message),
        }],
        role @ (Role::System | Role::User) => {
            let content: Vec<_> = message
                .content
                .iter()
                .flat_map(|part| match part {
                    Content::Text(body) => vec![Part::InputText {
                        text: body.text.clone(),
                    }],
                    Content::Image(body) => images(model, body).collect(),
                })
                .collect();
            if content.is_empty() {
                return Vec::new();
            }
            vec![Item::Message { role, content }]
        }
    }
}

/// A reply in the order it came: reasoning, text, calls, with further reasoning between the calls.
fn reply(message: &Message) -> Vec<Item<'_>> {
    let mut reasoning = message
        .responses_reasoning_item
        .as_ref()
        .map(reasoning::split)
        .unwrap_or_default()
        .into_iter()
        .peekable();
    let mut due = |calls_before: Option<usize>| {
        iter::from_fn(|| reasoning.next_if(|placed| placed.calls_before <= calls_before))
            .filter_map(|placed| reasoning::write(placed.item))
            .map(Item::Reasoning)
            .collect::<Vec<_>>()
    };
    let mut items = due(None);
    let text = message.plain_text();
    if !text.is_empty() {
        items.push(Item::Message {
            role: Role::Assistant,
            content: vec![Part::OutputText { text }],
        });
    }
    for (index, call) in message.tool_calls.iter().flatten().enumerate() {
        items.extend(due(Some(index)));
        items.push(function_call(call));
    }
    // Reasoning that nothing follows is refused.
    while let Some(Item::Reasoning(_)) = items.last() {
        items.pop();
    }
    items
}

fn function_call(call: &ToolCall) -> Item<'_> {
    Item::FunctionCall {
        // Those that other servers give are refused.
        id: call
            .responses_item_id
            .as_deref()
            .filter(|id| id.starts_with("fc")),
        call_id: tool_use::id(&call.id, CallIds::ANY),
        name: &call.name,
        arguments: &call.arguments,
    }
}

/// The one output of a call, however many parts it has.
fn output<'a>(model: &Endpoint, message: &'a Message) -> Output<'a> {
    let text = message.plain_text();
    let mut images = message
        .content
        .iter()
        .filter_map(|part| match part {
            Content::Text(_) => None,
            Content::Image(body) => Some(images(model, body)),
        })
        .flatten()
        .peekable();
    if images.peek().is_none() {
        return Output::Text(text);
    }
    Output::Parts(iter::once(Part::InputText { text }).chain(images).collect())
}

/// Images, or what stands in for them.
fn images<'a>(model: &Endpoint, images: &'a ImageContent) -> impl Iterator<Item = Part<'a>> {
    let vision = model.capabilities.vision;
    let note = |text: &str| Part::InputText {
        text: text.to_owned(),
    };
    images
        .image_urls
        .iter()
        .map(move |url| match Attachment::of(url) {
            _ if !vision => note(NO_IMAGES),
            Attachment::Image { .. } | Attachment::Link(_) => Part::InputImage { image_url: url },
            Attachment::Pdf { .. } => Part::InputFile {
                filename: PDF_NAME,
                file_data: url,
            },
            Attachment::Unusable => note(LEFT_OUT),
        })
}
