//! Messages that clients send.

use deft_types::{Content, Message, Role};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{not_an_object, object};
use crate::failure::{Failure, Faults};
use crate::fields::{self, Kind, Null};
use crate::validation::{Issue, Place};

/// A message as a client sends it, and whether the agent is to begin at once.
pub(crate) struct SendRequest {
    pub(crate) message: Message,
    pub(crate) run: bool,
    /// Whether it is said instead of allowing what waits for a word.
    pub(crate) rejects: bool,
}

impl SendRequest {
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let fields = object(body)?;
        let is_set = |name| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
        Ok(Self {
            message: read_message(body, &["body"])?,
            run: is_set("run"),
            rejects: is_set("rejects"),
        })
    }
}

/// A message of the user's.
pub(super) fn read_message(sent: &Value, place: Place) -> Result<Message, Failure> {
    let mut faults = Faults::default();
    let role = faults.take(read_role(sent, place));
    let content = faults.take(read_contents(sent, place));
    let (Some(role), Some(content)) = (role, content) else {
        return Err(faults.told());
    };
    if role != Role::User {
        let only = "Only user messages are allowed to be sent to the agent.";
        return Err(Failure::internal(only, &only));
    }
    Ok(Message::new(role, content))
}

fn read_role(sent: &Value, place: Place) -> Result<Role, Failure> {
    let words = Kind::OneOf(&["user", "system", "assistant", "tool"]);
    let fields = sent.as_object().ok_or_else(|| not_an_object(place, sent))?;
    fields::read(place, fields, &[("role", words, Null::Refused)])?;
    let role = fields.get("role").map(Role::deserialize);
    Ok(role.and_then(Result::ok).unwrap_or(Role::User))
}

fn read_contents(sent: &Value, place: Place) -> Result<Vec<Content>, Issue> {
    let place = [place, &["content"]].concat();
    match sent.get("content") {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let read = items.iter().map(read_content).collect::<Result<_, _>>();
            read.map_err(|error| {
                let error = format!("an item cannot be read: {error}");
                Issue::rule(&place, &error, &json!(items))
            })
        }
        Some(other) => {
            let msg = "Input should be a valid list";
            Err(Issue::new("list_type", &place, msg, other))
        }
    }
}

/// A part of a message. Fields that the contract does not have would make its clients refuse the event.
fn read_content(sent: &Value) -> Result<Content, serde_json::Error> {
    let mut content = Content::deserialize(sent)?;
    match &mut content {
        Content::Text(text) => text.extra.clear(),
        Content::Image(image) => image.extra.clear(),
    }
    Ok(content)
}
