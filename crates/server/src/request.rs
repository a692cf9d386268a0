//! What clients send: the start of a conversation, a message, a change.

use deft_engine::{ClientToolSpec, HookConfig};
use deft_types::{ConfirmationPolicy, Content, ConversationId, Message, Role, SecurityAnalyzer};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::agent::Agent;
use crate::failure::Failure;
use crate::validation::{Issue, Place};
use crate::wanted::Wanted;
use crate::worktree::Worktree;

/// The longest title and the longest value of a tag, in characters.
const MAX_TITLE: usize = 200;
const MAX_TAG: usize = 256;
/// Model calls in one run, where the client does not say.
const DEFAULT_ITERATIONS: u64 = 500;

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
    /// Reads and checks it.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let fields = object(body)?;
        let place = match fields.get("workspace") {
            None => return Err(Issue::missing(&["body", "workspace"], body).into()),
            Some(workspace) => Wanted::read(workspace)?,
        };
        let agent = agent_of(body, fields)?;
        if let Some(runtime) = given(fields, "conversation_runtime").filter(|runtime| *runtime != "local") {
            tracing::debug!(%runtime, "a conversation in another place was refused");
            return Err(Failure::refused("This server only runs local conversations"));
        }
        refuse_what_would_be_ignored(fields)?;
        let iterations = given(fields, "max_iterations")
            .cloned()
            .unwrap_or(DEFAULT_ITERATIONS.into());
        if iterations.as_u64().is_none_or(|iterations| iterations == 0) {
            let msg = "Input should be greater than or equal to 1";
            let issue = Issue::new(
                "greater_than_equal",
                &["body", "max_iterations"],
                msg,
                &iterations,
            );
            return Err(issue.with(json!({"ge": 1})).into());
        }
        let tags = tags_of(fields)?.unwrap_or_default();
        let initial_message = match given(fields, "initial_message") {
            Some(message) => Some(read_message(message, &["body", "initial_message"])?),
            None => None,
        };
        let mut kept = fields.clone();
        kept.remove("initial_message");
        kept.insert("agent".to_owned(), agent.stored().clone());
        kept.insert("max_iterations".to_owned(), iterations);
        kept.insert("workspace".to_owned(), place.told(&fields["workspace"]));
        Ok(Self {
            id: id_of(fields, "conversation_id")?,
            parent: id_of(fields, "parent_conversation_id")?,
            place,
            worktree: Worktree::read(fields)?,
            initial_message,
            tags,
            kept,
        })
    }
}

/// What a client asks for and does not get must not look as if it did.
fn refuse_what_would_be_ignored(fields: &Map<String, Value>) -> Result<(), Failure> {
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

fn agent_of(body: &Value, fields: &Map<String, Value>) -> Result<Agent, Failure> {
    let sources = ["agent", "agent_settings", "agent_profile_id"];
    let [agent, settings, profile] = sources.map(|name| given(fields, name));
    match (agent, settings, profile) {
        (Some(agent), None, None) => Agent::read(agent),
        (None, None, None) => {
            let error = "One of `agent`, `agent_settings`, or `agent_profile_id` must be provided";
            Err(Issue::rule(&["body"], error, body).into())
        }
        (Some(_), _, Some(_)) => {
            let error = "`agent_profile_id` is mutually exclusive with `agent`";
            Err(Issue::rule(&["body"], error, body).into())
        }
        (_, _, Some(_)) | (_, Some(_), _) => {
            let error = "Only one of `agent`, `agent_settings`, or `agent_profile_id` can be given";
            Err(Issue::rule(&["body"], error, body).into())
        }
    }
}

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
fn read_message(sent: &Value, place: Place) -> Result<Message, Failure> {
    let at = |field| [place, &[field]].concat();
    let role = sent.get("role").cloned().unwrap_or("user".into());
    if Role::deserialize(&role).is_err() {
        let words = ["user", "system", "assistant", "tool"];
        return Err(Issue::choice(&at("role"), &words, role.as_str().unwrap_or_default()).into());
    }
    let content = match sent.get("content") {
        None => Vec::new(),
        Some(Value::Array(items)) => {
            items
                .iter()
                .map(read_content)
                .collect::<Result<_, _>>()
                .map_err(|error| {
                    let error = format!("an item cannot be read: {error}");
                    Issue::rule(&at("content"), &error, &json!(items))
                })?
        }
        Some(other) => {
            return Err(
                Issue::new("list_type", &at("content"), "Input should be a valid list", other).into(),
            );
        }
    };
    if role != "user" {
        let only = "Only user messages are allowed to be sent to the agent.";
        return Err(Failure::internal(only, &only));
    }
    Ok(Message::new(Role::User, content))
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
    body.as_object().ok_or_else(|| {
        let msg = "Input should be a valid dictionary or object to extract fields from";
        Issue::new("model_attributes_type", &["body"], msg, body)
    })
}
