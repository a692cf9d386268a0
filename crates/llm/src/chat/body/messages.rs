//! The messages of a request.

use std::borrow::Cow;
use std::iter;

use deft_types::{Content, Message, Role};
use serde::Serialize;
use serde_json::Value;

use super::CacheControl;
use crate::Request;
use crate::attachment::{Attachment, LEFT_OUT, PDF_NAME, image_urls};
use crate::chat::signatures;
use crate::openai::{Endpoint, NO_IMAGES};
use crate::provider::Dialect;
use crate::tool_use;

/// What the model is made to have said where it was interrupted after a tool's result.
const GO_ON: &str = "I have the result.";

/// Stands for reasoning that nobody has.
pub(super) const NOT_SHOWN: &str = "(not shown)";

#[derive(Serialize)]
pub(super) struct WireMessage<'a> {
    role: Role,
    content: WireContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// Text alone goes as a string, which every server takes; not all take a list.
#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    Nothing,
    Text(String),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: File<'a> },
}

impl<'a> WireContent<'a> {
    /// Goes on with what else is said.
    fn add(&mut self, more: Self) {
        *self = match (std::mem::replace(self, Self::Nothing), more) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Text(first), Self::Text(second)) => Self::Text(format!("{first}\n\n{second}")),
            (first, second) => {
                let mut parts = first.into_parts();
                parts.extend(second.into_parts());
                Self::Parts(parts)
            }
        };
    }

    fn into_parts(self) -> Vec<WirePart<'a>> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Text(text) => vec![WirePart::text(text)],
            Self::Parts(parts) => parts,
        }
    }
}

impl<'a> WirePart<'a> {
    fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: &'a str,
}

#[derive(Serialize)]
struct File<'a> {
    filename: &'static str,
    file_data: &'a str,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: WireFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// The messages of a request, as the server takes them.
pub(super) fn messages<'a>(model: &Endpoint, request: &'a Request) -> Vec<WireMessage<'a>> {
    let capabilities = &model.capabilities;
    let mut wire = Vec::with_capacity(request.messages.len());
    // Images in tool results: the API takes them only from the user, and only after the last result of a turn.
    let mut held = Vec::new();
    for message in &request.messages {
        if message.role != Role::Tool && !held.is_empty() {
            wire.push(images_of_tools(std::mem::take(&mut held)));
        }
        let calls = calls(model, message);
        let mut text = message.plain_text();
        let content = match message.role {
            // A model that only calls tools says nothing, which to some servers is not an empty text.
            Role::Assistant if text.is_empty() && !calls.is_empty() => WireContent::Nothing,
            Role::Assistant => WireContent::Text(text),
            Role::System | Role::User | Role::Tool if !capabilities.vision => {
                let notes = image_urls(message).map(|_| NO_IMAGES);
                WireContent::Text(
                    iter::once(text.as_str())
                        .chain(notes)
                        .collect::<Vec<_>>()
                        .join("\n"),
                )
            }
            Role::Tool => {
                for part in image_urls(message).map(|url| attachment(model.dialect, url)) {
                    match part {
                        WirePart::Text { text: note } => {
                            text.push('\n');
                            text.push_str(&note);
                        }
                        part @ (WirePart::ImageUrl { .. } | WirePart::File { .. }) => held.push(part),
                    }
                }
                WireContent::Text(text)
            }
            Role::System | Role::User if image_urls(message).next().is_none() => WireContent::Text(text),
            Role::System | Role::User => WireContent::Parts(parts(model.dialect, message)),
        };
        wire.push(WireMessage {
            role: match message.role {
                Role::System if !capabilities.system_messages => Role::User,
                role @ (Role::System | Role::User | Role::Assistant | Role::Tool) => role,
            },
            content,
            reasoning_content: reasoning(message).filter(|_| capabilities.send_reasoning_back),
            reasoning_details: signatures::details(message).filter(|_| model.dialect == Dialect::OpenRouter),
            tool_calls: calls,
            tool_call_id: message
                .tool_call_id
                .as_deref()
                .map(|id| call_id(model.dialect, id)),
            name: message.name.as_deref(),
            cache_control: None,
        });
    }
    if !held.is_empty() {
        wire.push(images_of_tools(held));
    }
    match model.dialect {
        Dialect::Strict => with_replies(wire),
        Dialect::Local(_) => alternating(wire),
        Dialect::Proxy if capabilities.explicit_cache_markers => marked(wire),
        Dialect::OpenAi | Dialect::Proxy | Dialect::Compatible | Dialect::OpenRouter | Dialect::Azure => wire,
    }
}

/// What the user says in a row is one message.
fn alternating(messages: Vec<WireMessage<'_>>) -> Vec<WireMessage<'_>> {
    let mut wire: Vec<WireMessage<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        match wire.last_mut() {
            Some(last) if last.role == Role::User && message.role == Role::User => {
                last.content.add(message.content);
            }
            _ => wire.push(message),
        }
    }
    wire
}

/// Asks a proxy to have the first message and everything up to the last but the model's words cached.
fn marked(mut messages: Vec<WireMessage<'_>>) -> Vec<WireMessage<'_>> {
    let is_text = |message: &&mut WireMessage<'_>| matches!(message.content, WireContent::Text(_));
    let mut marks = messages.iter_mut().filter(is_text);
    let first = marks.next().filter(|message| message.role == Role::System);
    let last = marks.rfind(|message| message.role != Role::Assistant);
    for message in first.into_iter().chain(last) {
        message.cache_control = Some(CacheControl::EPHEMERAL);
    }
    messages
}

/// Models that want their reasoning back miss it on calls that another model made.
fn reasoning(message: &Message) -> Option<&str> {
    let calls = message.tool_calls.iter().flatten().next();
    let shown = message.reasoning_content.as_deref();
    shown.filter(|text| !text.is_empty()).or(calls.map(|_| NOT_SHOWN))
}

/// Some servers want a reply after each result before anybody else may speak.
fn with_replies(messages: Vec<WireMessage<'_>>) -> Vec<WireMessage<'_>> {
    let mut wire = Vec::with_capacity(messages.len());
    let mut last = None;
    for message in messages {
        if last == Some(Role::Tool) && matches!(message.role, Role::User | Role::System) {
            wire.push(said(Role::Assistant, WireContent::Text(GO_ON.to_owned())));
        }
        last = Some(message.role);
        wire.push(message);
    }
    wire
}

fn said(role: Role, content: WireContent<'_>) -> WireMessage<'_> {
    WireMessage {
        role,
        content,
        reasoning_content: None,
        reasoning_details: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
        name: None,
        cache_control: None,
    }
}

fn parts(dialect: Dialect, message: &Message) -> Vec<WirePart<'_>> {
    let mut parts = Vec::new();
    for part in &message.content {
        match part {
            Content::Text(body) => parts.push(WirePart::text(&body.text)),
            Content::Image(body) => parts.extend(body.image_urls.iter().map(|url| attachment(dialect, url))),
        }
    }
    parts
}

fn attachment(dialect: Dialect, url: &str) -> WirePart<'_> {
    match Attachment::of(url) {
        Attachment::Image { .. } | Attachment::Link(_) => WirePart::ImageUrl {
            image_url: ImageUrl { url },
        },
        Attachment::Pdf { .. } => match dialect {
            Dialect::OpenAi | Dialect::Proxy | Dialect::OpenRouter => WirePart::File {
                file: File {
                    filename: PDF_NAME,
                    file_data: url,
                },
            },
            Dialect::Compatible | Dialect::Azure | Dialect::Strict | Dialect::Local(_) => {
                WirePart::text(LEFT_OUT)
            }
        },
        Attachment::Unusable => WirePart::text(LEFT_OUT),
    }
}

fn images_of_tools(images: Vec<WirePart<'_>>) -> WireMessage<'_> {
    let mut parts = vec![WirePart::text("The images of the tool results above:")];
    parts.extend(images);
    said(Role::User, WireContent::Parts(parts))
}

fn call_id(dialect: Dialect, id: &str) -> Cow<'_, str> {
    dialect
        .call_ids()
        .map_or(Cow::Borrowed(id), |taken| tool_use::id(id, taken))
}

fn calls<'a>(model: &Endpoint, message: &'a Message) -> Vec<WireCall<'a>> {
    // Others may refuse a field that is Google's own.
    let is_google = model
        .url
        .host_str()
        .is_some_and(|host| host.ends_with(".googleapis.com"));
    let calls = message.tool_calls.iter().flatten().enumerate();
    calls
        .map(|(index, call)| WireCall {
            id: call_id(model.dialect, &call.id),
            r#type: "function",
            function: WireFunction {
                name: &call.name,
                arguments: &call.arguments,
            },
            extra_content: signatures::of_call(message, index).filter(|_| is_google),
        })
        .collect()
}
