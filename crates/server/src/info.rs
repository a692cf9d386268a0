//! A conversation as clients are told about it: `ConversationInfo` in answers, `full_state` in frames.

use std::time::SystemTime;

use axum::extract::ws::Utf8Bytes;
use deft_types::{
    ConfirmationPolicy, ConversationStateUpdateEvent, Event, Extra, Seq, Source, Status, Timestamp,
};
use reqwest::Url;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::catalog::{Described, field};
use crate::hooks;
use crate::masking::{Mask, looks_secret, mask, without_keys, without_nulls};
use crate::summary::Leaf;
use crate::tool_choices::python_module;

/// Whether an answer carries the texts of skills, which are long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skills {
    Included,
    LeftOut,
}

/// Where a conversation's tools run, for the contract's sake: always here.
pub(crate) fn runtime_info() -> Value {
    json!({"runtime_status": "available", "can_resume": true, "runtime_error": null})
}

impl Described {
    /// What the client said, or what it means to have said nothing.
    fn said(&self, field: &str, otherwise: Value) -> Value {
        match self.request.get(field) {
            Some(value) if !value.is_null() => value.clone(),
            _ => otherwise,
        }
    }

    /// Who judges actions, without the keys that this takes.
    fn analyzer(&self, mask_with: Mask) -> Value {
        let mut analyzer = self.said("security_analyzer", Value::Null);
        mask(&mut analyzer, mask_with);
        analyzer
    }

    /// The hooks that the client asked for.
    pub(crate) fn asked_hooks(&self) -> Option<&Value> {
        self.request.get("hook_config").filter(|config| !config.is_null())
    }

    fn workspace(&self) -> Value {
        let mut workspace = self.said("workspace", json!({"working_dir": self.record.workspace}));
        if let Some(fields) = workspace.as_object_mut() {
            fields.remove("kind");
            fields.insert("kind".to_owned(), "LocalWorkspace".into());
        }
        workspace
    }

    /// Which secrets there are, and nothing of what they hold.
    fn secret_registry(&self) -> Value {
        let secrets = self.said("secrets", json!({}));
        let sources = secrets.as_object().into_iter().flatten();
        let sources: Map<_, _> = sources
            .map(|(name, sent)| (name.clone(), shown_secret(sent)))
            .collect();
        json!({ "secret_sources": sources })
    }

    /// The tools that the client runs itself.
    fn shown_client_tools(&self) -> Value {
        let mut tools = self.said("client_tools", json!([]));
        for tool in tools.as_array_mut().into_iter().flatten() {
            if let Some(fields) = tool.as_object_mut() {
                fields.entry("annotations").or_insert(Value::Null);
            }
        }
        tools
    }

    /// The agent as clients see it: the tools that a client runs itself are among its tools.
    fn shown_agent(&self, mask_with: Mask) -> Value {
        let mut agent = self.agent.shown(mask_with);
        let mut specs = self.shown_client_tools();
        if let (Some(tools), Some(specs)) = (agent["tools"].as_array_mut(), specs.as_array_mut()) {
            let entry = |spec: &mut Value| json!({"name": spec["name"], "params": {"spec": spec.take()}});
            tools.extend(specs.iter_mut().map(entry));
        }
        agent
    }

    /// Which actions wait for a person's word, with what goes without saying.
    fn policy(&self) -> ConfirmationPolicy {
        self.asked_for("confirmation_policy").unwrap_or_default()
    }

    /// Where the protocol's Python client finds each tool: as the client that began this said, else as we know.
    fn tool_modules(&self) -> Value {
        let mut modules = self.said("tool_module_qualnames", json!({}));
        if let Some(modules) = modules.as_object_mut() {
            for tool in self.agent.tool_names() {
                if let Some(module) = python_module(tool) {
                    modules.entry(tool).or_insert(module.into());
                }
            }
        }
        modules
    }

    /// The whole of it, with its nulls and without its secrets.
    pub(crate) fn info(&self, skills: Skills) -> Value {
        let mut agent = self.shown_agent(Mask::Null);
        if skills == Skills::LeftOut
            && let Some(skills) = agent.pointer_mut("/agent_context/skills")
        {
            *skills = json!([]);
        }
        let agent_state = self.summary.agent_state();
        json!({
            "id": self.record.id,
            "workspace": self.workspace(),
            "persistence_dir": self.persistence_dir,
            "max_iterations": self.said("max_iterations", json!(500)),
            "stuck_detection": self.said("stuck_detection", json!(true)),
            "execution_status": self.record.status,
            "confirmation_policy": self.policy(),
            "security_analyzer": self.analyzer(Mask::Null),
            "activated_knowledge_skills": self.used_skills.activated,
            "invoked_skills": self.used_skills.invoked,
            "blocked_actions": {},
            "blocked_messages": {},
            "last_user_message_id": self.summary.last_user_message,
            "leaf_event_id": self.summary.leaf.event(),
            "stats": self.summary.full_stats(),
            "secret_registry": self.secret_registry(),
            "agent_state": self.summary.agent_state(),
            "hook_config": self.asked_hooks().map(hooks::shown),
            "title": self.record.title,
            "metrics": null,
            "created_at": utc(self.record.created_at),
            "updated_at": utc(self.record.updated_at),
            "forked_from_conversation_id": self.settings[field::FORKED_FROM],
            "forked_from_event_id": self.settings[field::FORKED_AT],
            "parent_conversation_id": self.said(field::PARENT, self.settings[field::PARENT].clone()),
            "sub_conversation_ids": self.children(),
            "tags": self.tags,
            "current_model_id": agent_state["acp_current_model_id"],
            "available_models": agent_state.get("acp_available_models").unwrap_or(&json!([])),
            "supports_runtime_model_switch": agent_state["acp_supports_runtime_model_switch"] == true,
            "launched_agent_profile": self.said("launched_agent_profile", Value::Null),
            "agent": agent,
            "client_tools": self.shown_client_tools(),
            "tool_module_qualnames": self.tool_modules(),
            "runtime_info": runtime_info(),
        })
    }

    /// The state as sockets show it: without nulls, and with asterisks for secrets.
    fn full_state(&self) -> Value {
        let mut state = json!({
            "id": self.record.id,
            "agent": self.shown_agent(Mask::Asterisks),
            "workspace": self.workspace(),
            "persistence_dir": self.persistence_dir,
            "max_iterations": self.said("max_iterations", json!(500)),
            "stuck_detection": self.said("stuck_detection", json!(true)),
            "execution_status": self.record.status,
            "confirmation_policy": self.policy(),
            "security_analyzer": self.analyzer(Mask::Asterisks),
            "activated_knowledge_skills": self.used_skills.activated,
            "activated_path_rules": [],
            "invoked_skills": self.used_skills.invoked,
            "blocked_actions": {},
            "blocked_messages": {},
            "last_user_message_id": self.summary.last_user_message,
            "leaf_event_id": self.summary.leaf.event(),
            "head_is_empty": self.summary.leaf == Leaf::Start,
            "stats": self.summary.full_stats(),
            "secret_registry": self.secret_registry(),
            "tags": self.tags,
            "agent_state": self.summary.agent_state(),
            "hook_config": self.asked_hooks().map(hooks::told),
        });
        without_nulls(&mut state);
        state
    }
}

/// Where a secret comes from. Of one that is asked for elsewhere that is an address, without what may be a key in it.
fn shown_secret(sent: &Value) -> Value {
    let description = &sent["description"];
    if sent["kind"] != "LookupSecret" {
        return json!({"description": description, "value": null, "kind": "StaticSecret"});
    }
    let headers = sent["headers"].as_object().into_iter().flatten();
    let harmless: Map<_, _> = headers
        .filter(|(name, _)| !looks_secret(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let url = sent["url"].as_str().unwrap_or_default();
    let url = Url::parse(url).map_or_else(|_| url.to_owned(), |url| without_keys(&url));
    json!({"description": description, "url": url, "headers": harmless, "kind": "LookupSecret"})
}

/// The state of a conversation at one moment, ready to be sent. Never stored.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// It is sent behind this event.
    pub(crate) after: Option<Seq>,
    pub(crate) status: Status,
    /// The event, as JSON.
    pub(crate) text: Utf8Bytes,
}

impl Snapshot {
    pub(crate) fn of(described: &Described) -> Self {
        let update = ConversationStateUpdateEvent {
            key: "full_state".to_owned(),
            value: described.full_state(),
            extra: Extra::new(),
        };
        Self {
            after: described.record.last_seq,
            status: described.record.status,
            text: transient(update).into(),
        }
    }
}

/// An event that is sent and never stored, as JSON.
pub(crate) fn transient(body: impl Into<deft_types::EventBody>) -> String {
    let body = body.into();
    let source = match body {
        deft_types::EventBody::StreamingDelta(_) => Source::Agent,
        _ => Source::Environment,
    };
    let event = Event {
        id: Uuid::new_v4().into(),
        timestamp: Timestamp::at(SystemTime::now()),
        source,
        parent_id: None,
        body,
    };
    serde_json::to_string(&event).unwrap_or_default()
}

/// A moment as the contract writes those that are not of events.
pub(crate) fn utc(moment: SystemTime) -> String {
    let instant = jiff::Timestamp::try_from(moment).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    instant.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
