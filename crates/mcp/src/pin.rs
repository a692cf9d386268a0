//! Pins: what a person approved of a server, so that it cannot quietly become another one.

use deft_types::{McpChange, McpPin};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::ServerConfig;

/// One digest over all that is pinned: the same for the same server with the same tools.
pub fn fingerprint(pin: &McpPin) -> String {
    digest_of(&json!([pin.target, pin.tools]))
}

/// How a server differs from what was approved, tool by tool.
pub fn diff(approved: &McpPin, now: &McpPin) -> Vec<McpChange> {
    let target = (approved.target != now.target).then_some(McpChange::Target);
    let newer = now
        .tools
        .iter()
        .filter_map(|(name, digest)| match approved.tools.get(name) {
            None => Some(McpChange::Added(name.clone())),
            Some(before) if before != digest => Some(McpChange::Altered(name.clone())),
            Some(_) => None,
        });
    let gone = approved
        .tools
        .keys()
        .filter(|name| !now.tools.contains_key(*name));
    let gone = gone.map(|name| McpChange::Removed(name.clone()));
    target.into_iter().chain(newer).chain(gone).collect()
}

/// The digest of a server's command line or address.
pub(crate) fn target_of(config: &ServerConfig) -> String {
    digest_of(&config.target())
}

/// The digest of a tool, before anything of it is cleaned or cut.
pub(crate) fn digest_of_tool(tool: &rmcp::model::Tool) -> String {
    digest_of(&json!([
        tool.name,
        tool.description,
        tool.input_schema,
        tool.annotations
    ]))
}

fn digest_of(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects(); // a server may write the same thing in another order
    let digest = digest(&SHA256, value.to_string().as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(target: &str, tools: &[(&str, &str)]) -> McpPin {
        McpPin {
            target: target.to_owned(),
            tools: tools
                .iter()
                .map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn a_difference_names_the_tool() {
        let approved = pin("t", &[("a", "1"), ("b", "2"), ("c", "3")]);
        assert_eq!(diff(&approved, &approved), []);
        let now = pin("u", &[("a", "1"), ("b", "9"), ("d", "4")]);
        let expected = [
            McpChange::Target,
            McpChange::Altered("b".to_owned()),
            McpChange::Added("d".to_owned()),
            McpChange::Removed("c".to_owned()),
        ];
        assert_eq!(diff(&approved, &now), expected);
        assert_ne!(fingerprint(&approved), fingerprint(&now));
    }

    #[test]
    fn the_command_line_is_pinned_and_secrets_are_not() {
        let target = |args: &[&str], token: &str| {
            let config = json!({"s": {"command": "x", "args": args, "env": {"TOKEN": token}}});
            target_of(&ServerConfig::parse(&config).unwrap()[0])
        };
        assert_eq!(target(&["a"], "one"), target(&["a"], "two"));
        assert_ne!(target(&["a"], "one"), target(&["a", "b"], "one"));
    }
}
