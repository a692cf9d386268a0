//! A model's arguments: read, repaired and checked against the tool's schema.

use std::fmt::Write;

use deft_types::SecurityRisk;
use serde_json::{Map, Value};

/// Arguments that fit the schema, and what the model said beside them.
#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) fields: Map<String, Value>,
    pub(crate) risk: SecurityRisk,
    pub(crate) summary: Option<String>,
}

/// Reads the text a model wrote as arguments. Raw control characters inside strings, which JSON forbids and
/// models write all the same, are let pass. What is not an object counts as no arguments.
pub(crate) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let value = serde_json::from_str(text).or_else(|error: serde_json::Error| {
        serde_json::from_str(&escape_control_characters(text)).map_err(|_| error.to_string())
    })?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

fn escape_control_characters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for c in text.chars() {
        match c {
            '"' if !escaped => in_string = !in_string,
            _ if in_string && c.is_control() && (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32); // a string takes everything
                escaped = false;
                continue;
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// Repairs and checks arguments. The error says what is wrong, and never quotes a value.
pub(crate) fn fit(mut fields: Map<String, Value>, schema: &Value) -> Result<Arguments, String> {
    fields.retain(|_, value| !value.is_null());
    let properties = schema.get("properties").and_then(Value::as_object);
    let declares = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));

    let risk = match if declares("security_risk") {
        None
    } else {
        fields.remove("security_risk")
    } {
        None => SecurityRisk::Unknown,
        Some(risk) => serde_json::from_value(risk)
            .map_err(|_| "`security_risk` must be one of UNKNOWN, LOW, MEDIUM, HIGH".to_owned())?,
    };
    let summary = if declares("summary") {
        fields.get("summary").cloned()
    } else {
        fields.remove("summary")
    };
    let summary = summary
        .and_then(|summary| summary.as_str().map(str::to_owned))
        .filter(|text| !text.is_empty());

    let mut problems = Vec::new();
    for name in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if !fields.contains_key(name) {
            problems.push(format!("`{name}` is missing"));
        }
    }
    for (name, value) in &mut fields {
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => {
                repair(value, schema);
                if let Err(problem) = check(value, schema) {
                    problems.push(format!("`{name}` {problem}"));
                }
            }
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                problems.push(format!("`{name}` is not an argument of this tool"));
            }
            None => {}
        }
    }
    if problems.is_empty() {
        Ok(Arguments {
            fields,
            risk,
            summary,
        })
    } else {
        Err(problems.join("; "))
    }
}

/// Mends what models often get wrong: a list or an object written as text, and text written as a list of
/// lines.
fn repair(value: &mut Value, schema: &Value) {
    match (schema.get("type").and_then(Value::as_str), &*value) {
        (Some("array" | "object"), Value::String(text)) => {
            let end = text.rfind(['}', ']']).map_or(text.len(), |last| last + 1);
            let read = |text: &str| serde_json::from_str(&escape_control_characters(text)).ok();
            if let Some(read) = read(text).or_else(|| read(&text[..end])) {
                *value = read;
            }
        }
        (Some("string"), Value::Array(parts)) => {
            if let Some(parts) = parts.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
                *value = Value::String(parts.concat());
            }
        }
        _ => {}
    }
}

/// The part of JSON Schema that our tools use: `type`, `enum`, `minimum`, `items`.
fn check(value: &Value, schema: &Value) -> Result<(), String> {
    if let Some(expected) = schema.get("type").and_then(Value::as_str) {
        let fits = match expected {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        };
        if !fits {
            return Err(format!("must be of type {expected}"));
        }
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
        return Err(format!("must be one of {}", allowed.join(", ")));
    }
    if let (Some(minimum), Some(number)) = (schema.get("minimum").and_then(Value::as_f64), value.as_f64())
        && number < minimum
    {
        return Err(format!("must be at least {minimum}"));
    }
    if let (Some(items), Value::Array(values)) = (schema.get("items"), value) {
        for item in values {
            check(item, items).map_err(|problem| format!("has an item that {problem}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object", "additionalProperties": false, "required": ["command"],
            "properties": {
                "command": {"type": "string"},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "timeout": {"type": "number", "minimum": 0},
                "range": {"type": "array", "items": {"type": "integer"}},
            }
        })
    }

    #[track_caller]
    fn check_fit(arguments: Value, expected: Result<Value, &str>) {
        let Value::Object(fields) = arguments else {
            panic!("not an object")
        };
        let got = fit(fields, &schema()).map(|arguments| Value::Object(arguments.fields));
        assert_eq!(got, expected.map_err(str::to_owned));
    }

    #[test]
    fn arguments_are_checked_against_the_schema() {
        check_fit(json!({"command": "ls"}), Ok(json!({"command": "ls"})));
        check_fit(
            json!({"command": "ls", "timeout": null}),
            Ok(json!({"command": "ls"})),
        );
        check_fit(
            json!({"command": "ls", "timeout": 1.5}),
            Ok(json!({"command": "ls", "timeout": 1.5})),
        );
        check_fit(json!({}), Err("`command` is missing"));
        check_fit(json!({"command": 7}), Err("`command` must be of type string"));
        check_fit(
            json!({"command": "ls", "timeout": -1}),
            Err("`timeout` must be at least 0"),
        );
        check_fit(
            json!({"command": "ls", "mode": "c"}),
            Err("`mode` must be one of a, b"),
        );
        check_fit(
            json!({"command": "ls", "cmd": "x"}),
            Err("`cmd` is not an argument of this tool"),
        );
        check_fit(
            json!({"command": "ls", "range": [1, "2"]}),
            Err("`range` has an item that must be of type integer"),
        );
        check_fit(
            json!({"command": "ls", "security_risk": "NONE"}),
            Err("`security_risk` must be one of UNKNOWN, LOW, MEDIUM, HIGH"),
        );
    }

    #[test]
    fn what_models_often_get_wrong_is_mended() {
        check_fit(json!({"command": ["a", "b"]}), Ok(json!({"command": "ab"})));
        check_fit(
            json!({"command": "ls", "range": "[1, 2]"}),
            Ok(json!({"command": "ls", "range": [1, 2]})),
        );
        check_fit(
            json!({"command": "ls", "range": "[1, 2]</parameter>"}),
            Ok(json!({"command": "ls", "range": [1, 2]})),
        );
    }

    #[test]
    fn risk_and_summary_are_taken_out() {
        let Value::Object(fields) = json!({"command": "ls", "security_risk": "LOW", "summary": "list"})
        else {
            panic!()
        };
        let arguments = fit(fields, &schema()).unwrap();
        assert_eq!(arguments.risk, SecurityRisk::Low);
        assert_eq!(arguments.summary.as_deref(), Some("list"));
        assert_eq!(arguments.fields.len(), 1);
    }

    #[test]
    fn raw_control_characters_are_let_pass() {
        assert_eq!(
            parse("{\"command\": \"a\nb\t\\\"c\\\"\"}").unwrap()["command"],
            "a\nb\t\"c\""
        );
        assert_eq!(parse("{\n\"command\":\n\"x\"}").unwrap()["command"], "x");
        assert_eq!(parse("").unwrap(), Map::new());
        assert_eq!(parse("[1]").unwrap(), Map::new());
        assert!(parse("{\"command\": ").is_err());
    }
}
