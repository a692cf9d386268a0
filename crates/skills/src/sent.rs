//! Skills and agents as clients of the server send them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::agent::{AgentDefinition, Written};
use crate::registry::Declared;
use crate::skill::{Input, Kind, Origin, Skill};

/// The fields of the contract that we use.
#[derive(Deserialize)]
struct Sent {
    name: String,
    content: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    trigger: Option<Trigger>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    inputs: Vec<Input>,
    #[serde(default)]
    allowed_tools: Option<Vec<String>>,
    #[serde(default)]
    is_agentskills_format: bool,
    #[serde(default)]
    disable_model_invocation: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Trigger {
    Keyword { keywords: Vec<String> },
    Task { triggers: Vec<String> },
    Path { paths: Vec<String> },
}

/// Reads one. What cannot be read is none.
pub fn sent(value: &Value) -> Option<Skill> {
    let sent = Sent::deserialize(value).ok()?;
    let (kind, triggers, paths) = match sent.trigger {
        Some(Trigger::Path { paths }) => (Kind::PathRule, Vec::new(), paths),
        Some(Trigger::Keyword { keywords }) => (Kind::Knowledge, keywords, Vec::new()),
        Some(Trigger::Task { triggers }) => (Kind::Task, triggers, Vec::new()),
        None => (Kind::Repo, Vec::new(), Vec::new()),
    };
    let kind = match kind {
        Kind::PathRule => kind,
        _ if sent.is_agentskills_format => Kind::Agent,
        _ => kind,
    };
    Some(Skill {
        declared: Declared::new(Vec::new(), None, None, &sent.inputs).ok()?,
        name: sent.name,
        description: sent.description,
        kind,
        origin: Origin::Client,
        path: sent.source.unwrap_or_default(),
        body: sent.content,
        triggers,
        inputs: sent.inputs,
        paths,
        resources: Vec::new(),
        urls: Vec::new(),
        servers: Map::new(), // a client names them for the conversation
        allowed_tools: sent.allowed_tools.unwrap_or_default(),
        disable_model_invocation: sent.disable_model_invocation,
        license: None,
        compatibility: None,
        metadata: std::collections::BTreeMap::new(),
    })
}

/// A skill as a client would send it.
pub fn as_sent(skill: &Skill) -> Value {
    let trigger = match skill.kind {
        Kind::PathRule => json!({"type": "path", "paths": skill.paths}),
        Kind::Task => json!({"type": "task", "triggers": skill.triggers}),
        Kind::Agent | Kind::Repo | Kind::Knowledge if skill.triggers.is_empty() => Value::Null,
        Kind::Agent | Kind::Repo | Kind::Knowledge => json!({"type": "keyword", "keywords": skill.triggers}),
    };
    json!({
        "name": skill.name,
        "content": skill.body,
        "description": skill.description,
        "trigger": trigger,
        "source": skill.path,
        "inputs": skill.inputs,
        "allowed_tools": skill.allowed_tools,
        "is_agentskills_format": skill.kind == Kind::Agent,
        "disable_model_invocation": skill.disable_model_invocation,
    })
}

/// Reads an agent that can be given tasks. What cannot be read is none.
pub fn sent_agent(value: &Value) -> Option<AgentDefinition> {
    let written = Written::deserialize(value).ok()?;
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let agent = AgentDefinition::of(written, text("source"), text("system_prompt"), Origin::Client).ok()?;
    (!agent.name.is_empty()).then_some(agent)
}

/// An agent as a client would send it.
pub fn agent_as_sent(agent: &AgentDefinition) -> Value {
    let level = match agent.origin {
        Origin::Project => "project",
        Origin::User => "user",
        Origin::Client => "plugin",
    };
    json!({
        "name": agent.name,
        "description": agent.description,
        "model": agent.model.as_deref().unwrap_or("inherit"),
        "tools": agent.tools,
        "skills": agent.skills,
        "mcp_servers": agent.servers,
        "condenser": agent.condenser,
        "system_prompt": agent.instructions,
        "when_to_use_examples": [],
        "permission_mode": agent.permission,
        "max_iteration_per_run": agent.max_steps,
        "max_budget_per_run": agent.max_cost,
        "metadata": {},
        "level": level,
        "source": agent.path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_comes_back_as_it_was() {
        let text = "---\nname: ship\ndescription: ships\ntriggers: [ship it]\n---\nShip.";
        for (path, name) in [("/p/skills/ship/SKILL.md", "ship"), ("/p/commands/x.md", "x")] {
            let (skill, _) = Skill::parse(path, text, name, Origin::Client).unwrap();
            assert_eq!(sent(&as_sent(&skill)), Some(skill));
        }
        let text = "---\nname: judge\ntools: grep\nmax_iteration_per_run: 3\nskills: [ship, look]\nmcp_config: {mcpServers: {near: {command: x}}}\ncondenser: none\n---\nJudge.";
        let agent = AgentDefinition::parse("/p/agents/judge.md", text, Origin::Client).unwrap();
        assert_eq!(agent.skills, ["ship", "look"]);
        assert_eq!(agent.servers["near"], json!({"command": "x"}));
        assert_eq!(agent.condenser, Some(json!("none")));
        assert_eq!(sent_agent(&agent_as_sent(&agent)), Some(agent));
        assert_eq!(sent_agent(&json!({"description": "has no name"})), None);
    }
}
