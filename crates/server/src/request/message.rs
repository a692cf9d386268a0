//! Messages that clients send.

use deft_types::{Content, Message, Role};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{not_an_object, object};
use crate::failure::{Failure, Faults};
use crate::fields::{self, Gap, Kind, Object, Others, Table};
use crate::validation::{Issue, Place};

const MESSAGE: &Table = &[
    (
        "role",
        Kind::OneOf(&["user", "system", "assistant", "tool"]),
        Gap::Absent,
    ),
    ("content", Kind::List(&CONTENT), Gap::Absent),
];
/// What is said with a message.
const SWITCHES: &Table = &[
    ("run", Kind::Switch, Gap::Absent),
    ("rejects", Kind::Switch, Gap::Absent),
];
const CONTENT: Kind = Kind::Either(&[
    ("TextContent", &Kind::Object(&TEXT)),
    ("ImageContent", &Kind::Object(&IMAGE)),
]);
const TEXT: Object = Object {
    class: None,
    fields: &[
        ("type", Kind::OneOf(&["text"]), Gap::Absent),
        ("text", Kind::Text, Gap::None),
    ],
    others: Others::Kept,
};
const IMAGE: Object = Object {
    class: None,
    fields: &[
        ("type", Kind::OneOf(&["image"]), Gap::Absent),
        ("image_urls", Kind::List(&Kind::Text), Gap::None),
    ],
    others: Others::Kept,
};

/// A message as a client sends it, and whether the agent is to begin at once.
pub(crate) struct SendRequest {
    pub(crate) message: Message,
    pub(crate) run: bool,
    /// Whether it is said instead of allowing what waits for a word.
    pub(crate) rejects: bool,
}

impl SendRequest {
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let sent = object(body)?;
        let mut faults = Faults::default();
        let message = faults.take(read_message(body, &["body"]));
        let switches = faults.take(fields::read(&["body"], sent, SWITCHES));
        let (Some(message), Some(switches)) = (message, switches) else {
            return Err(faults.told());
        };
        let is_set = |name| switches.get(name) == Some(&Value::Bool(true));
        Ok(Self {
            message,
            run: is_set("run"),
            rejects: is_set("rejects"),
        })
    }
}

/// A message of the user's.
pub(super) fn read_message(sent: &Value, place: Place) -> Result<Message, Failure> {
    let sent = sent.as_object().ok_or_else(|| not_an_object(place, sent))?;
    let sent = fields::read(place, sent, MESSAGE)?;
    let role = sent.get("role").map(Role::deserialize);
    let role = role.and_then(Result::ok).unwrap_or(Role::User);
    if role != Role::User {
        let only = "Only user messages are allowed to be sent to the agent.";
        return Err(Failure::internal(only, &only));
    }
    Ok(Message::new(role, read_contents(&sent, place)?))
}

fn read_contents(sent: &Map<String, Value>, place: Place) -> Result<Vec<Content>, Issue> {
    let Some(Value::Array(items)) = sent.get("content") else {
        return Ok(Vec::new());
    };
    let read = items.iter().map(read_content).collect::<Result<_, _>>();
    read.map_err(|error| {
        let place = [place, &["content"]].concat();
        let error = format!("an item cannot be read: {error}");
        Issue::rule(&place, &error, &sent["content"])
    })
}

/// A part of a message. Fields that the contract does not have would make its clients refuse the event.
fn read_content(sent: &Value) -> Result<Content, serde_json::Error> {
    let mut sent = sent.clone();
    if let Some(fields) = sent.as_object_mut() {
        // Its type may be left out: it fits one of the two.
        let fits = if fields.get("text").is_some_and(Value::is_string) {
            "text"
        } else {
            "image"
        };
        fields.entry("type").or_insert(fits.into());
    }
    let mut content = Content::deserialize(sent)?;
    match &mut content {
        Content::Text(text) => text.extra.clear(),
        Content::Image(image) => image.extra.clear(),
    }
    Ok(content)
}
