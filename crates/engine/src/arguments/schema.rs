//! The part of JSON Schema that tools use, to check a value against it and to mend one that does not fit.

use serde_json::{Number, Value};

use super::escape_control_characters;

/// The schemas of which a value must fit one; it is the only one itself where it names no others.
fn choices(schema: &Value) -> Vec<&Value> {
    let others = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(key)?.as_array());
    match others {
        Some(others) => others.iter().flat_map(choices).collect(),
        None => vec![schema],
    }
}

/// The names of the types that a schema allows by itself; none if it allows all.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn is_allowed(value: &Value, types: &[&str]) -> bool {
    types.is_empty() || types.iter().any(|name| is_of(value, name))
}

/// Mends what models often get wrong, where the value is of no type that is allowed: a list, an object or a number
/// written as text, text written as a list of lines, a whole number written as a fraction.
pub(super) fn repair(value: &mut Value, schema: &Value) {
    let choices = choices(schema);
    let allowed = |value: &Value| choices.iter().any(|choice| is_allowed(value, &types(choice)));
    if !allowed(value)
        && let Some(mended) = readings(value).into_iter().find(allowed)
    {
        *value = mended;
    }
    let items = choices.iter().find_map(|choice| choice.get("items"));
    if let (Value::Array(values), Some(items)) = (value, items) {
        for value in values {
            repair(value, items);
        }
    }
}

/// What else a value may have been meant as.
fn readings(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let end = text.rfind(['}', ']']).map_or(text.len(), |last| last + 1);
            let read = |text: &str| serde_json::from_str::<Value>(&escape_control_characters(text)).ok();
            let read = read(text)
                .or_else(|| read(&text[..end]))
                .or_else(|| read(&text.trim().to_lowercase())); // `True`
            let whole = read.as_ref().and_then(whole_number);
            read.into_iter().chain(whole).collect()
        }
        Value::Array(parts) => {
            let lines = parts.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
            lines
                .map(|lines| Value::String(lines.concat()))
                .into_iter()
                .collect()
        }
        _ => whole_number(value).into_iter().collect(),
    }
}

/// `1` for `1.0`.
fn whole_number(value: &Value) -> Option<Value> {
    let number = value.as_f64().filter(|_| value.is_f64())?;
    // Beyond these a fraction has no room for the last digits.
    let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
    let whole = is_whole.then(|| format!("{number:.0}").parse::<i64>().ok())??;
    Some(Value::Number(Number::from(whole)))
}

/// What is wrong with a value, if anything is.
pub(super) fn check(value: &Value, schema: &Value) -> Result<(), String> {
    let choices = choices(schema);
    let of_type: Vec<_> = choices
        .iter()
        .filter(|choice| is_allowed(value, &types(choice)))
        .collect();
    let mut wrong = None;
    for choice in &of_type {
        match check_one(value, choice) {
            Ok(()) => return Ok(()),
            Err(problem) => wrong = Some(problem),
        }
    }
    Err(wrong.unwrap_or_else(|| {
        let names: Vec<_> = choices.iter().flat_map(|choice| types(choice)).collect();
        format!("must be of type {}", names.join(" or "))
    }))
}

/// The same, for a value of the right type and a schema that leaves no choice.
fn check_one(value: &Value, schema: &Value) -> Result<(), String> {
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
