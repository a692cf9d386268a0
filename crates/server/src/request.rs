//! What clients send: the start of a conversation, a message, a change.

mod message;

use std::collections::HashSet;

use deft_engine::{ClientToolSpec, HookConfig};
use deft_tools::Toolbox;
use deft_types::{ConfirmationPolicy, ConversationId, Message, SecurityAnalyzer, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(crate) use self::message::SendRequest;
use self::message::read_message;
use crate::agent::Agent;
use crate::agent_fields;
use crate::failure::{Failure, Faults};
use crate::fields::{self, Gap, Kind, Others};
use crate::launch_additions;
use crate::start_fields::START;
use crate::validation::{Issue, NOT_FIELDS, Place};
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
    /// Refuses what cannot be understood of a request whose agent does not stand in it in full yet.
    pub(crate) fn check(body: &Value) -> Result<(), Failure> {
        Parts::read(body)?;
        Ok(launch_additions::check(object(body)?, body)?)
    }

    /// Reads and checks it.
    pub(crate) fn read(body: &Value) -> Result<Self, Failure> {
        let fields = object(body)?;
        let parts = Parts::read(body)?;
        let agent = the_only(parts.agent, body, fields)?;
        check_client_tools(&parts.plain, &agent)?;
        let mut kept = parts.plain;
        kept.remove("initial_message");
        kept.remove("agent_settings");
        kept.insert("agent".to_owned(), agent.stored().clone());
        kept.entry("max_iterations").or_insert(DEFAULT_ITERATIONS.into());
        let workspace = fields.get("workspace").unwrap_or(&Value::Null);
        kept.insert("workspace".to_owned(), parts.place.told(workspace));
        Ok(Self {
            id: parts.id,
            parent: parts.parent,
            place: parts.place,
            worktree: parts.worktree,
            initial_message: parts.message,
            tags: parts.tags.unwrap_or_default(),
            kept,
        })
    }
}

/// What stands in a start request.
struct Parts {
    place: Wanted,
    id: Option<ConversationId>,
    parent: Option<ConversationId>,
    message: Option<Message>,
    plain: Map<String, Value>,
    worktree: Option<Worktree>,
    tags: Option<Map<String, Value>>,
    agent: Option<Agent>,
}

impl Parts {
    /// Whatever is wrong is told at once, nearly in the order of the contract's fields.
    fn read(body: &Value) -> Result<Self, Failure> {
        let fields = object(body)?;
        if given(fields, "agent").is_some() && given(fields, "agent_profile_id").is_some() {
            let error = "`agent_profile_id` is mutually exclusive with `agent`";
            return Err(Issue::rule(&["body"], error, body).into());
        }
        let mut faults = Faults::default();
        let place = faults.take(match fields.get("workspace") {
            None => Err(Issue::missing(&["body", "workspace"], body).into()),
            Some(workspace) => Wanted::read(workspace),
        });
        let id = faults.take(id_of(fields, "conversation_id"));
        let parent = faults.take(id_of(fields, "parent_conversation_id"));
        let message = given(fields, "initial_message");
        let message = message.map(|message| read_message(message, &["body", "initial_message"]));
        let message = faults.take(message.transpose());
        let plain = faults.take(fields::read(&["body"], fields, START));
        let worktree = faults.take(Worktree::read(plain.as_ref().unwrap_or(fields)));
        let tags = faults.take(tags_of(fields));
        let settings = given(fields, "agent_settings").map(check_settings);
        let settings = faults.take(settings.transpose());
        let agent = faults.take(given(fields, "agent").map(Agent::read).transpose());
        let others = faults.take(refuse_what_would_be_ignored(plain.as_ref().unwrap_or(fields)));
        let (Some(place), Some(id), Some(parent), Some(message), Some(plain)) =
            (place, id, parent, message, plain)
        else {
            return Err(faults.told());
        };
        let (Some(worktree), Some(tags), Some(_), Some(agent), Some(())) =
            (worktree, tags, settings, agent, others)
        else {
            return Err(faults.told());
        };
        Ok(Self {
            place,
            id,
            parent,
            message,
            plain,
            worktree,
            tags,
            agent,
        })
    }
}

/// Settings that an agent is to be made of.
fn check_settings(sent: &Value) -> Result<(), Failure> {
    let place = &["body", "agent_settings"];
    let fields = sent
        .as_object()
        .ok_or_else(|| Issue::new("dict_type", place, "Input should be a valid dictionary", sent))?;
    fields::read(place, fields, agent_fields::SETTINGS).map(drop)
}

/// What a client asks for and does not get must not look as if it did.
fn refuse_what_would_be_ignored(fields: &Map<String, Value>) -> Result<(), Failure> {
    if let Some(runtime) = given(fields, "conversation_runtime").filter(|runtime| *runtime != "local") {
        tracing::debug!(%runtime, "a conversation in another place was refused");
        return Err(Failure::refused("This server only runs local conversations"));
    }
    if given(fields, "container").is_some() {
        return Err(Failure::refused(
            "This server has no `container`: to work in one, name it as the workspace, such as \
             \"workspace\": \"docker:IMAGE\"; its limits are the server's own settings",
        ));
    }
    // Read again when the conversation is loaded: what cannot be read must not count as nothing then.
    readable::<ConfirmationPolicy>(fields, "confirmation_policy")?;
    readable::<SecurityAnalyzer>(fields, "security_analyzer")?;
    readable::<Vec<ClientToolSpec>>(fields, "client_tools")?;
    if let Some(written) = given(fields, "hook_config")
        && let Err(error) = HookConfig::parse(written)
    {
        return Err(Issue::rule(&["body", "hook_config"], &error.to_string(), written).into());
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

/// Models cannot tell two tools of one name apart, and many refuse to be offered them.
fn check_client_tools(fields: &Map<String, Value>, agent: &Agent) -> Result<(), Failure> {
    let host = Toolbox::host().only(|tool| agent.wants(tool)).specs();
    let of_agent: HashSet<_> = agent
        .tool_names()
        .chain(host.iter().map(ToolSpec::name))
        .collect();
    let mut of_client = HashSet::new();
    let tools = given(fields, "client_tools").and_then(Value::as_array);
    for name in tools
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
    {
        let fault = if name.is_empty() {
            "A client tool needs a name".to_owned()
        } else if of_agent.contains(name) {
            format!(
                "Client tool name '{name}' collides with an existing non-client tool. \
                 Choose a unique client tool name."
            )
        } else if of_client.insert(name) {
            continue;
        } else {
            format!(
                "Duplicate client tool name '{name}' in one registration request. \
                 Client tool names must be unique."
            )
        };
        return Err(Failure::refused(fault));
    }
    Ok(())
}

/// The agent, where it is all that says which one is wanted.
fn the_only(agent: Option<Agent>, body: &Value, fields: &Map<String, Value>) -> Result<Agent, Issue> {
    let others = ["agent_settings", "agent_profile_id"].map(|name| given(fields, name).is_some());
    let error = match (agent, others) {
        (Some(agent), [_, false]) => return Ok(agent), // it counts more than settings
        (None, [false, false]) => "One of `agent`, `agent_settings`, or `agent_profile_id` must be provided",
        (None | Some(_), _) => "Only one of `agent_settings` and `agent_profile_id` can be given",
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
        const TITLE: Kind = Kind::Sized {
            least: 1,
            most: MAX_TITLE,
        };
        let mut faults = Faults::default();
        let fields = fields::read_body(body, &[("title", TITLE, Gap::Null)], Others::Kept);
        let title = fields.and_then(|fields| {
            let title = given(&fields, "title").and_then(Value::as_str);
            title.map(checked_title).transpose().map_err(Failure::from)
        });
        let title = faults.take(title);
        let tags = faults.take(tags_of(object(body)?));
        match (title, tags) {
            (Some(title), Some(tags)) => Ok(Self { title, tags }),
            _ => Err(faults.told()),
        }
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
    Issue::new("model_attributes_type", place, NOT_FIELDS, input)
}
