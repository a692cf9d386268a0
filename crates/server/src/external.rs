//! Agents of a conversation that are programs of their own, as clients describe them.

mod files;

use std::time::Duration;

use deft_engine::ExternalAgent;
use serde_json::{Map, Value, json};

use crate::agent::{llm_defaults, named_servers};
use crate::agent_fields::EXTERNAL;
use crate::failure::Failure;
use crate::fields;
use crate::validation::Issue;

/// The kind of such an agent.
pub(crate) const KIND: &str = "ACPAgent";
/// Stands for its model, which it chooses itself.
const MODEL: &str = "acp-managed";
/// How long it may be silent during a turn and how long its start may take, in seconds, where nobody says.
pub(crate) const SILENCE: f64 = 1800.0;
pub(crate) const START: f64 = 90.0;
/// The most that a client can make of these.
const MAX_SECONDS: f64 = 24.0 * 3600.0;

/// The agents that have names, with the command lines that start them.
const KNOWN: [(&str, &[&str]); 6] = [
    (
        "claude-code",
        &["npx", "-y", "@agentclientprotocol/claude-agent-acp@0.99.1"],
    ),
    ("codex", &["npx", "-y", "@zed-industries/codex-acp@0.16.0"]),
    ("gemini-cli", &["npx", "-y", "@google/gemini-cli@0.61.0", "--acp"]),
    ("kimi-code", &["npx", "-y", "@moonshot-ai/kimi-code@2.1.0", "acp"]),
    ("pi", &["npx", "-y", "pi-acp@0.0.34"]), // it starts the `pi` that is installed
    ("opencode", &["npx", "-y", "opencode-ai", "acp"]),
];

/// Such an agent with every field that the contract has.
pub(crate) fn completed(fields: &Map<String, Value>) -> Result<Value, Failure> {
    let fields = fields::read(&["body", "agent"], fields, EXTERNAL)?;
    if fields["acp_command"].as_array().is_none_or(Vec::is_empty) {
        let place = &["body", "agent", "acp_command"];
        let error = "it must name a program and its arguments";
        return Err(Issue::rule(place, error, &fields["acp_command"]).into());
    }
    let mut llm = llm_defaults();
    llm.extend([
        ("model".to_owned(), MODEL.into()),
        ("usage_id".to_owned(), MODEL.into()),
    ]);
    let mut full = json!({
        "llm": llm, "tools": [], "mcp_config": {}, "filter_tools_regex": null, "include_default_tools": [],
        "agent_context": null, "system_prompt": null, "system_prompt_filename": "system_prompt.j2",
        "security_policy_filename": "security_policy.j2", "system_prompt_kwargs": {}, "condenser": null,
        "critic": null, "tool_concurrency_limit": 1, "acp_command": [], "acp_server": null, "acp_args": [],
        "acp_session_mode": null, "acp_prompt_timeout": SILENCE, "acp_startup_timeout": START, "acp_model": null,
        "acp_resume_session_id": null, "acp_file_secrets": files::known(), "acp_isolate_data_dir": false,
    });
    if let Some(full) = full.as_object_mut() {
        full.extend(fields);
        full.remove("kind");
        full.insert("kind".to_owned(), KIND.into()); // the contract has it last
    }
    Ok(full)
}

/// Such an agent, as settings describe it.
pub(crate) fn of_settings(settings: &Value) -> Result<Value, Failure> {
    let mut agent = json!({"kind": KIND, "acp_command": command(settings)?});
    for field in [
        "acp_server",
        "acp_args",
        "acp_model",
        "acp_session_mode",
        "acp_prompt_timeout",
        "acp_startup_timeout",
        "acp_file_secrets",
        "acp_isolate_data_dir",
        "mcp_config",
        "agent_context",
    ] {
        if let Some(value) = settings.get(field).filter(|value| !value.is_null()) {
            agent[field] = value.clone();
        }
    }
    Ok(agent)
}

/// The command line that settings name, or mean by the name of the agent.
fn command(settings: &Value) -> Result<Value, Failure> {
    match &settings["acp_command"] {
        Value::Array(words) if !words.is_empty() => return Ok(json!(words)),
        Value::String(line) if !line.trim().is_empty() => {
            return Ok(line.split_whitespace().collect());
        }
        _ => {}
    }
    let name = settings["acp_server"].as_str().unwrap_or("claude-code");
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    known.map(|(_, command)| json!(command)).ok_or_else(|| {
        Failure::refused(format!(
            "This server does not know how '{name}' is started; say so by `acp_command`"
        ))
    })
}

/// What the engine needs of it; `variable` gives what stands for the `${NAME}` of its MCP servers.
pub(crate) fn parts(agent: &Value, variable: &dyn Fn(&str) -> Option<String>) -> Option<ExternalAgent> {
    if agent["kind"] != KIND {
        return None;
    }
    let words = |field: &str| {
        let words = agent[field].as_array().into_iter().flatten();
        words
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let text = |field: &str| {
        agent[field]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let seconds = |field: &str, usual: f64| {
        let written = agent[field].as_f64().filter(|seconds| *seconds > 0.0);
        Duration::from_secs_f64(written.unwrap_or(usual).min(MAX_SECONDS))
    };
    let mut command = words("acp_command");
    command.extend(words("acp_args"));
    Some(ExternalAgent {
        files: files::wanted(agent),
        own_folder: files::own_folder(agent, &command),
        command,
        mode: text("acp_session_mode"),
        model: text("acp_model"),
        resume: text("acp_resume_session_id"),
        servers: named_servers(agent)
            .map(|(name, server)| mcp_server(name, server, variable))
            .collect(),
        silence_limit: seconds("acp_prompt_timeout", SILENCE),
        start_limit: seconds("acp_startup_timeout", START),
    })
}

/// An MCP server in the form of the agents' protocol.
fn mcp_server(name: &str, server: &Value, variable: &dyn Fn(&str) -> Option<String>) -> Value {
    let pairs = |field: &str| {
        let pairs = server[field].as_object().into_iter().flatten();
        let pairs = pairs.filter_map(|(name, value)| {
            Some(json!({"name": name, "value": filled(value.as_str()?, variable)}))
        });
        pairs.collect::<Vec<_>>()
    };
    let Some(url) = server["url"].as_str() else {
        let arguments = server["args"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let arguments: Vec<_> = arguments.map(|argument| filled(argument, variable)).collect();
        return json!({"name": name, "command": server["command"], "args": arguments, "env": pairs("env")});
    };
    let kind = server["transport"].as_str().or(server["type"].as_str());
    let kind = if kind == Some("sse") { "sse" } else { "http" };
    json!({"type": kind, "name": name, "url": filled(url, variable), "headers": pairs("headers")})
}

/// A text with what stands for each `${NAME}`; one that stands for nothing stays.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let value = after
            .split_once('}')
            .and_then(|(name, behind)| Some((variable(name)?, behind)));
        if let Some((value, behind)) = value {
            filled.push_str(&value);
            rest = behind;
        } else {
            filled.push_str("${");
            rest = after;
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_a_command_or_an_agent_that_is_known() {
        let command = |settings: Value| of_settings(&settings).map(|agent| agent["acp_command"].clone());
        assert_eq!(
            command(json!({"acp_command": ["a", "b"]})).unwrap(),
            json!(["a", "b"])
        );
        assert_eq!(
            command(json!({"acp_command": "a  b"})).unwrap(),
            json!(["a", "b"])
        );
        for known in ["codex", "kimi-code", "pi"] {
            assert_eq!(command(json!({"acp_server": known})).unwrap()[0], "npx");
        }
        assert!(command(json!({"acp_server": "custom"})).is_err());
    }

    #[test]
    fn mcp_servers_are_passed_on_with_their_variables() {
        let agent = json!({"kind": KIND, "acp_command": ["a"], "acp_args": ["-x"], "mcp_config": {
            "files": {"command": "f", "args": ["${K}", "${NO}"], "env": {"T": "x${K}"}},
            "web": {"url": "https://w", "headers": {"A": "Bearer ${K}"}}}});
        let parts = parts(&agent, &|name| (name == "K").then(|| "v".to_owned())).unwrap();
        assert_eq!(parts.command, ["a", "-x"]);
        assert_eq!(
            parts.servers[0],
            json!({"name": "files", "command": "f", "args": ["v", "${NO}"], "env": [{"name": "T", "value": "xv"}]})
        );
        assert_eq!(parts.servers[1]["headers"][0]["value"], "Bearer v");
    }
}
