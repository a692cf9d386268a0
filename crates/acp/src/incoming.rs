//! What an agent tells without being asked.

use serde_json::{Value, json};

/// The longest value of a call that is passed on; a longer one is cut.
const MAX_VALUE_BYTES: usize = 256 * 1024;
/// How much of a plan is passed on: so many entries, so many characters of each.
const MAX_PLAN_ENTRIES: usize = 200;
const MAX_PLAN_CHARS: usize = 2_000;

/// What an agent tells.
#[derive(Debug)]
pub enum Incoming {
    /// What it does.
    Update(Update),
    /// It wants to do something and asks whether it may. It waits for the answer.
    Permission(Box<Permission>),
}

/// What an agent does.
#[derive(Debug, PartialEq)]
pub enum Update {
    /// A piece of what it says.
    Text(String),
    /// A piece of what it thinks.
    Thought(String),
    /// A tool call begins, or there is news of one.
    ToolCall(Box<ToolCallUpdate>),
    /// What it means to do, whole, and how far it is.
    Plan(Vec<PlanEntry>),
    /// What the session has cost until now, in dollars.
    Cost(f64),
    /// Something else.
    Other,
}

/// One thing that an agent means to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// What.
    pub content: String,
    /// How far it is: `pending`, `in_progress`, `completed`.
    pub status: String,
}

/// News of a tool call: what is not there is as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCallUpdate {
    /// The call.
    pub id: String,
    /// In a few words, what it does.
    pub title: Option<String>,
    /// What sort of tool: `read`, `edit`, `execute` …
    pub kind: Option<String>,
    /// How far it is: `pending`, `in_progress`, `completed`, `failed`.
    pub status: Option<String>,
    /// What went in.
    pub raw_input: Option<Value>,
    /// What came out.
    pub raw_output: Option<Value>,
    /// What came out, in parts.
    pub content: Option<Vec<Value>>,
}

/// A question that waits for an answer.
#[derive(Debug)]
pub struct Permission {
    pub(crate) id: Value,
    /// The call it is about.
    pub call: ToolCallUpdate,
    options: Vec<(String, String)>,
}

/// What can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It may, this once.
    Allow,
    /// It may not; the agent goes on without.
    Reject,
    /// Nobody decides: the turn is at its end.
    Cancel,
}

impl Incoming {
    pub(crate) fn update(mut params: Value) -> Self {
        Self::Update(Update::read(params["update"].take()))
    }

    pub(crate) fn permission(id: Value, mut params: Value) -> Self {
        let options = params["options"].as_array().into_iter().flatten();
        let options = options.filter_map(|option| {
            let text = |name: &str| option[name].as_str().map(str::to_owned);
            Some((text("kind")?, text("optionId")?))
        });
        Self::Permission(Box::new(Permission {
            id,
            options: options.collect(),
            call: ToolCallUpdate::read(params["toolCall"].take()),
        }))
    }
}

impl Update {
    fn read(update: Value) -> Self {
        let text = |update: &Value| match update["content"]["type"].as_str() {
            Some("text") => update["content"]["text"].as_str().map(str::to_owned),
            _ => None,
        };
        let dollars = |cost: &Value| cost["amount"].as_f64().filter(|_| cost["currency"] == "USD");
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => text(&update).map_or(Self::Other, Self::Text),
            Some("agent_thought_chunk") => text(&update).map_or(Self::Other, Self::Thought),
            Some("tool_call" | "tool_call_update") => Self::ToolCall(Box::new(ToolCallUpdate::read(update))),
            Some("plan") => Self::Plan(plan(&update["entries"])),
            Some("usage_update") => dollars(&update["cost"]).map_or(Self::Other, Self::Cost),
            _ => Self::Other,
        }
    }
}

fn plan(entries: &Value) -> Vec<PlanEntry> {
    let entries = entries.as_array().into_iter().flatten().take(MAX_PLAN_ENTRIES);
    let entry = |entry: &Value| {
        let content = entry["content"].as_str()?;
        Some(PlanEntry {
            content: content.chars().take(MAX_PLAN_CHARS).collect(),
            status: entry["status"].as_str().unwrap_or("pending").to_owned(),
        })
    };
    entries.filter_map(entry).collect()
}

impl ToolCallUpdate {
    fn read(mut call: Value) -> Self {
        let text = |name: &str| call[name].as_str().map(str::to_owned);
        let (id, title) = (text("toolCallId").unwrap_or_default(), text("title"));
        let (kind, status) = (text("kind"), text("status"));
        let mut value = |name: &str| Some(call[name].take()).filter(|value| !value.is_null()).map(cut);
        let (raw_input, raw_output) = (value("rawInput"), value("rawOutput"));
        let content = match value("content") {
            Some(Value::Array(parts)) => Some(parts),
            Some(cut @ Value::String(_)) => Some(vec![
                json!({"type": "content", "content": {"type": "text", "text": cut}}),
            ]),
            _ => None,
        };
        Self {
            id,
            title,
            kind,
            status,
            raw_input,
            raw_output,
            content,
        }
    }
}

impl Permission {
    /// The answer in the agent's own terms: one of its options, of those that hold for this call alone if there is one.
    /// It is a refusal where the agent offers no way to say yes.
    pub(crate) fn outcome(&self, choice: Choice) -> Value {
        let kinds: &[&str] = match choice {
            Choice::Allow => &["allow_once", "allow_always"],
            Choice::Reject => &["reject_once", "reject_always"],
            Choice::Cancel => &[],
        };
        let offered = |kind: &&str| self.options.iter().find(|(of, _)| of == kind);
        match kinds.iter().find_map(offered) {
            Some((_, option)) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
            None => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }
}

/// A value that is too long becomes the beginning of its text.
fn cut(value: Value) -> Value {
    let text = value.to_string();
    if text.len() <= MAX_VALUE_BYTES {
        return value;
    }
    let end = text.floor_char_boundary(MAX_VALUE_BYTES);
    Value::String(format!(
        "{}… [cut: it is {} bytes long]",
        &text[..end],
        text.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(options: &Value) -> Permission {
        match Incoming::permission(
            json!(7),
            json!({"toolCall": {"toolCallId": "c1"}, "options": options}),
        ) {
            Incoming::Permission(permission) => *permission,
            Incoming::Update(_) => unreachable!(),
        }
    }

    #[test]
    fn a_yes_is_for_once_where_that_is_offered_and_never_made_up() {
        let both = json!([{"optionId": "always", "kind": "allow_always"}, {"optionId": "once", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"}]);
        let selected = |option: &str| json!({"outcome": {"outcome": "selected", "optionId": option}});
        let cancelled = json!({"outcome": {"outcome": "cancelled"}});
        assert_eq!(permission(&both).outcome(Choice::Allow), selected("once"));
        assert_eq!(permission(&both).outcome(Choice::Reject), selected("no"));
        assert_eq!(permission(&both).outcome(Choice::Cancel), cancelled);
        assert_eq!(permission(&json!([])).outcome(Choice::Allow), cancelled);
    }

    #[test]
    fn what_is_unknown_or_too_long_breaks_nothing() {
        assert_eq!(
            Update::read(json!({"sessionUpdate": "of tomorrow"})),
            Update::Other
        );
        assert_eq!(Update::read(json!("nonsense")), Update::Other);
        let long = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "rawOutput": "x".repeat(MAX_VALUE_BYTES * 2)});
        let Update::ToolCall(call) = Update::read(long) else {
            unreachable!()
        };
        let kept = call.raw_output.unwrap();
        assert!(kept.as_str().unwrap().len() < MAX_VALUE_BYTES + 100);
    }
}
