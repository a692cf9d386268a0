//! Our `OpenAPI` document beside the contract's, operation by operation: parameters, what is sent, what is answered and
//! refused. Of types the first level is compared; what lies below is tried by the clients and the recordings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// The operations of the contract, from its document: the names of parameters, whether they must be given, and the
/// fields of bodies and answers with their types.
pub(crate) const CONTRACT: &str = include_str!("../data/contract_operations.json");

/// Where ours is another, and why. The end of an entry is compared, so that one reason can hold for several.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "header X-OpenHands-Observability-Metadata is missing",
        "traces are set up where the server is started, and say nothing of what clients think of them",
    ),
    (
        "header X-OpenHands-Observability-Parent-Span-Context is missing",
        "as above",
    ),
    (
        "header X-OpenHands-Observability-Span-Name is missing",
        "as above",
    ),
    ("header X-OpenHands-Observability-Tags is missing", "as above"),
    (
        "GET /api/bash/bash_events/{event_id}: answer 200 is [\"object\"] in the contract",
        "ours says which fields the event has",
    ),
    (
        "/bash/bash_events/{event_id}: answer 200 is [\"object\"] in the contract",
        "as above",
    ),
    (
        "/events/{event_id}: answer 200 is [\"object\"] in the contract",
        "as above",
    ),
    (
        "/events/search: answer 200 is not in the contract",
        "ours says what a page is",
    ),
    (
        "POST /api/mcp/test: answer 200 is [\"object\"] in the contract",
        "ours says which fields the answer has",
    ),
    (
        "/events: what is sent: field rejects is ours alone",
        "a message that says no to what waits, in one request",
    ),
    (
        "what is sent: field conversation_id is ours alone",
        "the project that a conversation works on, which can be where paths mean nothing here",
    ),
    (
        "are always in answers of ours",
        "the contract leaves fields out of `required` that its server always sends",
    ),
];

#[test]
fn our_document_says_what_the_contracts_does() {
    let contract: BTreeMap<String, Value> = serde_json::from_str(CONTRACT).unwrap();
    let document = deft_server::openapi();
    let ours = operations(&document);
    let mut found = Vec::new();
    for (name, theirs) in &contract {
        match ours.get(&unnamed(name)) {
            None => found.push(format!("{name} is missing")),
            Some(ours) => compare(name, theirs, ours, &mut found),
        }
    }
    let is_known = |fault: &&String| DIFFERENCES.iter().any(|(known, _)| fault.ends_with(known));
    let unknown: Vec<_> = found.iter().filter(|fault| !is_known(fault)).collect();
    assert!(unknown.is_empty(), "not explained:\n{unknown:#?}");
    let is_gone = |known: &&&str| !found.iter().any(|fault| fault.ends_with(**known));
    let known: Vec<_> = DIFFERENCES.iter().map(|(known, _)| known).collect();
    let gone: Vec<_> = known.iter().filter(|known| is_gone(known)).collect();
    assert!(gone.is_empty(), "no difference any more:\n{gone:#?}");
}

/// A method and a path without the names of its parameters.
pub(crate) fn unnamed(operation: &str) -> String {
    let part = |part: &str| {
        if part.starts_with('{') {
            "{}".to_owned()
        } else {
            part.to_owned()
        }
    };
    operation.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn compare(name: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    for place in ["query", "header"] {
        for (parameter, required) in theirs[place].as_object().into_iter().flatten() {
            match ours[place].get(parameter) {
                None => found.push(format!("{name}: {place} {parameter} is missing")),
                Some(also) if also != required => {
                    found.push(format!("{name}: whether {place} {parameter} must be given"));
                }
                Some(_) => {}
            }
        }
    }
    if theirs["body"]["media"] != ours["body"]["media"] {
        found.push(format!("{name}: the kind of what is sent"));
    }
    compare_shape(
        &format!("{name}: what is sent"),
        &theirs["body"],
        &ours["body"],
        found,
    );
    for (status, answer) in theirs["responses"].as_object().into_iter().flatten() {
        let place = format!("{name}: answer {status}");
        match ours["responses"].get(status) {
            None => found.push(format!("{place} is missing")),
            Some(also) => compare_shape(&place, answer, also, found),
        }
    }
}

fn compare_shape(place: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    let (their_fields, our_fields) = (theirs["fields"].as_object(), ours["fields"].as_object());
    let (Some(their_fields), Some(our_fields)) = (their_fields, our_fields) else {
        match (their_fields, our_fields) {
            (None, None) if theirs["type"] == ours["type"] => {}
            (Some(_), _) => found.push(format!("{place} has fields in the contract")),
            (None, _) if theirs["type"].is_null() => found.push(format!("{place} is not in the contract")),
            (None, _) => found.push(format!("{place} is {} in the contract", theirs["type"])),
        }
        return;
    };
    for (field, kind) in their_fields {
        match our_fields.get(field) {
            None => found.push(format!("{place}: field {field} is missing")),
            Some(also) if also != kind => {
                found.push(format!(
                    "{place}: field {field} is {kind} in the contract, {also} here"
                ));
            }
            Some(_) => {}
        }
    }
    for field in our_fields
        .keys()
        .filter(|field| !their_fields.contains_key(*field))
    {
        found.push(format!("{place}: field {field} is ours alone"));
    }
    let required = |shape: &Value| -> BTreeSet<String> {
        let names = shape["required"].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (theirs, ours) = (required(theirs), required(ours));
    for field in theirs.difference(&ours) {
        found.push(format!("{place}: field {field} must be there in the contract"));
    }
    let more: Vec<_> = ours.difference(&theirs).map(String::as_str).collect();
    if !more.is_empty() {
        found.push(format!(
            "{place}: {} are always in answers of ours",
            more.join(", ")
        ));
    }
}

/// The operations of a document in the form of the contract's list.
fn operations(document: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = unnamed(&format!("{} {path}", method.to_uppercase()));
            all.insert(name, digest(document, operation));
        }
    }
    all
}

fn digest(document: &Value, operation: &Value) -> Value {
    let mut digest = json!({});
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let (place, name) = (
            parameter["in"].as_str().unwrap(),
            parameter["name"].as_str().unwrap(),
        );
        digest[place][name] = parameter["required"].clone();
    }
    if let Some((media, content)) = first(&operation["requestBody"]["content"]) {
        digest["body"] = if media == "application/json" {
            shape(document, &content["schema"])
        } else {
            json!({})
        };
        digest["body"]["media"] = media.as_str().into();
    }
    for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
        let schema = &answer["content"]["application/json"]["schema"];
        digest["responses"][status] = if status.starts_with('2') && first(schema).is_some() {
            shape(document, schema)
        } else {
            json!({})
        };
    }
    digest
}

fn first(object: &Value) -> Option<(&String, &Value)> {
    object.as_object()?.iter().next()
}

fn shape(document: &Value, schema: &Value) -> Value {
    let schema = named(document, schema);
    let is_object =
        kinds(document, schema) == json!(["object"]) || kinds(document, schema) == json!(["null", "object"]);
    match schema["properties"].as_object().filter(|_| is_object) {
        Some(fields) => {
            let fields: Map<_, _> = fields
                .iter()
                .map(|(name, schema)| (name.clone(), kinds(document, schema)))
                .collect();
            json!({"fields": fields, "required": schema["required"]})
        }
        None => json!({"type": kinds(document, schema)}),
    }
}

fn named<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(name) => named(
            document,
            document.pointer(name.trim_start_matches('#')).expect(name),
        ),
        None => schema,
    }
}

/// The JSON types that a schema allows, in order; `true` where it allows any.
fn kinds(document: &Value, schema: &Value) -> Value {
    let schema = named(document, schema);
    if let Some(parts) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let mut all = BTreeSet::new();
        for part in parts {
            match kinds(document, part) {
                Value::Array(kinds) => all.extend(kinds.iter().filter_map(Value::as_str).map(str::to_owned)),
                _ => return true.into(),
            }
        }
        return json!(all);
    }
    match &schema["type"] {
        Value::String(kind) => json!([kind]),
        Value::Array(kinds) => {
            let kinds: BTreeSet<_> = kinds.iter().filter_map(Value::as_str).collect();
            json!(kinds)
        }
        _ if schema["const"].is_string() => json!(["string"]),
        _ if schema["allOf"].is_array() || schema["properties"].is_object() => json!(["object"]),
        _ => true.into(),
    }
}
