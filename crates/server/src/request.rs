//! What clients send: the start of a conversation, a message, a change.

mod message;

use deft_engine::{ClientToolSpec, HookConfig};
use deft_types::{ConfirmationPolicy, ConversationId, Message, SecurityAnalyzer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(crate) use self::message::SendRequest;
use self::message::read_message;
use crate::agent::Agent;
use crate::failure::{Failure, Faults};
use crate::fields::{self, Kind, Null};
use crate::validation::{Issue, Place};
use crate::wanted::Wanted;
use crate::worktree::Worktree;

/// The longest title and the longest value of a tag, in characters.
const MAX_TITLE: usize = 200;
const MAX_TAG: usize = 256;
/// Model calls in one run, where the client does not say.
const DEFAULT_ITERATIONS: u64 = 500;

/// The fields of a start request that are nothing but themselves.
#[rustfmt::skip]
const PLAIN: &fields::Table = &[
    ("worktree", Kind::Switch, Null::Refused),
    ("max_iterations", Kind::Integer { least: Some(1) }, Null::Refused),
    ("stuck_detection", Kind::Switch, Null::Refused),
    ("user_id", Kind::Text, Null::Allowed),
    ("autotitle", Kind::Switch, Null::Refused),
    ("title_llm_profile", Kind::Text, Null::Allowed),
    ("prompt", Kind::Text, Null::Allowed),
];

/// A conversation to begin.
pub(crate) struct StartRequest {
    pub(crate) id: Option<ConversationId>,
    pub(crate) parent: Option<ConversationId>,
    pub(crate) place: Wanted,
    /// Whether it works in a copy of the repository that is there.
    pub(crate) worktree: Option<Worktree>,
    pub(crate) initial_message: Option<Message>,
    pub(crate) tags: Map<String, Value>,
    /// The whole of it, with the agent complete and without the message.
    pub(crate) kept: Map<String, Value>,
}

impl StartRequest {
    /// Reads and checks it. Whatever is wrong is told at once, in the order of the contract's fields.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let fields = object(body)?;
        if given(fields, "agent").is_some() && given(fields, "agent_profile_id").is_some() {
            let error = "`agent_profile_id` is mutually exclusive with `agent`";
            return Err(Issue::rule(&["body"], error, body).into());
        }
        let mut faults = Faults::default();
        let place = faults.take(match fields.get("workspace") {
            None => Err(Issue::missing(&["body", "workspace"], body).into()),
            Some(workspace) => Wanted::read(workspace).map(|wanted| (wanted, workspace)),
        });
        let id = faults.take(id_of(fields, "conversation_id"));
        let parent = faults.take(id_of(fields, "parent_conversation_id"));
        let message = given(fields, "initial_message");
        let message = message.map(|message| read_message(message, &["body", "initial_message"]));
        let message = faults.take(message.transpose());
        let plain = faults.take(fields::read(&["body"], fields, PLAIN));
        let worktree = faults.take(Worktree::read(plain.as_ref().unwrap_or(fields)));
        let tags = faults.take(tags_of(fields));
        let agent = faults.take(given(fields, "agent").map(Agent::read).transpose());
        let others = faults.take(refuse_what_would_be_ignored(fields));
        let (Some((place, workspace)), Some(worktree), Some(id), Some(parent), Some(initial_message)) =
            (place, worktree, id, parent, message)
        else {
            return Err(faults.told());
        };
        let (Some(mut kept), Some(tags), Some(agent), Some(())) = (plain, tags, agent, others) else {
            return Err(faults.told());
        };
        let agent = the_only(agent, body, fields)?;
        kept.remove("initial_message");
        kept.insert("agent".to_owned(), agent.stored().clone());
        kept.entry("max_iterations").or_insert(DEFAULT_ITERATIONS.into());
        kept.insert("workspace".to_owned(), place.told(workspace));
        Ok(Self {
            id,
            parent,
            place,
            worktree,
            initial_message,
            tags: tags.unwrap_or_default(),
            kept,
        })
    }
}

/// What a client asks for and does not get must not look as if it did.
fn refuse_what_would_be_ignored(fields: &Map<String, Value>) -> Result<(), Failure> {
    if let Some(runtime) = given(fields, "conversation_runtime").filter(|runtime| *runtime != "local") {
        tracing::debug!(%runtime, "a conversation in another place was refused");
        return Err(Failure::refused("This server only runs local conversations"));
    }
    // Read again when the conversation is loaded: what cannot be read must not count as nothing then.
    readable::<ConfirmationPolicy>(fields, "confirmation_policy")?;
    readable::<SecurityAnalyzer>(fields, "security_analyzer")?;
    readable::<Vec<ClientToolSpec>>(fields, "client_tools")?;
    if let Some(Err(error)) = given(fields, "hook_config").map(HookConfig::parse) {
        return Err(Failure::refused(format!("`hook_config` cannot be used: {error}")));
    }
    Ok(())
}

/// A text that must be there and say something.
pub(crate) fn text<'a>(body: &'a Value, name: &str) -> Result<&'a str, Issue> {
    let place = &["body", name];
    match object(body)?.get(name) {
        None => Err(Issue::missing(place, body)),
        Some(Value::String(text)) if text.is_empty() => {
            let msg = "String should have at least 1 character";
            Err(Issue::new("string_too_short", place, msg, &"".into()).with(json!({"min_length": 1})))
        }
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(Issue::new(
            "string_type",
            place,
            "Input should be a valid string",
            other,
        )),
    }
}

fn readable<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str) -> Result<(), Failure> {
    match given(fields, name).map(T::deserialize) {
        Some(Err(error)) => Err(Failure::refused(format!("`{name}` cannot be used: {error}"))),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// The agent, where it is all that says which one is wanted.
fn the_only(agent: Option<Agent>, body: &Value, fields: &Map<String, Value>) -> Result<Agent, Issue> {
    let others = ["agent_settings", "agent_profile_id"].map(|name| given(fields, name).is_some());
    let error = match (agent, others) {
        (Some(agent), [false, false]) => return Ok(agent),
        (None, [false, false]) => "One of `agent`, `agent_settings`, or `agent_profile_id` must be provided",
        (None | Some(_), _) => "Only one of `agent`, `agent_settings`, or `agent_profile_id` can be given",
    };
    Err(Issue::rule(&["body"], error, body))
}

/// What a client wants to change about a conversation.
pub(crate) struct ChangeRequest {
    pub(crate) title: Option<String>,
    pub(crate) tags: Option<Map<String, Value>>,
}

impl ChangeRequest {
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let fields = object(body)?;
        let title = match given(fields, "title") {
            None => None,
            Some(Value::String(title)) => Some(checked_title(title)?),
            Some(other) => {
                let place = &["body", "title"];
                return Err(Issue::new("string_type", place, "Input should be a valid string", other).into());
            }
        };
        Ok(Self {
            title,
            tags: tags_of(fields)?,
        })
    }
}

pub(crate) fn checked_title(title: &str) -> Result<String, Issue> {
    let place = &["body", "title"];
    let input = Value::from(title);
    let stripped = title.trim();
    if stripped.is_empty() {
        return Err(Issue::rule(place, "title must not be blank", &input));
    }
    if title.chars().count() > MAX_TITLE {
        let msg = format!("String should have at most {MAX_TITLE} characters");
        let issue = Issue::new("string_too_long", place, msg, &input);
        return Err(issue.with(json!({"max_length": MAX_TITLE})));
    }
    Ok(stripped.to_owned())
}

pub(crate) fn tags_of(fields: &Map<String, Value>) -> Result<Option<Map<String, Value>>, Issue> {
    let place = &["body", "tags"];
    let Some(sent) = given(fields, "tags") else {
        return Ok(None);
    };
    let Some(tags) = sent.as_object() else {
        return Err(Issue::new(
            "dict_type",
            place,
            "Input should be a valid dictionary",
            sent,
        ));
    };
    for (key, value) in tags {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if key.is_empty() || !key.chars().all(is_plain) {
            let error = format!("Tag key '{key}' is invalid: keys must be lowercase alphanumeric only");
            return Err(Issue::rule(place, &error, sent));
        }
        if value.as_str().is_none_or(|value| value.chars().count() > MAX_TAG) {
            let error = format!("Tag value for '{key}' must be text of at most {MAX_TAG} characters");
            return Err(Issue::rule(place, &error, sent));
        }
    }
    Ok(Some(tags.clone()))
}

pub(crate) fn id_of(fields: &Map<String, Value>, name: &str) -> Result<Option<ConversationId>, Issue> {
    let Some(text) = given(fields, name) else {
        return Ok(None);
    };
    let text = text.as_str().unwrap_or_default();
    Uuid::parse_str(text)
        .map(|id| Some(ConversationId(id)))
        .map_err(|error| Issue::bad_uuid(&["body", name], text, &error))
}

/// A field that is there and not null, which means the same as absent.
pub(crate) fn given<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

pub(crate) fn object(body: &Value) -> Result<&Map<String, Value>, Issue> {
    body.as_object().ok_or_else(|| not_an_object(&["body"], body))
}

/// There should be fields, and is something else.
pub(crate) fn not_an_object(place: Place, input: &Value) -> Issue {
    let msg = "Input should be a valid dictionary or object to extract fields from";
    Issue::new("model_attributes_type", place, msg, input)
}
