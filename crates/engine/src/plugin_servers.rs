//! The MCP servers that a project brings along, by its plugins and its agents: programs, which run beside the files.

use std::collections::BTreeMap;

use deft_skills::{Files, PLUGIN_FOLDERS, PLUGIN_SERVERS, plugin_homes};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The files of plugins of one name, each with the plugin's folder.
pub(crate) fn files_of_plugins(files: &impl Files, workspace: &str, name: &str) -> Vec<(String, String)> {
    let folders = PLUGIN_FOLDERS.iter();
    let homes = folders.flat_map(|folder| plugin_homes(files, &format!("{workspace}/{folder}")));
    homes
        .filter_map(|home| {
            let path = format!("{home}/{name}");
            files.read(&path).is_ok().then_some((home, path))
        })
        .collect()
}

/// The files of servers.
pub(crate) fn files_of_servers(files: &impl Files, workspace: &str) -> Vec<(String, String)> {
    let named = |name: &&str| files_of_plugins(files, workspace, name);
    PLUGIN_SERVERS.iter().flat_map(named).collect()
}

/// A server that is a program; what else stands there is not taken.
#[derive(Deserialize)]
struct Program {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// The programs of a file. Addresses are left out: a repository does not say whom we talk to.
pub(crate) fn programs(text: &str) -> Map<String, Value> {
    let written: Value = serde_json::from_str(text).unwrap_or_default();
    let servers = written.get("mcpServers").unwrap_or(&written).as_object();
    servers.map(programs_among).unwrap_or_default()
}

/// Those of some servers that are programs.
pub(crate) fn programs_among(servers: &Map<String, Value>) -> Map<String, Value> {
    let program = |(name, server): (&String, &Value)| {
        let program = Program::deserialize(server).ok()?;
        let config = json!({"command": program.command, "args": program.args, "env": program.env});
        Some((name.clone(), config))
    };
    servers.iter().filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use deft_skills::with_root;

    use super::*;

    #[test]
    fn programs_are_taken_and_addresses_are_not() {
        let text = r#"{"mcpServers": {"far": {"url": "https://example.com"}, "near":
            {"command": "${PLUGIN_ROOT}/run", "args": ["a"], "headers": {"X": "y"}}}}"#;
        let found = programs(&with_root(text, "/w/\"p"));
        let expected = json!({"near": {"command": "/w/\"p/run", "args": ["a"], "env": {}}});
        assert_eq!(Value::Object(found), expected);
        assert!(programs("no JSON").is_empty());
    }
}
