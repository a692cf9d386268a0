//! Events: the entries of a conversation's log.

mod body;
mod classification;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

pub use self::body::*;
pub use self::classification::{Classification, FailureKind, UserAction};
use crate::id::EventId;
use crate::tagged::Extra;
use crate::timestamp::Timestamp;

/// Whom an event comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The agent.
    Agent,
    /// The person.
    User,
    /// The system around the agent.
    Environment,
    /// A hook.
    Hook,
}

/// One entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its own id.
    pub id: EventId,
    /// When it happened. For people: order is by `seq`.
    pub timestamp: Timestamp,
    /// Whom it comes from.
    pub source: Source,
    /// The event it follows in the tree of branches.
    pub parent_id: Option<EventId>,
    /// What happened.
    pub body: EventBody,
}

impl Event {
    /// The value of the `kind` field.
    pub fn kind(&self) -> &str {
        self.body.kind()
    }
}

/// The fields in the order in which the reference writes them; the body brings its `kind` along.
#[derive(Serialize)]
struct Wire<'a> {
    id: &'a EventId,
    timestamp: &'a Timestamp,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<&'a EventId>,
    #[serde(flatten)]
    body: &'a EventBody,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = Wire {
            id: &self.id,
            timestamp: &self.timestamp,
            source: self.source,
            parent_id: self.parent_id.as_ref(),
            body: &self.body,
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Extra::deserialize(deserializer)?;
        let mut take = |name: &'static str| fields.remove(name);
        let required = |value: Option<Value>, name| value.ok_or_else(|| D::Error::missing_field(name));

        let id = required(take("id"), "id")?;
        let timestamp = required(take("timestamp"), "timestamp")?;
        let source = required(take("source"), "source")?;
        let parent_id = take("parent_id").unwrap_or(Value::Null);
        let kind = required(take("kind"), "kind")?;
        let kind: String = serde_json::from_value(kind).map_err(D::Error::custom)?;
        Ok(Self {
            id: serde_json::from_value(id).map_err(D::Error::custom)?,
            timestamp: serde_json::from_value(timestamp).map_err(D::Error::custom)?,
            source: serde_json::from_value(source).map_err(D::Error::custom)?,
            parent_id: serde_json::from_value(parent_id).map_err(D::Error::custom)?,
            body: EventBody::from_fields(&kind, fields),
        })
    }
}
