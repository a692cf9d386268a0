//! What the definition of an agent says of its memory and its MCP servers.

use std::sync::Arc;

use anyhow::Context;
use deft_engine::{Condenser, Memory};
use deft_mcp::{NoTokens, TokenStore};
use deft_server::{McpOutfit, read_condenser};
use deft_skills::{AgentDefinition, Origin};
use deft_tools::ToolContext;
use serde_json::Value;

use crate::compose;
use crate::mcp::{kept, offer};
use crate::settings::Settings;

/// Words for no condenser.
const NONE: [&str; 2] = ["none", "off"];

/// The memory that an agent has; the user's way where its definition says nothing. A definition does not say which model
/// writes summaries: a file must not name where keys are sent.
pub(crate) fn memory(settings: &Settings, definition: Option<&AgentDefinition>) -> anyhow::Result<Memory> {
    let mut memory = compose::memory(settings)?;
    if let Some(definition) = definition
        && let Some(condenser) = &definition.condenser
    {
        memory.condenser = condenser_of(condenser).with_context(|| {
            format!(
                "the agent {} wants a condenser that cannot be used",
                definition.name
            )
        })?;
    }
    Ok(memory)
}

fn condenser_of(written: &Value) -> anyhow::Result<Condenser> {
    let none = || Condenser::Pipeline(Vec::new());
    match written {
        Value::Bool(false) => Ok(none()),
        Value::String(name) if NONE.contains(&name.as_str()) => Ok(none()),
        Value::String(name) => Ok(name.parse()?),
        other => read_condenser(other).with_context(|| format!("there is none such as {other}")),
    }
}

/// The servers that an agent has beside those of whoever gives it tasks. What they are when they are seen first is kept
/// in its own log.
pub(crate) fn servers(
    settings: &Settings,
    context: &ToolContext,
    definition: &AgentDefinition,
) -> anyhow::Result<McpOutfit> {
    // Our environment and our logins are for the user's own files.
    let is_users = definition.origin == Origin::User;
    let variable = |name: &str| std::env::var(name).ok().filter(|_| is_users);
    let tokens: Arc<dyn TokenStore> = if is_users {
        Arc::new(kept::Tokens::of(&settings.data_dir.value))
    } else {
        Arc::new(NoTokens)
    };
    let servers = Value::Object(definition.servers.clone());
    offer::of_client(settings, context, &servers, &variable, tokens).with_context(|| {
        format!(
            "the agent {} has MCP servers that cannot be used",
            definition.name
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condenser_is_a_name_none_or_a_description() {
        for (written, expected) in [
            (json!(false), Some(Condenser::Pipeline(Vec::new()))),
            (json!("off"), Some(Condenser::Pipeline(Vec::new()))),
            (json!("window"), Some(Condenser::Window)),
            (
                json!({"kind": "ConversationWindowCondenser"}),
                Some(Condenser::Window),
            ),
            (json!("magic"), None),
            (json!(true), None),
        ] {
            assert_eq!(condenser_of(&written).ok(), expected, "{written}");
        }
    }
}
