//! Who gives a new conversation its title.

use std::sync::Arc;

use deft_llm::{CallLog, Model};
use serde_json::Value;

use super::Conversations;
use crate::catalog::Described;
use crate::launch::PROFILES;

/// Models that say what somebody wrote down for the agent: a question more would spoil it.
const SCRIPTED: [&str; 4] = ["demo", "script:", "replay:", "record:"];

impl Conversations {
    /// The model that is asked for a title when the user has said something, as the contract has it: unless the client
    /// says `autotitle: false`, that of the profile it names, the one that is set, or the agent's own.
    pub(super) async fn titles(&self, described: &Described, calls: &CallLog) -> Option<Arc<dyn Model>> {
        let said = |field| described.request.get(field);
        if described.record.last_seq.is_some() || said("autotitle") == Some(&Value::Bool(false)) {
            return None; // it has a title, or needs none
        }
        if let Some(Value::String(profile)) = said("title_llm_profile") {
            let llm = self
                .documents()
                .get(&format!("{PROFILES}{profile}"))
                .await
                .ok()??;
            return self.open_model(&llm, calls).ok();
        }
        let model = described.agent.model();
        if SCRIPTED.iter().any(|scripted| model.starts_with(scripted)) {
            return None;
        }
        let set = self.composition.title_model();
        let is_own = !described.agent.is_external(); // others keep their models to themselves
        set.or_else(|| {
            self.open_model(described.agent.llm(), calls)
                .ok()
                .filter(|_| is_own)
        })
    }
}
