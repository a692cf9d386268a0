//! The body of a request.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use deft_types::{Content, Message, Role, ThinkingBlock, Tokens};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::BedrockApi;
use crate::attachment::{Attachment, LEFT_OUT};
use crate::claude::{INTERLEAVED_THINKING, OutputConfig, Reasoning, Said, Thinking, said};
use crate::provider::CallIds;
use crate::{ModelError, Request, ToolSchema, tokens, tool_use};

/// A document is refused without any text beside it.
const DOCUMENT: &str = "A PDF document:";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "InferenceConfig::is_empty")]
    inference_config: InferenceConfig<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_model_request_fields: Option<ModelFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<WireMessage<'a>>,
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct InferenceConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
}

impl InferenceConfig<'_> {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What only Claude models know.
#[derive(Serialize)]
struct ModelFields<'a> {
    thinking: Thinking,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    anthropic_beta: &'static [&'static str],
}

#[derive(Serialize)]
struct ToolConfig<'a> {
    tools: Vec<WireTool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum WireTool<'a> {
    #[serde(rename_all = "camelCase")]
    ToolSpec {
        name: &'a str,
        description: &'a str,
        input_schema: Json<'a>,
    },
}

#[derive(Serialize)]
struct Json<'a> {
    json: &'a Value,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: WireRole,
    content: Vec<Block<'a>>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
enum WireRole {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Block<'a> {
    Text(&'a str),
    Image {
        format: &'static str,
        source: Bytes<'a>,
    },
    Document {
        format: &'static str,
        name: String,
        source: Bytes<'a>,
    },
    #[serde(rename_all = "camelCase")]
    ToolUse {
        tool_use_id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    #[serde(rename_all = "camelCase")]
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'a>>,
    },
    ReasoningContent(Signed),
    CachePoint {
        r#type: &'static str,
    },
}

#[derive(Serialize)]
struct Bytes<'a> {
    bytes: &'a str,
}

/// Signed: it goes back as it came.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Signed {
    ReasoningText {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    RedactedContent(String),
}

impl From<ThinkingBlock> for Signed {
    fn from(block: ThinkingBlock) -> Self {
        match block {
            ThinkingBlock::Thinking(body) => Self::ReasoningText {
                text: body.thinking,
                signature: body.signature,
            },
            ThinkingBlock::RedactedThinking(body) => Self::RedactedContent(body.data),
        }
    }
}

/// Room between what we count and what the server does.
const COUNTING_MARGIN: u64 = 256;

/// Less than this is no answer; where there is no room even for it, the server says so.
const MIN_OUTPUT: u64 = 1_024;

/// How much may be written: prompt and answer share the window, and a request for more than is left is refused.
fn room(model: &BedrockApi, request: &Request) -> Option<Tokens> {
    let (Some(window), Some(limit)) = (model.context_window, model.max_output) else {
        return model.max_output;
    };
    let left = window
        .0
        .saturating_sub(tokens::estimate(request).0 + COUNTING_MARGIN);
    Some(limit.min(Tokens(left.max(MIN_OUTPUT))))
}

/// The body of a request, as JSON.
pub(super) fn of(model: &BedrockApi, request: &Request) -> Result<Vec<u8>, ModelError> {
    let tools = tool_use::declared(request);
    let head = request
        .messages
        .iter()
        .take_while(|message| message.role == Role::System)
        .count();
    let (head, rest) = request.messages.split_at(head);
    let mut writer = Writer { model, documents: 0 };
    let mut system: Vec<_> = head
        .iter()
        .flat_map(|message| writer.blocks(&message.content))
        .collect();
    // Only the first block is the same in every conversation.
    if model.takes_cache_marks && !system.is_empty() {
        system.insert(1, Block::CACHE_POINT);
    }
    let max_output = room(model, request);
    let thinking = model
        .thinking
        .filter(|thinking| thinking.fits(rest))
        .and_then(|thinking| thinking.within(max_output?));
    let tuning = &model.tuning;
    let body = Body {
        inference_config: InferenceConfig {
            max_tokens: max_output.map(|tokens| tokens.0),
            // A model that is told to think chooses its words by itself.
            temperature: tuning.temperature.filter(|_| thinking.is_none()),
            top_p: tuning.top_p.filter(|_| thinking.is_none()),
            stop_sequences: &tuning.stop,
        },
        additional_model_request_fields: thinking.map(|thinking| ModelFields {
            thinking,
            output_config: thinking.output_config(tuning),
            anthropic_beta: match thinking {
                Thinking::Manual { .. } => &[INTERLEAVED_THINKING],
                Thinking::Adaptive { .. } => &[],
            },
        }),
        tool_config: (!tools.is_empty()).then(|| ToolConfig {
            tools: tools.iter().map(tool).collect(),
        }),
        system,
        messages: writer.messages(rest)?,
    };
    tuning.body(&body)
}

impl Block<'_> {
    const CACHE_POINT: Self = Block::CachePoint { r#type: "default" };
}

fn tool(schema: &ToolSchema) -> WireTool<'_> {
    WireTool::ToolSpec {
        name: &schema.name,
        description: &schema.description,
        input_schema: Json {
            json: &schema.parameters,
        },
    }
}

struct Writer<'m> {
    model: &'m BedrockApi,
    /// Documents so far: each wants a name of its own.
    documents: usize,
}

impl Writer<'_> {
    fn messages<'a>(
        &mut self,
        history: &'a [impl AsRef<Message>],
    ) -> Result<Vec<WireMessage<'a>>, ModelError> {
        let mut wire: Vec<WireMessage> = Vec::with_capacity(history.len());
        for message in history.iter().map(AsRef::as_ref) {
            let (role, content) = match message.role {
                Role::System | Role::User => (WireRole::User, self.blocks(&message.content)),
                Role::Tool => (WireRole::User, vec![self.result(message)]),
                Role::Assistant => (WireRole::Assistant, self.reply(message)?),
            };
            // The API wants the roles to alternate.
            match wire.last_mut() {
                _ if content.is_empty() => {}
                Some(last) if last.role == role => last.content.extend(content),
                _ => wire.push(WireMessage { role, content }),
            }
        }
        let last = wire.iter_mut().rfind(|message| message.role == WireRole::User);
        if let Some(last) = last.filter(|_| self.model.takes_cache_marks) {
            last.content.push(Block::CACHE_POINT);
        }
        Ok(wire)
    }

    /// What the model said.
    fn reply<'a>(&mut self, message: &'a Message) -> Result<Vec<Block<'a>>, ModelError> {
        // A model that does not reason takes no reasoning.
        let reasoning = match self.model.thinking {
            Some(_) => Reasoning::Shown,
            None => Reasoning::LeftOut,
        };
        let mut blocks = Vec::new();
        for piece in said(message, reasoning) {
            match piece {
                Said::Text(text) => blocks.push(Block::Text(text)),
                Said::Images(images) => {
                    for url in &images.image_urls {
                        self.attach(url, &mut blocks);
                    }
                }
                Said::Thinking(block) => blocks.push(Block::ReasoningContent(block.into_owned().into())),
                Said::Call(call) => blocks.push(Block::ToolUse {
                    tool_use_id: tool_use::id(&call.id, CallIds::WORDS),
                    name: &call.name,
                    input: tool_use::input(&call.arguments)?,
                }),
            }
        }
        Ok(blocks)
    }

    fn result<'a>(&mut self, message: &'a Message) -> Block<'a> {
        Block::ToolResult {
            tool_use_id: tool_use::id(
                message.tool_call_id.as_deref().unwrap_or_default(),
                CallIds::WORDS,
            ),
            content: self.blocks(&message.content),
        }
    }

    fn blocks<'a>(&mut self, content: &'a [Content]) -> Vec<Block<'a>> {
        let mut blocks = Vec::with_capacity(content.len());
        for item in content {
            match item {
                // Blank text is refused.
                Content::Text(body) if body.text.trim().is_empty() => {}
                Content::Text(body) => blocks.push(Block::Text(&body.text)),
                Content::Image(body) => {
                    for url in &body.image_urls {
                        self.attach(url, &mut blocks);
                    }
                }
            }
        }
        blocks
    }

    fn attach<'a>(&mut self, url: &'a str, blocks: &mut Vec<Block<'a>>) {
        match Attachment::of(url) {
            _ if !self.model.accepts_images => blocks.push(Block::Text(LEFT_OUT)),
            Attachment::Image { format, base64 } => blocks.push(Block::Image {
                format: format.name(),
                source: Bytes { bytes: base64 },
            }),
            Attachment::Pdf { base64 } => {
                self.documents += 1;
                blocks.push(Block::Text(DOCUMENT));
                blocks.push(Block::Document {
                    format: "pdf",
                    name: format!("document-{}", self.documents),
                    source: Bytes { bytes: base64 },
                });
            }
            // The API takes none from elsewhere but its own storage.
            Attachment::Link(_) | Attachment::Unusable => blocks.push(Block::Text(LEFT_OUT)),
        }
    }
}
