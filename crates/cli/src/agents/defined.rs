//! What the definition of an agent says of its memory.

use anyhow::Context;
use deft_engine::{Condenser, Memory};
use deft_server::read_condenser;
use deft_skills::AgentDefinition;
use serde_json::Value;

use crate::compose;
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
