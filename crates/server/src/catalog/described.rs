//! One conversation, as the store knows it.

use deft_engine::{ClientToolSpec, Safety};
use deft_store::ConversationRecord;
use deft_types::SecurityAnalyzer;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::children::children_of;
use crate::masking::{Mask, mask};
use crate::skills::UsedSkills;
use crate::summary::Summary;

/// What is known about a conversation.
pub(crate) struct Described {
    pub(crate) record: ConversationRecord,
    pub(crate) agent: Agent,
    /// What the client sent when it began the conversation. Holds secrets.
    pub(crate) request: Map<String, Value>,
    pub(crate) tags: Value,
    pub(crate) summary: Summary,
    pub(crate) used_skills: UsedSkills,
    pub(crate) persistence_dir: String,
    /// What else is kept of it.
    pub(crate) settings: Value,
}

impl Described {
    /// Who judges actions and which of them wait, as the client said when it began the conversation.
    pub(crate) fn safety(&self) -> Safety {
        Safety {
            policy: self.asked_for("confirmation_policy").unwrap_or_default(),
            analyzer: self
                .request
                .get("security_analyzer")
                .and_then(|analyzer| without_secrets(analyzer).ok()),
        }
    }

    /// What the client gave it secrets for, by name.
    pub(crate) fn secrets(&self) -> Option<&Map<String, Value>> {
        self.request.get("secrets")?.as_object()
    }

    /// The names of the secrets that it may have, where the profile that it was begun with says so.
    pub(crate) fn secret_refs(&self) -> Option<&Vec<Value>> {
        self.request.get("launched_agent_profile")?["secret_refs"].as_array()
    }

    /// The `llm` of the model that is to judge actions, where the client names one.
    pub(crate) fn judge(&self) -> Option<Value> {
        let llm_of = |analyzer: &Value| Some(analyzer["llm"].clone()).filter(Value::is_object);
        let analyzer = self.request.get("security_analyzer")?;
        let parts = analyzer["analyzers"].as_array().into_iter().flatten();
        llm_of(analyzer).or_else(|| parts.into_iter().find_map(llm_of))
    }

    /// The service that is to judge actions, where the client names one: its part of the analyser.
    pub(crate) fn monitor(&self) -> Option<&Value> {
        let is_monitor = |analyzer: &&Value| analyzer["kind"] == "GraySwanAnalyzer";
        let analyzer = self.request.get("security_analyzer")?;
        let parts = analyzer["analyzers"].as_array().into_iter().flatten();
        std::iter::once(analyzer).chain(parts).find(is_monitor)
    }

    /// The conversations that were begun from this one.
    pub(crate) fn children(&self) -> Vec<Value> {
        children_of(&self.settings)
    }

    /// The tools that the client runs itself.
    pub(crate) fn client_tools(&self) -> Vec<ClientToolSpec> {
        self.asked_for("client_tools").unwrap_or_default()
    }

    pub(crate) fn asked_for<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.request.get(name)?).ok()
    }
}

/// Who judges actions, without the keys that this takes: it is told to everybody and stands in the log.
pub(crate) fn without_secrets(analyzer: &Value) -> Result<SecurityAnalyzer, serde_json::Error> {
    let mut shown = analyzer.clone();
    mask(&mut shown, Mask::Null);
    SecurityAnalyzer::deserialize(shown)
}

/// Whether it takes a model or a service to judge actions so.
pub(crate) fn asks_others(analyzer: &Value) -> bool {
    let mut parts = analyzer["analyzers"].as_array().into_iter().flatten();
    analyzer["kind"] == "GraySwanAnalyzer"
        || analyzer["kind"] == "ToolShieldLLMSecurityAnalyzer"
        || parts.any(asks_others)
}
