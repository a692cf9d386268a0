//! MCP servers: the tables `[mcpServers.NAME]` of the user's `deft.toml`, with the keys that other programs use.

use deft_mcp::{ConfigError, ServerConfig};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Servers by name, as they are written.
pub(crate) type McpTables = Map<String, Value>;

/// The part of the file that holds them.
#[derive(Deserialize)]
struct ServersOnly {
    #[serde(default, rename = "mcpServers")]
    servers: McpTables,
}

/// Reads the tables. What is wrong with one is found out here, where the file can be named.
pub(super) fn read(text: &str) -> Result<McpTables, String> {
    let tables: Result<ServersOnly, _> = toml::from_str(text);
    let servers = tables.map_err(|error| error.message().to_owned())?.servers;
    check(&servers).map_err(|error| error.to_string())?;
    Ok(servers)
}

fn check(servers: &McpTables) -> Result<(), ConfigError> {
    ServerConfig::parse(&Value::Object(servers.clone())).map(drop)
}
