//! A model's arguments: read, repaired and checked against the tool's schema.

mod schema;

use std::fmt::Write;

use deft_types::SecurityRisk;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use self::schema::{check, repair};

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

    let risk = if declares("security_risk") {
        None
    } else {
        take_risk(&mut fields, declares)
    };
    let risk = match risk {
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

/// Takes the risk out of the arguments under its name, or under one that a model mistook for it.
fn take_risk(fields: &mut Map<String, Value>, declares: impl Fn(&str) -> bool) -> Option<Value> {
    let meant = |name: &str| {
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        letters.to_ascii_lowercase().starts_with("securityr")
    };
    let is_risk = |value: &Value| SecurityRisk::deserialize(value).is_ok();
    let mistaken = |(name, value): (&String, &Value)| {
        (meant(name) && !declares(name) && is_risk(value)).then(|| name.clone())
    };
    let named = fields.remove("security_risk");
    // A second one is as useless to the tool as the first.
    let mistaken: Vec<_> = fields.iter().filter_map(mistaken).collect();
    let mistaken: Vec<_> = mistaken.iter().filter_map(|name| fields.remove(name)).collect();
    named.or_else(|| mistaken.into_iter().next())
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
                "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
                "lines": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 1}},
                "loose": {"oneOf": [{"type": "string"}, {"type": "array"}]},
                "count": {"type": "integer"},
                "force": {"type": "boolean"},
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
            json!({"command": "ls", "range": [1, "two"]}),
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
    fn a_value_that_only_looks_otherwise_is_taken_for_what_it_means() {
        for (name, given, meant) in [
            ("tags", json!("[\"a\", \"b\"]"), json!(["a", "b"])),
            ("lines", json!("[1, 2]"), json!([1, 2])),
            ("lines", json!(["1", 2.0]), json!([1, 2])),
            ("loose", json!("[1]"), json!("[1]")),
            ("loose", json!(["a"]), json!(["a"])),
            ("timeout", json!("30"), json!(30)),
            ("timeout", json!(" 0.5 "), json!(0.5)),
            ("count", json!("30"), json!(30)),
            ("count", json!(1.0), json!(1)),
            ("count", json!("-2.0"), json!(-2)),
            ("force", json!("True"), json!(true)),
        ] {
            check_fit(
                json!({"command": "ls", name: given}),
                Ok(json!({"command": "ls", name: meant})),
            );
        }
        for (name, given, problem) in [
            ("count", json!(1.5), "`count` must be of type integer"),
            ("count", json!("many"), "`count` must be of type integer"),
            ("timeout", json!("soon"), "`timeout` must be of type number"),
            ("tags", json!(7), "`tags` must be of type array or null"),
            (
                "lines",
                json!("[0]"),
                "`lines` has an item that must be at least 1",
            ),
        ] {
            check_fit(json!({"command": "ls", name: given}), Err(problem));
        }
    }

    #[test]
    fn a_risk_under_a_mistaken_name_is_the_risk() {
        for name in ["security_risks", "securityRisk", "security-risk", "security_rist"] {
            let Value::Object(fields) = json!({"command": "ls", name: "HIGH"}) else {
                panic!()
            };
            let arguments = fit(fields, &schema()).unwrap();
            assert_eq!(
                (arguments.risk, arguments.fields.len()),
                (SecurityRisk::High, 1),
                "{name}"
            );
        }
        check_fit(
            json!({"command": "ls", "security_rules": "none"}),
            Err("`security_rules` is not an argument of this tool"),
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
