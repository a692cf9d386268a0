//! Our `OpenAPI` document: whether the one that is checked in is the one of the code, and whether answers are as it says.

use std::collections::HashSet;
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

/// Whether a value may have fields that the document does not have.
#[derive(Clone, Copy, PartialEq)]
enum Others {
    /// Not in an answer that is written down where its route is.
    None,
    /// In what many answers have in common there are some that only one kind of client needs.
    Allowed,
}

/// Holds values against a document.
struct Check<'a> {
    document: &'a Value,
    found: Vec<String>,
}

impl Check<'_> {
    /// Notes what is wrong with a value.
    fn hold(&mut self, place: &str, schema: &Value, value: &Value, others: Others) {
        if let Some(name) = schema["$ref"].as_str() {
            let named = self.document.pointer(name.trim_start_matches('#')).expect(name);
            return self.hold(place, named, value, Others::Allowed);
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.hold(place, part, value, Others::Allowed);
        }
        if let Some(kinds) = schema["oneOf"].as_array() {
            let fits = |kind: &&Value| self.faults(place, kind, value).is_empty();
            if !kinds.iter().any(|kind| fits(&kind)) {
                self.found
                    .push(format!("{place} is none of those it may be: {value}"));
            }
            return;
        }
        let words = schema["enum"].as_array().map_or(&[][..], Vec::as_slice);
        if !words.is_empty() && !words.contains(value)
            || schema.get("const").is_some_and(|only| only != value)
        {
            self.found
                .push(format!("{place} is {value}, which is no word for it"));
        }
        let kinds: Vec<_> = match &schema["type"] {
            Value::String(kind) => vec![kind.as_str()],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return,
        };
        if !kinds.iter().any(|kind| is(value, kind)) {
            self.found.push(format!("{place} is {value}, not {kinds:?}"));
            return;
        }
        self.hold_fields(place, schema, value, others);
        for (number, item) in value.as_array().into_iter().flatten().enumerate() {
            self.hold(&format!("{place}[{number}]"), &schema["items"], item, others);
        }
    }

    fn hold_fields(&mut self, place: &str, schema: &Value, value: &Value, others: Others) {
        let Some(fields) = value.as_object() else { return };
        let (properties, rest) = (schema["properties"].as_object(), &schema["additionalProperties"]);
        for (name, value) in fields {
            let place = format!("{place}.{name}");
            match properties.and_then(|properties| properties.get(name)) {
                Some(schema) => self.hold(&place, schema, value, others),
                None if rest.is_object() => self.hold(&place, rest, value, others),
                None if others == Others::Allowed || properties.is_none() || rest == true => {}
                None => self.found.push(format!("{place} is not documented")),
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.found.push(format!("{place}.{name} is missing"));
            }
        }
    }

    fn faults(&self, place: &str, schema: &Value, value: &Value) -> Vec<String> {
        let mut check = Check {
            document: self.document,
            found: Vec::new(),
        };
        check.hold(place, schema, value, Others::Allowed);
        check.found
    }
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document = deft_server::openapi();
    let operations = document["paths"].as_object().unwrap().values();
    let operations: Vec<_> = operations
        .flat_map(|path| path.as_object().unwrap().values())
        .collect();
    let names: HashSet<_> = operations
        .iter()
        .map(|operation| operation["operationId"].as_str())
        .collect();
    assert_eq!(names.len(), operations.len());
}

#[tokio::test]
async fn answers_are_as_the_document_says() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let document = desk.get("/openapi.json").await;
    let mut check = Check {
        document: &document,
        found: Vec::new(),
    };
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let real = path.replace("{conversation_id}", &talk.0);
        let real = if path.ends_with("/git/changes") || path.ends_with("/git/commits") {
            format!("{real}?path={}", desk.work().display())
        } else {
            real
        };
        let schema = &operations["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        if real.contains('{') || schema.is_null() {
            continue;
        }
        let (status, answer) = desk.ask(reqwest::Method::GET, &real, None).await;
        if status == 200 {
            asked += 1;
            check.hold(&format!("GET {path}"), schema, &answer, Others::None);
        }
    }
    assert!(asked > 20, "only {asked} could be asked");
    let expected: Vec<_> = DIFFERENCES.iter().map(|(fault, _)| (*fault).to_owned()).collect();
    assert_eq!(check.found, expected);
}

#[tokio::test]
async fn what_a_socket_tells_is_as_the_document_says() {
    let desk = Desk::new().await;
    let script = format!(
        "- {{text: Look, tool_calls: [{{name: terminal, arguments: {{command: echo hi}}}}]}}\n{FINISH}"
    );
    let talk = desk.begin(&script).await;
    let path = format!(
        "/sockets/session/{}?tool_output=true&alive=true&after_seq=-1",
        talk.0
    );
    let mut socket = desk.socket(&path).await;
    desk.say(&talk, "do it", true).await;
    let frames = socket
        .until(|frame| frame["event"]["value"]["execution_status"] == "finished")
        .await;
    let document = desk.get("/openapi.json").await;
    let mut check = Check {
        document: &document,
        found: Vec::new(),
    };
    let schema = &document["components"]["schemas"]["Frame"];
    for frame in &frames {
        check.hold("a frame", schema, frame, Others::Allowed);
    }
    assert_eq!(check.found, Vec::<String>::new());
    for kind in ["MessageEvent", "ActionEvent", "ObservationEvent"] {
        assert!(
            frames.iter().any(|frame| frame["event"]["kind"] == kind),
            "no {kind} was told"
        );
    }
}
