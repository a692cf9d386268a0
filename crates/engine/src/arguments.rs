//! A model's arguments: read, repaired and checked against the tool's schema.

mod check;
mod schema;

use std::fmt::Write;

use deft_types::SecurityRisk;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use self::schema::Schemas;

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
    let schemas = Schemas::in_root(schema);
    schemas.repair_fields(&mut fields, schema);
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

    let mut problems = schemas.problems(&fields, schema, "is not an argument of this tool");
    let whole = Value::Object(fields);
    if problems.is_empty()
        && let Err(problem) = schemas.check_combined(&whole, schema)
    {
        problems.push(format!("the object {problem}"));
    }
    match whole {
        Value::Object(fields) if problems.is_empty() => Ok(Arguments {
            fields,
            risk,
            summary,
        }),
        _ => Err(problems.join("; ")),
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
mod tests;
