//! Our `OpenAPI` document: whether the one that is checked in is the one of the code, and whether answers are as it says.

use std::path::Path;

use serde_json::Value;

use crate::desk::{Desk, FINISH};

/// Where an answer is not what the document says, and why.
const DIFFERENCES: [(&str, &str); 0] = [];

#[test]
fn the_document_that_is_checked_in_is_the_one_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let made = format!("{:#}\n", deft_server::openapi());
    if std::env::var_os("DEFT_UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/openapi.json is old: run this test once with DEFT_UPDATE=1"
    );
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

/// What is wrong with a value.
fn faults(place: &str, schema: &Value, value: &Value, found: &mut Vec<String>) {
    let kinds: Vec<_> = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    if !kinds.iter().any(|kind| is(value, kind)) {
        found.push(format!("{place} is {value}, not {kinds:?}"));
        return;
    }
    if let (Some(fields), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for (name, value) in fields {
            match properties.get(name) {
                Some(schema) => faults(&format!("{place}.{name}"), schema, value, found),
                None => found.push(format!("{place}.{name} is not documented")),
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required
            .filter_map(Value::as_str)
            .filter(|name| !fields.contains_key(*name))
        {
            found.push(format!("{place}.{name} is missing"));
        }
    }
    if let Some(first) = value.as_array().and_then(|items| items.first()) {
        faults(&format!("{place}[0]"), &schema["items"], first, found);
    }
}

#[tokio::test]
async fn answers_are_as_the_document_says() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let document = desk.get("/openapi.json").await;
    let mut found = Vec::new();
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let real = path.replace("{conversation_id}", &talk.0);
        let schema = &operations["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        if real.contains('{') || schema.is_null() {
            continue;
        }
        let (status, answer) = desk.ask(reqwest::Method::GET, &real, None).await;
        if status == 200 {
            asked += 1;
            faults(&format!("GET {path}"), schema, &answer, &mut found);
        }
    }
    assert!(asked > 20, "only {asked} could be asked");
    let expected: Vec<_> = DIFFERENCES.iter().map(|(fault, _)| (*fault).to_owned()).collect();
    assert_eq!(found, expected);
}
