//! The settings that clients share: which agent to begin conversations with, and how.

mod patch;

use serde_json::{Map, Value, json};

pub(crate) use self::patch::{merge, patch, patch_beneath};
use crate::agent::{self, ALWAYS_TOOLS, Agent, SWITCH_TOOL};
use crate::agent_fields::SETTINGS;
use crate::documents::Documents;
use crate::exposure::{ClientSeal, Exposure};
use crate::external;
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Table};
use crate::masking::Mask;
use crate::tool_choices::ROUTE_TOOLS;

const KEY: &str = "settings";
const DEFAULTS: &str = include_str!("settings/defaults.json");
/// The tools of an agent whose settings name none.
const DEFAULT_TOOLS: [&str; 3] = ["terminal", "file_editor", "task_tracker"];

/// The settings, complete. Hold secrets.
#[derive(Clone)]
pub(crate) struct Settings(Value);

impl Settings {
    pub(crate) async fn load(documents: &Documents) -> Result<Self, Failure> {
        Ok(Self::from_stored(documents.get(KEY).await?))
    }

    fn from_stored(stored: Option<Value>) -> Self {
        let mut settings: Value = serde_json::from_str(DEFAULTS).unwrap_or_default();
        settings["agent_settings"]["llm"] = Value::Object(agent::llm_defaults());
        if let Some(stored) = stored {
            merge(&mut settings, &stored);
        }
        Self(settings)
    }

    /// Changes the settings; gives them as they are then.
    pub(crate) async fn change(
        documents: &Documents,
        mut edit: impl FnMut(&mut Value) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        documents
            .change(KEY, |stored| {
                let mut settings = Self::from_stored(stored);
                edit(&mut settings.0)?;
                Ok((Some(settings.0.clone()), settings))
            })
            .await
    }

    pub(crate) fn value(&self) -> &Value {
        &self.0
    }

    pub(crate) fn active_profile(&self) -> Option<&str> {
        self.0["active_profile"].as_str()
    }

    /// What a client is shown.
    pub(crate) fn shown(&self, exposure: Exposure, seal: ClientSeal) -> Result<Value, Failure> {
        let key = &self.0["agent_settings"]["llm"]["api_key"];
        let is_set = key.as_str().is_some_and(|key| !key.is_empty());
        let mut shown = exposure.apply(self.0.clone(), Mask::Asterisks, seal)?;
        shown["llm_api_key_is_set"] = is_set.into();
        Ok(shown)
    }
}

/// The settings of conversations.
#[rustfmt::skip]
const OF_CONVERSATION: &Table = &[
    ("max_iterations", Kind::Integer { least: Some(1) }, Gap::Absent),
    ("confirmation_mode", Kind::Switch, Gap::Absent),
    ("security_analyzer", Kind::OneOf(&["llm", "none"]), Gap::Null),
    ("default_runtime", Kind::OneOf(&["local", "worktree", "docker"]), Gap::Absent),
    ("worktree_base", Kind::OneOf(&["default_branch", "head", "ref"]), Gap::Absent),
    ("worktree_base_ref", Kind::Text, Gap::Null),
    ("container_memory", Kind::Text, Gap::Null),
    ("container_cpus", Kind::Number { most: None }, Gap::Null),
];

/// Puts a change of the agent's or the conversation's settings in its place.
pub(crate) fn change_part(settings: &mut Value, part: &str, diff: &Value) -> Result<(), Failure> {
    let refused = || Failure::refused("Settings validation failed");
    let table = match part {
        "agent_settings" => SETTINGS,
        _ => OF_CONVERSATION,
    };
    let before = settings[part].clone();
    if part == "agent_settings" {
        patch(&mut settings[part], diff);
        settings[part] = completed_agent(&settings[part]);
    } else {
        patch_beneath(&mut settings[part], diff);
    }
    let now = settings[part].as_object().ok_or_else(refused)?;
    let now = fields::read(&[], now, table).map_err(|_| refused())?;
    settings[part] = Value::Object(now);
    if fits(&before, &settings[part]) {
        Ok(())
    } else {
        Err(refused())
    }
}

/// Whether each value is of the type that was there before. Where there was none, any will do.
fn fits(before: &Value, now: &Value) -> bool {
    match (before, now) {
        (Value::Null, _) | (_, Value::Null) => true,
        (Value::Object(before), Value::Object(now)) => before
            .iter()
            .all(|(name, value)| now.get(name).is_none_or(|now| fits(value, now))),
        (before, now) => std::mem::discriminant(before) == std::mem::discriminant(now),
    }
}

/// Settings of an agent, with what they leave out.
pub(crate) fn completed_agent(sent: &Value) -> Value {
    let mut settings = Settings::from_stored(None).0["agent_settings"].take();
    merge(&mut settings, sent);
    settings
}

/// The agent that settings describe.
pub(crate) fn agent_of(settings: &Value) -> Result<Agent, Failure> {
    if settings["agent_kind"] == "acp" {
        return Agent::read(&external::of_settings(settings)?);
    }
    let llm = &settings["llm"];
    let (mut tools, always) = if let Value::Array(tools) = &settings["tools"] {
        (tools.clone(), ALWAYS_TOOLS.to_vec())
    } else {
        let tools = DEFAULT_TOOLS.map(|name| json!({"name": name, "params": {}}));
        (tools.to_vec(), [&ALWAYS_TOOLS[..], &[SWITCH_TOOL]].concat())
    };
    if settings["enable_classify_and_switch_llm_tool"] == true {
        let [name, _] = ROUTE_TOOLS;
        tools.retain(|tool| tool["name"] != name);
        tools.push(json!({"name": name, "params": {"active_meta_profile": settings["meta_profile_ref"]}}));
    }
    Agent::read(&json!({
        "kind": "Agent",
        "llm": llm,
        "tools": tools,
        "include_default_tools": always,
        "mcp_config": settings["mcp_config"],
        "agent_context": settings["agent_context"],
        "condenser": condenser(&settings["condenser"], llm),
        "critic": critic(&settings["verification"], llm),
        "tool_concurrency_limit": settings["tool_concurrency_limit"],
        "persona": settings["persona"],
    }))
}

fn condenser(settings: &Value, llm: &Value) -> Value {
    if settings["enabled"] != true {
        return Value::Null;
    }
    if settings["condenser_kind"] == "no_op" {
        return json!({"kind": "NoOpCondenser"});
    }
    let mut fields: Map<_, _> = settings.as_object().cloned().unwrap_or_default();
    fields.remove("enabled");
    fields.remove("condenser_kind");
    let mut llm = llm.clone();
    llm["usage_id"] = "condenser".into();
    llm["stream"] = false.into();
    fields.insert("llm".to_owned(), llm);
    fields.insert("kind".to_owned(), "LLMSummarizingCondenser".into());
    Value::Object(fields)
}

/// The critic that settings want, in the contract's words, which insist on a key.
fn critic(settings: &Value, llm: &Value) -> Value {
    if settings["critic_enabled"] != true {
        return Value::Null;
    }
    let keys = [&settings["critic_api_key"], &llm["api_key"]];
    let key = keys.into_iter().find(|key| key.is_string());
    let refinement = (settings["enable_iterative_refinement"] == true).then(|| {
        json!({"success_threshold": settings["critic_threshold"],
            "max_iterations": settings["max_refinement_iterations"]})
    });
    json!({"mode": settings["critic_mode"], "iterative_refinement": refinement,
        "api_key": key.cloned().unwrap_or_else(|| "".into()), "kind": "APIBasedCritic"})
}

#[cfg(test)]
mod tests {
    use super::patch::STAYS;
    use super::*;

    #[test]
    fn a_mask_that_comes_back_changes_nothing_and_a_wrong_type_is_refused() {
        let mut settings = Settings::from_stored(None).0;
        let part = "agent_settings";
        change_part(
            &mut settings,
            part,
            &json!({"llm": {"model": "m", "api_key": "sk-1"}}),
        )
        .unwrap();
        change_part(
            &mut settings,
            part,
            &json!({"llm": {"api_key": STAYS, "timeout": 5}}),
        )
        .unwrap();
        assert_eq!(settings[part]["llm"]["api_key"], "sk-1");
        assert_eq!(settings[part]["llm"]["timeout"], 5);
        for wrong in [
            json!({"llm": {"timeout": "abc"}}),
            json!({"llm": {"base_url": 3}}),
            json!({"llm": {"temperature": "hot"}}),
            json!({"llm": 3}),
            json!({"tools": 3}),
            json!({"agent_kind": "zz"}),
            json!({"condenser": {"condenser_kind": "zz"}}),
            json!({"condenser": {"max_size": 5}}),
            json!({"persona": 3}),
            json!(3),
        ] {
            assert!(
                change_part(&mut settings.clone(), part, &wrong).is_err(),
                "{wrong}"
            );
        }
        for wrong in [
            json!({"container_memory": 3}),
            json!({"max_iterations": 0}),
            json!({"confirmation_mode": null}),
            json!({"security_analyzer": "zz"}),
            json!({"default_runtime": "zz"}),
        ] {
            assert!(
                change_part(&mut settings.clone(), "conversation_settings", &wrong).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn what_is_null_in_a_change_is_taken_away_and_becomes_its_default() {
        let mut settings = Settings::from_stored(None).0;
        let part = "agent_settings";
        let server = json!({"command": "srv", "env": {"A": "1", "B": "2"}});
        let first = json!({"mcp_config": {"srv": server, "other": {"url": "http://127.0.0.1:9"}}, "llm": {"num_retries": 9}});
        let default = settings[part]["llm"]["num_retries"].clone();
        for (change, place, expected) in [
            (first, "/llm/num_retries", json!(9)),
            (
                json!({"mcp_config": {"srv": {"env": {"A": null}}}}),
                "/mcp_config/srv/env",
                json!({"B": "2"}),
            ),
            (
                json!({"mcp_config": {"srv": null}}),
                "/mcp_config",
                json!({"other": {"url": "http://127.0.0.1:9"}}),
            ),
            (json!({"mcp_config": null}), "/mcp_config", json!({})),
            (json!({"llm": {"num_retries": null}}), "/llm/num_retries", default),
        ] {
            change_part(&mut settings, part, &change).unwrap();
            assert_eq!(settings[part].pointer(place), Some(&expected), "{change}");
        }
    }

    #[test]
    fn settings_make_an_agent_that_condenses_with_its_own_model() {
        let settings = completed_agent(&json!({"llm": {"model": "demo", "api_key": "sk-1"}}));
        let agent = agent_of(&settings).unwrap();
        assert_eq!(agent.model(), "demo");
        assert!(agent.condenses());
        assert_eq!(agent.stored()["condenser"]["llm"]["model"], "demo");
        assert_eq!(agent.stored()["condenser"]["llm"]["usage_id"], "condenser");
        assert_eq!(agent.stored()["tools"][0]["name"], "terminal");
        let settings =
            completed_agent(&json!({"llm": {"model": "demo"}, "condenser": {"condenser_kind": "no_op"}}));
        let forgets_nothing = agent_of(&settings).unwrap();
        assert_eq!(forgets_nothing.stored()["condenser"]["kind"], "NoOpCondenser");
        assert!(!forgets_nothing.condenses());
    }
}
