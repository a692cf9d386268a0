//! What a client adds to an agent for one conversation, whatever the agent is made of.

use serde_json::{Map, Value, json};

use crate::external;
use crate::plugins::append;
use crate::request::given;
use crate::validation::Issue;

const FIELD: &str = "agent_launch_additions";

/// The model that a conversation is to have in the place of the one that the profile of its agent names.
pub(crate) fn model(request: &Map<String, Value>) -> Option<&str> {
    given(request, FIELD)?["llm_profile_ref"].as_str()
}

/// Refuses another model for an agent that does not come from a profile: it can be named right there.
pub(crate) fn check(request: &Map<String, Value>, body: &Value) -> Result<(), Issue> {
    if model(request).is_some() && given(request, "agent_profile_id").is_none() {
        let error = "`agent_launch_additions.llm_profile_ref` requires `agent_profile_id`";
        return Err(Issue::rule(&["body"], error, body));
    }
    Ok(())
}

/// Adds to the instructions and to the skills of the agent. A skill that it has already stays as it is; programs of their
/// own have skills of their own.
pub(crate) fn add(request: &mut Map<String, Value>) {
    let Some(additions) = given(request, FIELD).cloned() else {
        return;
    };
    let Some(agent) = request.get_mut("agent").and_then(Value::as_object_mut) else {
        return;
    };
    let takes_skills = agent.get("kind").is_none_or(|kind| kind != external::KIND);
    let context = agent.entry("agent_context").or_insert(Value::Null);
    if context.is_null() {
        *context = json!({});
    }
    if let Some(more) = said(&additions["system_message_suffix_append"]) {
        let suffix = match said(&context["system_message_suffix"]) {
            Some(before) => format!("{before}\n\n{more}"),
            None => more.to_owned(),
        };
        context["system_message_suffix"] = suffix.into();
    }
    if let Some(skills) = additions["skills"].as_array().filter(|_| takes_skills) {
        append(&mut context["skills"], skills.iter().cloned());
    }
}

/// A text that says something, without the space around it.
fn said(text: &Value) -> Option<&str> {
    text.as_str().map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(agent: &Value) -> Value {
        let skills = json!([{"name": "a", "content": "new"}, {"name": "b", "content": "b"}]);
        let additions = json!({"system_message_suffix_append": " more ", "skills": skills});
        let mut request = json!({"agent": agent, FIELD: additions});
        add(request.as_object_mut().unwrap());
        request["agent"]["agent_context"].take()
    }

    #[test]
    fn what_is_added_stands_behind_what_the_agent_has() {
        let had = json!({"system_message_suffix": "before\n", "skills": [{"name": "a", "content": "old"}]});
        let context = added(&json!({"agent_context": had}));
        assert_eq!(context["system_message_suffix"], "before\n\nmore");
        let skills = json!([{"name": "a", "content": "old"}, {"name": "b", "content": "b"}]);
        assert_eq!(context["skills"], skills);
    }

    #[test]
    fn an_agent_without_a_context_has_what_is_added() {
        assert_eq!(
            added(&json!({"agent_context": null}))["system_message_suffix"],
            "more"
        );
        let program = added(&json!({"kind": external::KIND}));
        assert_eq!(program, json!({"system_message_suffix": "more"}));
    }
}
