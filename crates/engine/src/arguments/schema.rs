//! The schemas of a tool's arguments: finding the one that is meant, and mending a value that does not fit it.
//!
//! Schemas come from strangers. One that refers to itself ends at a limit, and what is beyond it is left unchecked.

use std::cell::Cell;

use serde_json::{Map, Number, Value};

use super::escape_control_characters;

/// References that are followed for one set of arguments.
const MAX_REFERENCES: usize = 20_000;
/// How deep schemas are followed into each other.
pub(super) const MAX_DEPTH: usize = 64;

/// A schema with all that its parts refer to.
pub(super) struct Schemas<'a> {
    root: &'a Value,
    references_left: Cell<usize>,
    pub(super) depth: Cell<usize>,
}

impl<'a> Schemas<'a> {
    pub(super) fn in_root(root: &'a Value) -> Self {
        Self {
            root,
            references_left: Cell::new(MAX_REFERENCES),
            depth: Cell::new(0),
        }
    }

    /// What a schema refers to, if it does: another part of the same text.
    pub(super) fn referred(&self, schema: &Value) -> Option<&'a Value> {
        let place = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        let left = self.references_left.get().checked_sub(1)?;
        self.references_left.set(left);
        self.root.pointer(place)
    }

    /// The schemas without a choice or a reference that a value may be meant for.
    fn choices<'s>(&self, schema: &'s Value, depth: usize) -> Vec<&'s Value>
    where
        'a: 's,
    {
        if depth == MAX_DEPTH {
            return Vec::new();
        }
        if let Some(referred) = self.referred(schema) {
            return self.choices(referred, depth + 1);
        }
        let others = ["anyOf", "oneOf", "allOf"]
            .iter()
            .find_map(|key| schema.get(key)?.as_array());
        match others {
            Some(others) => {
                let choices = others.iter().flat_map(|other| self.choices(other, depth + 1));
                choices.collect()
            }
            None => vec![schema],
        }
    }

    /// Mends what models often get wrong, where the value is of no type that is allowed: a list, an object or a number
    /// written as text, text written as a list of lines, a whole number written as a fraction.
    fn repair(&self, value: &mut Value, schema: &Value, depth: usize) {
        if depth == MAX_DEPTH || self.check(value, schema).is_ok() {
            return;
        }
        let choices = self.choices(schema, 0);
        let allowed = |value: &Value| choices.iter().any(|choice| is_allowed(value, &types(choice)));
        if !allowed(value)
            && let Some(mended) = readings(value).into_iter().find(allowed)
        {
            *value = mended;
        }
        match value {
            Value::Array(values) => {
                for (position, value) in values.iter_mut().enumerate() {
                    if let Some(item) = choices.iter().find_map(|choice| item(choice, position)) {
                        self.repair(value, item, depth + 1);
                    }
                }
            }
            Value::Object(fields) => {
                if let Some(object) = choices.iter().find(|choice| choice.get("properties").is_some()) {
                    self.repair_at(fields, object, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Mends the fields of an object. Models write null for what they leave out: it is kept only where something must
    /// be there that may be null.
    pub(super) fn repair_fields(&self, fields: &mut Map<String, Value>, schema: &Value) {
        self.repair_at(fields, schema, 0);
    }

    fn repair_at(&self, fields: &mut Map<String, Value>, schema: &Value, depth: usize) {
        let property = |name: &str| schema.get("properties")?.get(name);
        fields.retain(|name, value| {
            let may_be_null = || property(name).is_none_or(|schema| self.check(&Value::Null, schema).is_ok());
            !value.is_null() || required(schema).any(|required| required == name) && may_be_null()
        });
        for (name, value) in fields {
            if let Some(schema) = property(name) {
                self.repair(value, schema, depth);
            }
        }
    }
}

/// The names of the fields that must be there.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

/// The schema of an item of a list.
pub(super) fn item(schema: &Value, position: usize) -> Option<&Value> {
    let first = schema.get("prefixItems").and_then(Value::as_array);
    let own = first.and_then(|first| first.get(position));
    own.or_else(|| schema.get("items"))
}

/// The names of the types that a schema allows by itself; none if it allows all.
pub(super) fn types(schema: &Value) -> Vec<&str> {
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

pub(super) fn is_allowed(value: &Value, types: &[&str]) -> bool {
    types.is_empty() || types.iter().any(|name| is_of(value, name))
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
