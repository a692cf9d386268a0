//! Checks a value against the part of JSON Schema that tools use. A rule that is not known here, or that cannot be
//! used, forbids nothing.

use regex::RegexBuilder;
use serde_json::{Map, Value};

use super::schema::{MAX_DEPTH, Schemas, is_allowed, item, required, types};

/// How large a pattern may become in memory.
const MAX_PATTERN: usize = 1 << 16;
/// Of how many choices it is said why a value fits none of them.
const MAX_PROBLEMS: usize = 3;

impl Schemas<'_> {
    /// What is wrong with a value, if anything is.
    pub(super) fn check(&self, value: &Value, schema: &Value) -> Result<(), String> {
        if schema == &Value::Bool(false) {
            return Err("must not be there".to_owned());
        }
        if self.depth.get() == MAX_DEPTH {
            return Ok(());
        }
        self.depth.set(self.depth.get() + 1);
        let checked = self.check_here(value, schema);
        self.depth.set(self.depth.get() - 1);
        checked
    }

    fn check_here(&self, value: &Value, schema: &Value) -> Result<(), String> {
        let types = types(schema);
        if !is_allowed(value, &types) {
            return Err(of_type(&types));
        }
        check_listed(value, schema)?;
        match value {
            Value::Number(number) => check_number(number.as_f64().unwrap_or_default(), schema)?,
            Value::String(text) => check_text(text, schema)?,
            Value::Array(values) => self.check_list(values, schema)?,
            Value::Object(fields) => {
                let problems = self.problems(fields, schema, "is not a field of it");
                if !problems.is_empty() {
                    return Err(format!("does not fit: {}", problems.join("; ")));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combined(value, schema)
    }

    /// What is wrong with the fields of an object, and what is said of one that may not be there.
    pub(super) fn problems(&self, fields: &Map<String, Value>, schema: &Value, unknown: &str) -> Vec<String> {
        let missing = required(schema).filter(|name| !fields.contains_key(*name));
        let mut problems: Vec<_> = missing.map(|name| format!("`{name}` is missing")).collect();
        let by_pattern = schema.get("patternProperties").is_some();
        let others = schema.get("additionalProperties").filter(|_| !by_pattern);
        for (name, value) in fields {
            let own = schema
                .get("properties")
                .and_then(|properties| properties.get(name));
            match own.or(others) {
                Some(Value::Bool(false)) => problems.push(format!("`{name}` {unknown}")),
                Some(schema) => {
                    if let Err(problem) = self.check(value, schema) {
                        problems.push(format!("`{name}` {problem}"));
                    }
                }
                None => {}
            }
        }
        problems
    }

    fn check_list(&self, values: &[Value], schema: &Value) -> Result<(), String> {
        let (count, limit) = (values.len() as u64, |key: &str| {
            schema.get(key).and_then(Value::as_u64)
        });
        if let Some(least) = limit("minItems").filter(|least| count < *least) {
            return Err(format!("must have at least {least} items"));
        }
        if let Some(most) = limit("maxItems").filter(|most| count > *most) {
            return Err(format!("must have at most {most} items"));
        }
        for (position, value) in values.iter().enumerate() {
            if let Some(item) = item(schema, position) {
                self.check(value, item)
                    .map_err(|problem| format!("has an item that {problem}"))?;
            }
        }
        Ok(())
    }

    /// The same for the schemas that a schema is made of: what it refers to, all of these, one of those.
    pub(super) fn check_combined(&self, value: &Value, schema: &Value) -> Result<(), String> {
        if let Some(referred) = self.referred(schema) {
            self.check(value, referred)?;
        }
        let others = |key: &str| schema.get(key).and_then(Value::as_array);
        for other in others("allOf").into_iter().flatten() {
            self.check(value, other)?;
        }
        // A value that fits two of `oneOf` is let pass: no model can tell which it should not have fitted.
        for others in ["anyOf", "oneOf"].into_iter().filter_map(others) {
            self.check_one_of(value, others)?;
        }
        Ok(())
    }

    fn check_one_of(&self, value: &Value, others: &[Value]) -> Result<(), String> {
        let mut problems = Vec::new();
        for other in others {
            match self.check(value, other) {
                Ok(()) => return Ok(()),
                // What is of the right type says best what is wrong.
                Err(problem) if is_allowed(value, &types(other)) => problems.push(problem),
                Err(_) => {}
            }
        }
        problems.truncate(MAX_PROBLEMS);
        let names: Vec<_> = others.iter().flat_map(types).collect();
        match problems.as_slice() {
            [] if names.is_empty() => Ok(()), // there was nothing to choose from
            [] => Err(of_type(&names)),
            problems => Err(problems.join(", or ")),
        }
    }
}

fn of_type(names: &[&str]) -> String {
    format!("must be of type {}", names.join(" or "))
}

fn check_listed(value: &Value, schema: &Value) -> Result<(), String> {
    let name = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(only) = schema.get("const").filter(|only| *only != value) {
        return Err(format!("must be {}", name(only)));
    }
    if let Some(listed) = schema.get("enum").and_then(Value::as_array)
        && !listed.contains(value)
    {
        let names: Vec<_> = listed.iter().map(name).collect();
        return Err(format!("must be one of {}", names.join(", ")));
    }
    Ok(())
}

/// How a number stands to its limit.
type Stands = fn(&f64, &f64) -> bool;

fn check_number(number: f64, schema: &Value) -> Result<(), String> {
    let rules: [(&str, Stands, &str); 4] = [
        ("minimum", f64::ge, "at least"),
        ("maximum", f64::le, "at most"),
        ("exclusiveMinimum", f64::gt, "more than"),
        ("exclusiveMaximum", f64::lt, "less than"),
    ];
    for (key, stands, words) in rules {
        let limit = schema.get(key).and_then(Value::as_f64);
        if let Some(limit) = limit.filter(|limit| !stands(&number, limit)) {
            return Err(format!("must be {words} {limit}"));
        }
    }
    Ok(())
}

fn check_text(text: &str, schema: &Value) -> Result<(), String> {
    let limit = |key: &str| schema.get(key).and_then(Value::as_u64);
    let length = text.chars().count() as u64;
    if let Some(least) = limit("minLength").filter(|least| length < *least) {
        return Err(format!("must have at least {least} characters"));
    }
    if let Some(most) = limit("maxLength").filter(|most| length > *most) {
        return Err(format!("must have at most {most} characters"));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && let Ok(regex) = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build()
        && !regex.is_match(text)
    {
        return Err(format!("must match the pattern {pattern}"));
    }
    Ok(())
}
