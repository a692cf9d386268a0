//! Agents with tasks: what they have from this conversation, and what is asked for in their place.

use std::collections::BTreeMap;

use deft_store::StoreError;
use deft_types::{Extra, SecurityAnalysisEvent, SecurityRisk, Source};
use serde_json::json;

use super::Actor;
use crate::above::{Above, Handed};
use crate::conversation::Safety;
use crate::state::{self, OpenCall, key};
use crate::status::Trigger;
use crate::tasks::{AGENT_OF_TASK, Waiting};
use crate::turn::Draft;

impl Actor {
    /// Lets those below know how things are here now.
    pub(crate) fn hand_down(&self) {
        self.below.hand_down(Handed {
            safety: Safety {
                policy: self.policy().clone(),
                analyzer: self.analyzer().cloned(),
            },
            allow_rules: [self.state.allow_rules.as_slice(), &self.project_rules.rules].concat(),
            judge: self.judge_model.clone(),
            secrets: self.outfit.secrets.clone(),
            described_secrets: self.extensions.brief.secrets.clone(),
            hooks: self.extensions.hooks.clone(),
        });
    }

    /// Takes over the secrets that were set above since the task was given.
    pub(super) async fn heed_secrets_above(&mut self) -> Result<(), StoreError> {
        let Some(mut secrets) = self.above.as_ref().map(Above::secrets) else {
            return Ok(());
        };
        if secrets.values == self.secrets_above {
            return Ok(());
        }
        let above = secrets.values.clone();
        secrets.add(&self.outfit.secrets);
        if secrets.values != self.outfit.secrets.values {
            self.set_secrets(secrets).await?;
        }
        self.secrets_above = above;
        Ok(())
    }

    /// The event that there are more agents that are called by name, if there are.
    pub(super) fn new_delegates(&self) -> Option<Draft> {
        let delegates = self.tasks.new_delegates()?;
        let told = state::update(key::DELEGATES, json!(delegates));
        Some(Draft::new(Source::Environment, told))
    }

    /// Agents of a call wait for a word. The call stays open.
    pub(super) async fn take_waiting(
        &mut self,
        call: &OpenCall,
        waiting: Vec<Waiting>,
    ) -> Result<(), StoreError> {
        let mut drafts: Vec<_> = self.spent().into_iter().collect();
        let told = state::update(key::TASK_WAITS, json!({"action_id": call.id, "waiting": waiting}));
        drafts.push(Draft::new(Source::Environment, told));
        self.record(drafts).await
    }

    /// Whether agents with tasks wait for a word that nobody has said.
    pub(super) fn asks_for_tasks(&self) -> bool {
        let mut open = self.state.open_calls.iter();
        open.any(|call| !call.waiting.is_empty() && !self.unsent.contains(&call.id))
    }

    /// Waits in the place of agents with tasks, and says what they want.
    pub(super) async fn ask_for_tasks(&mut self) -> Result<(), StoreError> {
        let waiting = self.state.open_calls.iter();
        let waiting: Vec<_> = waiting
            .filter(|call| !call.waiting.is_empty())
            .map(|call| {
                let told: Vec<_> = call.waiting.iter().map(Waiting::told).collect();
                (call.id.clone(), told.join(". "))
            })
            .collect();
        let told = SecurityAnalysisEvent {
            analyzer: AGENT_OF_TASK.to_owned(),
            policy: self.policy().kind().to_owned(),
            risks: waiting
                .iter()
                .map(|(id, _)| (id.clone(), SecurityRisk::Unknown))
                .collect::<BTreeMap<_, _>>(),
            details: waiting
                .into_iter()
                .map(|(id, told)| (id.to_string(), json!(told)))
                .collect(),
            extra: Extra::new(),
        };
        let mut drafts = vec![Draft::new(Source::Environment, told)];
        drafts.extend(self.status_after(Trigger::Ask));
        self.record(drafts).await
    }

    /// Lets go of agents that waited for a word which nobody will say any more.
    pub(super) async fn settle_tasks(&mut self) {
        let open = self.state.open_calls.iter();
        let awaited: Vec<_> = open
            .flat_map(|call| &call.waiting)
            .map(|waiting| waiting.task_id.clone())
            .collect();
        self.tasks.let_go_of_all_but(&awaited).await;
    }
}
