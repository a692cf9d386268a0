//! The form that calls are written in, and how one is written.

use deft_types::ToolCall;
use serde_json::{Map, Value};

pub(super) const CALL: &str = "<function=";
pub(crate) const CALL_END: &str = "</function>";
pub(super) const PARAMETER: &str = "<parameter=";
pub(super) const PARAMETER_END: &str = "</parameter>";

/// A call as the model wrote it, or would have.
pub(super) fn write(call: &ToolCall) -> String {
    let body = match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(arguments) => arguments.iter().map(parameter).collect(),
        Err(_) if call.arguments.is_empty() => String::new(),
        Err(_) => format!("{}\n", call.arguments),
    };
    format!("{CALL}{}>\n{body}{CALL_END}", call.name)
}

fn parameter((name, value): (&String, &Value)) -> String {
    let value = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    // Values of several lines stand on lines of their own.
    let edge = if value.contains('\n') { "\n" } else { "" };
    format!("{PARAMETER}{name}>{edge}{value}{edge}{PARAMETER_END}\n")
}

/// A value as it stood between its tags, without the line breaks that set it off.
pub(super) fn value(text: &str) -> &str {
    let text = text
        .strip_prefix("\r\n")
        .or_else(|| text.strip_prefix('\n'))
        .unwrap_or(text);
    text.strip_suffix("\r\n")
        .or_else(|| text.strip_suffix('\n'))
        .unwrap_or(text)
}
