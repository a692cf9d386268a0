//! The body of a request.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use deft_types::{Content, Message, Role, ThinkingBlock};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::AnthropicApi;
use crate::attachment::{Attachment, LEFT_OUT};
use crate::claude::{OutputConfig, Reasoning, Said, Thinking, said};
use crate::provider::CallIds;
use crate::{ModelError, Request, ToolSchema, tool_use};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Part<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Serialize)]
struct WireTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: WireRole,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum WireRole {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    /// Signed: it goes back as it came.
    Thinking(Cow<'a, ThinkingBlock>),
    Part(Part<'a>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: String, data: &'a str },
    Url { url: &'a str },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text {
            text,
            cache_control: None,
        }
    }

    /// Asks to cache everything up to here.
    fn mark(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::Document { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => *cache_control = Some(CacheControl::Ephemeral),
            Self::ToolUse { .. } => {}
        }
    }
}

/// The body of a request, as JSON.
pub(super) fn of(
    model: &AnthropicApi,
    thinking: Option<Thinking>,
    request: &Request,
) -> Result<Vec<u8>, ModelError> {
    let tools = tool_use::declared(request);
    let head = request
        .messages
        .iter()
        .take_while(|message| message.role == Role::System)
        .count();
    let (head, rest) = request.messages.split_at(head);
    let mut system: Vec<_> = head
        .iter()
        .flat_map(|message| parts(model, &message.content))
        .collect();
    // Only the first block is the same in every conversation.
    if let Some(first) = system.first_mut().filter(|_| model.takes_cache_marks) {
        first.mark();
    }
    let tuning = &model.tuning;
    let body = Body {
        model: &model.wire_name,
        max_tokens: model.max_output.0,
        stream: true,
        thinking,
        output_config: thinking.and_then(|thinking| thinking.output_config(tuning)),
        // A model that is told to think chooses its words by itself.
        temperature: tuning.temperature.filter(|_| thinking.is_none()),
        top_p: tuning.top_p.filter(|_| thinking.is_none()),
        top_k: tuning.top_k.filter(|_| thinking.is_none()),
        stop_sequences: &tuning.stop,
        tools: tools.iter().map(tool).collect(),
        system,
        messages: messages(model, rest)?,
    };
    tuning.body(&body)
}

fn tool(schema: &ToolSchema) -> WireTool<'_> {
    WireTool {
        name: &schema.name,
        description: &schema.description,
        input_schema: &schema.parameters,
    }
}

fn messages<'a>(
    model: &AnthropicApi,
    history: &'a [impl AsRef<Message>],
) -> Result<Vec<WireMessage<'a>>, ModelError> {
    let mut wire: Vec<WireMessage> = Vec::with_capacity(history.len());
    for message in history.iter().map(AsRef::as_ref) {
        let (role, content) = match message.role {
            Role::System | Role::User => (WireRole::User, blocks(parts(model, &message.content))),
            Role::Tool => (WireRole::User, blocks([result(model, message)])),
            Role::Assistant => (WireRole::Assistant, reply(model, message)?),
        };
        // The API wants the roles to alternate.
        match wire.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => wire.push(WireMessage { role, content }),
        }
    }
    let last = wire
        .iter_mut()
        .rfind(|message| model.takes_cache_marks && message.role == WireRole::User);
    if let Some(Block::Part(part)) = last.and_then(|message| message.content.last_mut()) {
        part.mark();
    }
    Ok(wire)
}

/// What the model said.
fn reply<'a>(model: &AnthropicApi, message: &'a Message) -> Result<Vec<Block<'a>>, ModelError> {
    // A model that does not reason takes no reasoning.
    let reasoning = match model.thinking {
        Some(_) => Reasoning::Shown,
        None => Reasoning::LeftOut,
    };
    let mut blocks = Vec::new();
    for piece in said(message, reasoning) {
        match piece {
            Said::Text(text) => blocks.push(Block::Part(Part::text(text))),
            Said::Images(images) => {
                blocks.extend(images.image_urls.iter().map(|url| Block::Part(image(model, url))));
            }
            Said::Thinking(block) => blocks.push(Block::Thinking(block)),
            Said::Call(call) => blocks.push(Block::Part(Part::ToolUse {
                id: tool_use::id(&call.id, CallIds::WORDS),
                name: &call.name,
                input: tool_use::input(&call.arguments)?,
            })),
        }
    }
    Ok(blocks)
}

fn result<'a>(model: &AnthropicApi, message: &'a Message) -> Part<'a> {
    Part::ToolResult {
        tool_use_id: tool_use::id(
            message.tool_call_id.as_deref().unwrap_or_default(),
            CallIds::WORDS,
        ),
        content: parts(model, &message.content),
        cache_control: None,
    }
}

fn blocks<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> Vec<Block<'a>> {
    parts.into_iter().map(Block::Part).collect()
}

fn parts<'a>(model: &AnthropicApi, content: &'a [Content]) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(content.len());
    for item in content {
        match item {
            // Blank text is refused.
            Content::Text(body) if body.text.trim().is_empty() => {}
            Content::Text(body) => parts.push(Part::text(&body.text)),
            Content::Image(body) => parts.extend(body.image_urls.iter().map(|url| image(model, url))),
        }
    }
    parts
}

fn image<'a>(model: &AnthropicApi, url: &'a str) -> Part<'a> {
    match Attachment::of(url) {
        _ if !model.accepts_images => Part::text(LEFT_OUT),
        Attachment::Image { format, base64 } => Part::Image {
            source: Source::Base64 {
                media_type: format!("image/{}", format.name()),
                data: base64,
            },
            cache_control: None,
        },
        Attachment::Pdf { base64 } => Part::Document {
            source: Source::Base64 {
                media_type: "application/pdf".to_owned(),
                data: base64,
            },
            cache_control: None,
        },
        Attachment::Link(url) => Part::Image {
            source: Source::Url { url },
            cache_control: None,
        },
        Attachment::Unusable => Part::text(LEFT_OUT),
    }
}
