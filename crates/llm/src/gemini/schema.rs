//! Tool schemas in the part of JSON Schema that Gemini takes. It refuses requests with keywords it does not know.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

/// Keywords that go over as they are.
const PLAIN: &[&str] = &[
    "description",
    "nullable",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "pattern",
    "minimum",
    "maximum",
];

/// Formats it knows; it refuses any other.
const FORMATS: &[&str] = &["date-time", "enum", "float", "double", "int32", "int64"];

/// A schema that goes deeper than this refers to itself.
const MAX_DEPTH: usize = 16;

/// The schema of a tool's arguments as Gemini takes it. `None`: the tool takes no arguments, which must not be
/// written as an object without properties.
pub(super) fn of_arguments(schema: &Value) -> Option<Value> {
    let cleaned = Cleaner { root: schema }.clean(schema, 0);
    cleaned
        .contains_key("properties")
        .then_some(Value::Object(cleaned))
}

struct Cleaner<'a> {
    /// What references start from.
    root: &'a Value,
}

impl Cleaner<'_> {
    fn clean(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let Some(fields) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return anything();
        };
        let mut cleaned = Map::new();
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            let target = target.strip_prefix('#').and_then(|path| self.root.pointer(path));
            cleaned = self.clean(target.unwrap_or(&Value::Null), depth + 1);
        }
        for part in list(fields, "allOf") {
            merge(&mut cleaned, self.clean(part, depth + 1));
        }
        for name in PLAIN {
            if let Some(value) = fields.get(*name) {
                cleaned.insert((*name).to_owned(), value.clone());
            }
        }
        if let Some(format) = fields.get("format").and_then(Value::as_str)
            && FORMATS.contains(&format)
        {
            cleaned.insert("format".to_owned(), format.into());
        }
        self.clean_members(fields, &mut cleaned, depth);
        clean_enum(fields, &mut cleaned);
        self.clean_choice(fields, &mut cleaned, depth);
        cleaned
    }

    /// Properties, items, and the type, which Gemini wants named.
    fn clean_members(&self, fields: &Map<String, Value>, cleaned: &mut Map<String, Value>, depth: usize) {
        if let Some(properties) = fields.get("properties").and_then(Value::as_object)
            && !properties.is_empty()
        {
            let properties: Map<_, _> = properties
                .iter()
                .map(|(name, schema)| (name.clone(), Value::Object(self.clean(schema, depth + 1))))
                .collect();
            // It refuses a required property that is not there.
            let required: Vec<_> = list(fields, "required")
                .iter()
                .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
                .cloned()
                .collect();
            let mut object = Map::from_iter([("properties".to_owned(), Value::Object(properties))]);
            if !required.is_empty() {
                object.insert("required".to_owned(), Value::Array(required));
            }
            merge(cleaned, object);
        }
        let types: Vec<_> = match fields.get("type") {
            Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(name)) => vec![name.as_str()],
            _ => Vec::new(),
        };
        if types.contains(&"null") {
            cleaned.insert("nullable".to_owned(), true.into());
        }
        let mut types = types.into_iter().filter(|name| *name != "null");
        let kind = match types.next() {
            Some(name) => Some(name),
            None if cleaned.contains_key("properties") => Some("object"),
            None if fields.contains_key("items") => Some("array"),
            None => None,
        };
        if let Some(kind) = kind {
            cleaned.insert("type".to_owned(), kind.into());
        }
        if kind == Some("array") {
            let items = match fields.get("items") {
                Some(Value::Array(items)) => items.first(),
                items => items,
            };
            let items = items.map_or_else(anything, |items| self.clean(items, depth + 1));
            cleaned.insert("items".to_owned(), Value::Object(items));
        }
        let others: Vec<_> = types.map(|name| json!({ "type": name })).collect();
        if let (Some(kind), false) = (kind, others.is_empty()) {
            let mut choice = vec![json!({ "type": kind })];
            choice.extend(others);
            choose(cleaned, choice);
        }
    }

    /// `anyOf` and `oneOf`, which Gemini does not tell apart.
    fn clean_choice(&self, fields: &Map<String, Value>, cleaned: &mut Map<String, Value>, depth: usize) {
        let given = [list(fields, "anyOf"), list(fields, "oneOf")].concat();
        let is_null = |schema: &Value| schema["type"] == "null";
        if given.iter().any(is_null) {
            cleaned.insert("nullable".to_owned(), true.into());
        }
        let mut choice: Vec<_> = given
            .iter()
            .filter(|schema| !is_null(schema))
            .map(|schema| self.clean(schema, depth + 1))
            .collect();
        match choice.len() {
            0 => {
                // A schema that says nothing allows anything.
                if !cleaned.contains_key("type") && !cleaned.contains_key("anyOf") {
                    merge(cleaned, anything());
                }
            }
            1 => merge(cleaned, choice.remove(0)),
            _ => choose(cleaned, choice.into_iter().map(Value::Object).collect()),
        }
    }
}

/// What stands for a schema that allows anything: text can hold it.
fn anything() -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), "string".into())])
}

/// Beside `anyOf` nothing may stand but a description.
fn choose(cleaned: &mut Map<String, Value>, mut choice: Vec<Value>) {
    if cleaned.get("nullable") == Some(&Value::Bool(true)) {
        for schema in &mut choice {
            schema["nullable"] = true.into();
        }
    }
    cleaned.retain(|name, _| name == "description");
    cleaned.insert("anyOf".to_owned(), Value::Array(choice));
}

/// Only text can be enumerated; other values are told in words.
fn clean_enum(fields: &Map<String, Value>, cleaned: &mut Map<String, Value>) {
    let single = fields.get("const").map(std::slice::from_ref);
    let values = single.unwrap_or_else(|| list(fields, "enum"));
    if values.contains(&Value::Null) {
        cleaned.insert("nullable".to_owned(), true.into());
    }
    let values: Vec<_> = values
        .iter()
        .filter(|value| !value.is_null() && *value != "")
        .cloned()
        .collect();
    if values.is_empty() {
        return;
    }
    if values.iter().all(Value::is_string) {
        cleaned.insert("type".to_owned(), "string".into());
        cleaned.insert("enum".to_owned(), Value::Array(values));
        return;
    }
    let words: Vec<_> = values.iter().map(Value::to_string).collect();
    let told = format!("One of: {}.", words.join(", "));
    let description = match cleaned.get("description").and_then(Value::as_str) {
        Some(description) => format!("{description} {told}"),
        None => told,
    };
    cleaned.insert("description".to_owned(), description.into());
    if !cleaned.contains_key("type") {
        let kind = match &values[0] {
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            _ => "string",
        };
        cleaned.insert("type".to_owned(), kind.into());
    }
}

/// Adds what `other` says and `cleaned` does not; properties and what is required of them add up.
fn merge(cleaned: &mut Map<String, Value>, other: Map<String, Value>) {
    for (name, value) in other {
        match (cleaned.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(more)) if name == "properties" => known.extend(more),
            (Some(Value::Array(known)), Value::Array(more)) if name == "required" => known.extend(more),
            (Some(_), _) => {}
            (None, value) => {
                cleaned.insert(name, value);
            }
        }
    }
}

fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    match fields.get(name) {
        Some(Value::Array(values)) => values,
        _ => &[],
    }
}
