//! What a conversation is begun with.

use deft_types::{ConfirmationPolicy, ConversationId, Secret};
use serde_json::{Value, json};

/// A conversation to begin.
#[derive(Clone, Debug)]
pub struct NewConversation {
    model: String,
    api_key: Option<Secret<String>>,
    working_dir: String,
    tools: Vec<String>,
    id: Option<ConversationId>,
    policy: ConfirmationPolicy,
}

impl NewConversation {
    /// One with this model in this directory of the server's, with a terminal and a file editor.
    pub fn new(model: impl Into<String>, working_dir: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            api_key: None,
            working_dir: working_dir.into(),
            tools: ["terminal", "file_editor"].map(str::to_owned).to_vec(),
            id: None,
            policy: ConfirmationPolicy::NeverConfirm,
        }
    }

    /// Uses this key for the model, and not the server's own.
    #[must_use]
    pub fn with_api_key(mut self, key: Secret<String>) -> Self {
        self.api_key = Some(key);
        self
    }

    /// Gives the agent these tools, and those that every agent has.
    #[must_use]
    pub fn with_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tools = names.into_iter().map(Into::into).collect();
        self
    }

    /// Names it, so that the same request again begins no second one.
    #[must_use]
    pub fn with_id(mut self, id: ConversationId) -> Self {
        self.id = Some(id);
        self
    }

    /// Lets actions wait for a person's word.
    #[must_use]
    pub fn with_policy(mut self, policy: ConfirmationPolicy) -> Self {
        self.policy = policy;
        self
    }

    pub(crate) fn body(&self) -> Value {
        let mut llm = json!({"model": self.model, "usage_id": "agent", "stream": true});
        if let Some(key) = &self.api_key {
            llm["api_key"] = key.expose().as_str().into();
        }
        let tools: Vec<_> = self.tools.iter().map(|name| json!({"name": name})).collect();
        json!({
            "agent": {"kind": "Agent", "llm": llm, "tools": tools},
            "workspace": {"kind": "LocalWorkspace", "working_dir": self.working_dir},
            "conversation_id": self.id,
            "confirmation_policy": self.policy,
        })
    }
}
