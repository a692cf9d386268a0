//! The tools of a server, as they are offered: cleaned, cut to size, under names of ours.

use std::collections::HashSet;
use std::sync::Arc;

use deft_types::{Extra, ToolAnnotations, ToolDefinition, ToolSpec};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use crate::limits::{MAX_DESCRIPTION, MAX_SCHEMA};
use crate::pin::digest_of_tool;
use crate::text::{beginning, visible};

/// The longest name that all models take.
const MAX_NAME: usize = 64;

/// A tool that a server has listed.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// Its name at the server.
    pub(crate) name: String,
    /// What was approved, if it was.
    pub(crate) digest: String,
    description: String,
    parameters: Arc<Value>,
    annotations: ToolAnnotations,
}

impl Listed {
    pub(crate) fn new(tool: Tool) -> Self {
        let digest = digest_of_tool(&tool);
        let hints = tool.annotations.unwrap_or_default();
        let title = hints
            .title
            .or(tool.title)
            .map(|title| beginning(&visible(&title), MAX_NAME));
        let mut description = visible(tool.description.as_deref().unwrap_or_default());
        let parameters = match schema(&tool.input_schema) {
            Ok(parameters) => parameters,
            Err(size) => {
                let note = format!("(The description of its arguments has {size} bytes and was left out.) ");
                description.insert_str(0, &note);
                json!({"type": "object"})
            }
        };
        Self {
            name: tool.name.into_owned(),
            digest,
            description: beginning(description.trim(), MAX_DESCRIPTION),
            parameters: Arc::new(parameters),
            annotations: ToolAnnotations {
                title,
                read_only_hint: hints.read_only_hint.unwrap_or(false),
                destructive_hint: hints.destructive_hint.unwrap_or(true),
                idempotent_hint: hints.idempotent_hint.unwrap_or(false),
                open_world_hint: hints.open_world_hint.unwrap_or(true),
                extra: Extra::new(),
            },
        }
    }

    /// How it is shown to a model under this name.
    pub(crate) fn spec(&self, name: &str) -> ToolSpec {
        let mut extra = Extra::new();
        let original = json!({"name": self.name, "inputSchema": *self.parameters});
        extra.insert("mcp_tool".to_owned(), original);
        ToolSpec {
            definition: ToolDefinition {
                description: self.description.clone(),
                action_type: "MCPToolAction".to_owned(),
                observation_type: Some("MCPToolObservation".to_owned()),
                annotations: Some(self.annotations.clone()),
                kind: "MCPToolDefinition".to_owned(),
                title: name.to_owned(),
                extra,
            },
            parameters: (*self.parameters).clone(),
        }
    }
}

/// The schema as it came, but for hidden characters in what it explains; without explanations if it is long. If even
/// that is too long, its size.
fn schema(written: &Map<String, Value>) -> Result<Value, usize> {
    let mut schema = Value::Object(written.clone());
    explain(&mut schema, &|text| Some(visible(text)));
    if schema.to_string().len() > MAX_SCHEMA {
        explain(&mut schema, &|_| None);
    }
    let size = schema.to_string().len();
    if size > MAX_SCHEMA {
        return Err(size);
    }
    if schema.get("type").is_none() {
        schema["type"] = "object".into();
    }
    Ok(schema)
}

/// Rewrites or removes the explanations in a schema. A property may be called `description`: that is no text.
fn explain(schema: &mut Value, rewrite: &dyn Fn(&str) -> Option<String>) {
    match schema {
        Value::Object(fields) => fields.retain(|name, value| match value {
            Value::String(text) if name == "description" || name == "title" => match rewrite(text) {
                Some(text) => {
                    *value = Value::String(text);
                    true
                }
                None => false,
            },
            value => {
                explain(value, rewrite);
                true
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| explain(item, rewrite)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A name for a server's tool that nobody has yet, and that all models take.
pub(crate) fn unique_name(server: &str, tool: &str, taken: &mut HashSet<String>) -> String {
    let clean = |text: &str| -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        text.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
    };
    let whole = format!("{}_{}", clean(server), clean(tool));
    let mut name = whole[..whole.len().min(MAX_NAME)].to_owned();
    let mut count = 2;
    while !taken.insert(name.clone()) {
        let suffix = format!("_{count}");
        name = format!("{}{suffix}", &whole[..whole.len().min(MAX_NAME - suffix.len())]);
        count += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(tool: Value) -> Listed {
        Listed::new(serde_json::from_value(tool).unwrap())
    }

    #[test]
    fn names_are_clean_unique_and_never_those_of_others() {
        let mut taken = HashSet::from(["files_read".to_owned()]);
        assert_eq!(
            unique_name("git hub", "list/issues.all", &mut taken),
            "git_hub_list_issues_all"
        );
        assert_eq!(unique_name("files", "read", &mut taken), "files_read_2");
        assert_eq!(unique_name("files", "read", &mut taken), "files_read_3");
        assert_eq!(unique_name("ü", "日", &mut taken), "___");
        let long = "x".repeat(80);
        let (one, two) = (
            unique_name("s", &long, &mut taken),
            unique_name("s", &long, &mut taken),
        );
        assert_eq!((one.len(), two.len()), (64, 64));
        assert_ne!(one, two);
    }

    #[test]
    fn descriptions_are_cleaned_and_cut_and_schemas_stay_as_they_are() {
        let schema = json!({
            "type": "object",
            "properties": {"description": {"type": "string", "description": "a\u{200b}b", "enum": ["x\u{200b}"]}},
            "$defs": {"deep": {"oneOf": [{"const": 1}]}},
        });
        let description = format!("\x1b[8mhidden\x1b[0m {}", "x".repeat(2_000));
        let spec =
            listed(json!({"name": "t", "description": description, "inputSchema": schema})).spec("s_t");
        assert!(spec.definition.description.starts_with("hidden xxx"));
        assert_eq!(spec.definition.description.chars().count(), MAX_DESCRIPTION);
        let mut expected = schema;
        expected["properties"]["description"]["description"] = "ab".into();
        assert_eq!(spec.parameters, expected);
        assert_eq!(spec.definition.extra["mcp_tool"]["name"], "t");
    }

    #[test]
    fn a_schema_that_is_too_long_loses_its_explanations_first() {
        let property = json!({"type": "string", "description": "y".repeat(MAX_SCHEMA)});
        let schema = json!({"type": "object", "properties": {"a": property}});
        let spec = listed(json!({"name": "t", "inputSchema": schema})).spec("t");
        assert_eq!(spec.parameters["properties"], json!({"a": {"type": "string"}}));

        let many: Map<_, _> = (0..2_000)
            .map(|i| (format!("property{i}"), json!({"type": "string"})))
            .collect();
        let schema = json!({"type": "object", "properties": many});
        let spec = listed(json!({"name": "t", "inputSchema": schema})).spec("t");
        assert_eq!(spec.parameters, json!({"type": "object"}));
        assert!(spec.definition.description.contains("left out"));
    }

    #[test]
    fn hints_are_passed_on_with_the_protocols_defaults() {
        let tool =
            json!({"name": "t", "inputSchema": {}, "annotations": {"readOnlyHint": true, "title": "T"}});
        let hints = listed(tool).spec("t").definition.annotations.unwrap();
        assert!(
            hints.read_only_hint && hints.destructive_hint && hints.open_world_hint && !hints.idempotent_hint
        );
        assert_eq!(hints.title.as_deref(), Some("T"));
    }
}
