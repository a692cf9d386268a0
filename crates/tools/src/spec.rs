//! How our tools describe themselves.

use deft_types::{Extra, ToolAnnotations, ToolDefinition, ToolSpec};
use serde_json::{Value, json};

/// What a tool may do, in the combinations that exist here.
#[derive(Clone, Copy, Debug)]
pub enum Reach {
    /// Changes nothing.
    Nothing,
    /// Changes only a list of its own, each time as a whole.
    List,
    /// Changes only one file that nothing depends on.
    Notes,
    /// Changes files of the workspace.
    Files,
    /// Can do anything a program can.
    World,
}

/// The spec of a tool whose kinds are `{stem}Tool`, `{stem}Action` and `{stem}Observation`.
pub fn spec(
    name: &str,
    stem: &str,
    reach: Reach,
    description: &str,
    properties: &Value,
    required: &[&str],
) -> ToolSpec {
    let (read_only, destructive, idempotent, open_world) = match reach {
        Reach::Nothing => (true, false, true, false),
        Reach::List => (false, false, true, false),
        Reach::Notes => (false, false, false, false),
        Reach::Files => (false, true, false, false),
        Reach::World => (false, true, false, true),
    };
    let mut parameters = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        parameters["required"] = json!(required);
    }
    parameters["additionalProperties"] = json!(false);
    ToolSpec {
        definition: ToolDefinition {
            description: description.to_owned(),
            action_type: format!("{stem}Action"),
            observation_type: Some(format!("{stem}Observation")),
            annotations: Some(ToolAnnotations {
                title: None,
                read_only_hint: read_only,
                destructive_hint: destructive,
                idempotent_hint: idempotent,
                open_world_hint: open_world,
                extra: Extra::new(),
            }),
            kind: format!("{stem}Tool"),
            title: name.to_owned(),
            extra: Extra::new(),
        },
        parameters,
    }
}
