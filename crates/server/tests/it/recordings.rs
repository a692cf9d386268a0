//! Sessions that were recorded with the server whose contract this is, asked again here, one request after the other:
//! each gets the same status, refusals the same words, and answers the same fields.
//!
//! `{work}` and `{model}` in a request are ours, and so are the ids that an answer before it gave (`learn`). Of answers
//! only the form was kept.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::desk::{Desk, KEY};

/// What is asked (its method, its path and something of the rest), where our answer is another, and why. An empty place
/// is the status.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "/no/such/dir",
        "",
        "a directory that the server may not use is refused before anything is run",
    ),
    ("/nope\"}", "", "the same for one that is to be listed"),
    (
        "POST /api/conversations ",
        ".stats.usage_to_metrics",
        "what was used is listed once it was",
    ),
    (
        "/events/search",
        ".items[0].dynamic_context",
        "it tells the model where it works",
    ),
    ("/vscode/", ".message", "there is no editor to switch on"),
    ("/vscode/", ".exception", "as above"),
    (
        "GET /api/llm/models/verified",
        ".models",
        "which models are known is our own list",
    ),
    (
        "/api/agent-profiles/ap1/materialize",
        ".resolved_settings.tools",
        "the tools are chosen by the model",
    ),
];

/// Fields that differ between two values, and values of another type; null is any.
fn differences(place: &str, recorded: &Value, ours: &Value, found: &mut Vec<String>) {
    match (recorded, ours) {
        (Value::Null, _) | (_, Value::Null) => {}
        (Value::Object(recorded), Value::Object(ours)) => {
            for (name, value) in recorded {
                match ours.get(name) {
                    Some(our) => differences(&format!("{place}.{name}"), value, our, found),
                    None => found.push(format!("{place}.{name} is missing")),
                }
            }
            let more = ours.keys().filter(|name| !recorded.contains_key(*name));
            found.extend(more.map(|name| format!("{place}.{name} is not in the contract")));
        }
        (Value::Array(recorded), Value::Array(ours)) => {
            if let (Some(recorded), Some(ours)) = (recorded.first(), ours.first()) {
                differences(&format!("{place}[0]"), recorded, ours, found);
            }
        }
        (recorded, ours) if std::mem::discriminant(recorded) == std::mem::discriminant(ours) => {}
        (recorded, ours) => found.push(format!("{place}: {recorded} was recorded, ours is {ours}")),
    }
}

/// A request with our own names in it.
fn filled(value: &Value, known: &HashMap<String, String>) -> Value {
    match value {
        Value::String(text) => known
            .iter()
            .fold(text.clone(), |text, (name, ours)| {
                text.replace(&format!("{{{name}}}"), ours)
            })
            .into(),
        Value::Array(items) => items.iter().map(|item| filled(item, known)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), filled(value, known)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Asks, and gives back the status and the answer, which is null where it is no JSON.
async fn ask(desk: &Desk, asked: &Value) -> (u16, Value) {
    let query = asked["query"].as_object().into_iter().flatten();
    let query = query.map(|(name, value)| (name, value.as_str().unwrap()));
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    let method = asked["method"].as_str().unwrap().parse().unwrap();
    let address = format!("{}?{query}", asked["path"].as_str().unwrap());
    let mut request = desk.request(method, &address).header("X-Session-API-Key", KEY);
    for (name, value) in asked["headers"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap());
    }
    let request = match &asked["body"] {
        Value::Null => request,
        Value::String(text) => request.body(text.clone()),
        body => request.json(body),
    };
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[tokio::test]
async fn recorded_requests_are_answered_as_they_were() {
    let exchanges: Vec<Value> = serde_json::from_str(include_str!("../data/recordings.json")).unwrap();
    let work = tempfile::tempdir().unwrap();
    let desk = Desk::with(|config| {
        config.current_dir = work.path().to_owned();
        config.file_roots = vec![work.path().to_owned(), "/tmp".into()];
    })
    .await;
    std::fs::write(work.path().join("index.html"), "<h1>hi</h1>").unwrap();
    let model = desk.script("s.yaml", "- {repeat: 20, text: Hello., delay_ms: 20}\n");
    let mut known = HashMap::from([
        ("work".to_owned(), work.path().display().to_string()),
        ("model".to_owned(), model),
    ]);
    let mut wrong = Vec::new();
    for exchange in &exchanges {
        let asked = filled(&exchange["request"], &known);
        let (status, answer) = ask(&desk, &asked).await;
        let mut found = Vec::new();
        if Some(u64::from(status)) != exchange["status"].as_u64() {
            found.push(format!(
                ": {} was recorded, ours is {status} {answer}",
                exchange["status"]
            ));
        } else if status < 400 {
            differences("", &exchange["answer"], &answer, &mut found);
        } else if answer != filled(&exchange["answer"], &known) {
            let exactly = filled(&exchange["answer"], &known);
            let both = exactly.as_object().into_iter().flatten();
            let unlike = both.filter(|(name, value)| answer[*name] != **value);
            found.extend(
                unlike
                    .map(|(name, value)| format!(".{name}: {value} was recorded, ours is {}", answer[name])),
            );
        }
        let words = format!(
            "{} {} {}",
            asked["method"].as_str().unwrap(),
            asked["path"].as_str().unwrap(),
            json!(asked)
        );
        found.retain(|fault| {
            !DIFFERENCES.iter().any(|(what, place, _)| {
                words.contains(what)
                    && (fault.starts_with(place) && !place.is_empty()
                        || place.is_empty() && fault.starts_with(':'))
            })
        });
        wrong.extend(found.into_iter().map(|fault| format!("{words}\n    {fault}")));
        for (name, place) in exchange["learn"].as_object().into_iter().flatten() {
            let id = answer.pointer(place.as_str().unwrap()).and_then(Value::as_str);
            known.insert(name.clone(), id.unwrap_or_default().to_owned());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
