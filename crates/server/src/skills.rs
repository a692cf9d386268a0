//! The skills of a conversation, as its client asks for them.

use deft_engine::{OfProject, SkillSources};
use deft_skills::Skill;
use serde_json::Value;

use crate::agent::Agent;

/// Where an agent's skills come from; none if its client wants none. Those that the client sends count more than the
/// user's own.
pub(crate) fn sources_of(agent: &Agent, users_own: impl FnOnce() -> Vec<Skill>) -> Option<SkillSources> {
    let context = &agent.stored()["agent_context"];
    let wants = |flag: &str| context[flag] == true;
    let sent = context["skills"].as_array().into_iter().flatten();
    let read = |value: &Value| {
        let skill = deft_skills::sent(value);
        if skill.is_none() {
            tracing::warn!(name = %value["name"], "a skill that a client sent cannot be read");
        }
        skill
    };
    let mut others: Vec<_> = sent.filter_map(read).collect();
    if wants("load_user_skills") {
        others.extend(users_own());
    }
    let project = if wants("load_project_skills") {
        OfProject::Used
    } else {
        OfProject::LeftOut
    };
    if others.is_empty() && project == OfProject::LeftOut {
        return None;
    }
    let disabled = context["disabled_skills"].as_array().into_iter().flatten();
    Some(SkillSources {
        project,
        others,
        disabled: disabled.filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}
