//! What a model is told about its tools and how to call them.

use serde_json::{Map, Value};

use super::form::{CALL, CALL_END, PARAMETER, PARAMETER_END};
use crate::ToolSchema;

/// The part of the system message about tools.
pub(super) fn write(tools: &[ToolSchema]) -> String {
    let tools = tools.iter().enumerate().map(|(index, tool)| {
        let (number, name, about) = (index + 1, &tool.name, tool.description.trim());
        format!(
            "\n## {number}. {name}\n\n{about}\n{}",
            parameters(&tool.parameters)
        )
    });
    format!(
        "\n# Calling tools\n\n\
         You act by calling tools. To call one, end your message with a call in exactly this form:\n\n\
         {CALL}NAME_OF_THE_TOOL>\n\
         {PARAMETER}NAME_OF_A_PARAMETER>value{PARAMETER_END}\n\
         {PARAMETER}NAME_OF_ANOTHER>\n\
         a value of\n\
         several lines\n\
         {PARAMETER_END}\n\
         {CALL_END}\n\n\
         - One call a message, and nothing after it. Its result comes in the next message; never write one yourself.\n\
         - Give every required parameter, and no others than those listed.\n\
         - Write text as it is, without quotes around it and without escapes. Write lists and objects as JSON.\n\
         - What you think or say stands before the call.\n\n\
         # Tools\n{}",
        tools.collect::<String>()
    )
}

fn parameters(schema: &Value) -> String {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        return "\nIt takes no parameters.\n".to_owned();
    };
    let required = schema.get("required").and_then(Value::as_array);
    let lines = properties.iter().enumerate().map(|(index, (name, property))| {
        let need = match required {
            Some(names) if names.iter().any(|known| known == name) => "required",
            Some(_) | None => "optional",
        };
        let about = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let allowed = property.get("enum").map(|values| format!(" One of {values}."));
        format!(
            "{}. {name} ({}, {need}): {}{}{}\n",
            index + 1,
            kind(property),
            about.trim(),
            allowed.unwrap_or_default(),
            structure(property)
        )
    });
    format!("\nParameters:\n{}", lines.collect::<String>())
}

/// The type in a word.
fn kind(property: &Value) -> String {
    match property.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
    }
}

/// What is within a list or an object: its schema, which a model reads as well as anything we could make of it.
fn structure(property: &Value) -> String {
    let inner = ["items", "properties", "additionalProperties", "anyOf", "oneOf"];
    let inner: Map<String, Value> = inner
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), property.get(*key)?.clone())))
        .collect();
    if inner.is_empty() {
        return String::new();
    }
    format!(" JSON schema: {}", Value::Object(inner))
}
