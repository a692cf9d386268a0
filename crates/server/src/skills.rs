//! The skills of a conversation, as its client asks for them.

use deft_engine::{OfProject, SkillSources};
use deft_skills::Skill;
use deft_store::{Direction, EventFilter, Store, StoreError};
use deft_types::{ConversationId, EventBody, Observation};
use serde_json::Value;

use crate::agent::Agent;

/// Events of a kind that are looked through for skills.
const MAX_LOOKED_AT: usize = 10_000;

/// Skills that came to be used in a conversation, each once, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedSkills {
    /// By the words of a message.
    pub(crate) activated: Vec<String>,
    /// By the agent.
    pub(crate) invoked: Vec<String>,
}

impl UsedSkills {
    /// Looks through a log.
    pub(crate) async fn of(store: &dyn Store, id: ConversationId) -> Result<Self, StoreError> {
        let mut used = Self::default();
        for kind in ["MessageEvent", "ObservationEvent"] {
            let filter = EventFilter {
                kind: Some(kind.to_owned()),
                ..EventFilter::default()
            };
            let events = store.find_events(id, filter, Direction::Forward, None, MAX_LOOKED_AT);
            for (_, event) in events.await? {
                used.take(&event.body);
            }
        }
        Ok(used)
    }

    /// Takes in what an event says of them.
    pub(crate) fn take(&mut self, body: &EventBody) {
        match body {
            EventBody::Message(said) => {
                let activated = said.activated_skills.iter();
                activated.for_each(|name| add(&mut self.activated, name));
            }
            EventBody::Observation(seen) => {
                if let Observation::InvokeSkill(read) = &seen.observation
                    && !read.is_error
                {
                    add(&mut self.invoked, &read.skill_name);
                }
            }
            _ => {}
        }
    }
}

fn add(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|other| other == name) {
        names.push(name.to_owned());
    }
}

/// Whether an agent may have any: the logs of others need not be looked through.
pub(crate) fn may_use_skills(agent: &Agent) -> bool {
    let context = &agent.stored()["agent_context"];
    let sent = context["skills"].as_array().is_some_and(|sent| !sent.is_empty());
    sent || context["load_user_skills"] == true || context["load_project_skills"] == true
}

/// Whether what the workspace adds to agents counts, which then is reached when something is said.
pub(crate) fn of_project(agent: &Agent) -> OfProject {
    if agent.stored()["agent_context"]["load_project_skills"] == true {
        OfProject::Used
    } else {
        OfProject::LeftOut
    }
}

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
    let project = of_project(agent);
    if others.is_empty() && project == OfProject::LeftOut {
        return None;
    }
    let disabled = context["disabled_skills"].as_array().into_iter().flatten();
    Some(SkillSources {
        project,
        others,
        disabled: disabled.filter_map(Value::as_str).map(str::to_owned).collect(),
        files: None,
    })
}
