//! Model calls that a client wants to see whole.

use std::path::Path;

use serde_json::{Value, json};

use crate::desk::{Desk, FINISH};

#[tokio::test]
async fn model_calls_are_told_whole_and_without_secrets_where_a_client_wants_to_see_them() {
    let desk = Desk::new().await;
    let model = desk.script("script.yaml", FINISH);
    let mut request = desk.start_request(&model);
    request["agent"]["llm"]["log_completions"] = true.into();
    // JSON writes it otherwise than it is, so it would not be found in a text of JSON.
    request["secrets"] = json!({"DOOR": {"kind": "StaticSecret", "value": "open\"sesame"}});
    let talk = desk.begin_with(request).await;
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    desk.say(&talk, "the word is open\"sesame", true).await;
    desk.ended(&talk).await;
    let is_log = |event: &Value| event["kind"] == "LLMCompletionLogEvent";
    let told = socket.until(is_log).await.pop().unwrap();
    let events = desk.events(&talk).await;
    let place = events.iter().position(is_log).unwrap();
    assert_eq!(told, events[place], "it is stored as it was told");
    assert_eq!(
        (&told["model_name"], &told["usage_id"], &told["source"]),
        (&json!(model), &json!("agent"), &json!("environment"))
    );
    let file = told["filename"].as_str().unwrap();
    assert!(file.starts_with("script:__"), "{file}");
    assert_eq!(Path::new(file).extension().unwrap(), "json");
    let acts = events
        .iter()
        .position(|event| event["kind"] == "ActionEvent")
        .unwrap();
    assert!(place < acts, "the call comes before what it led to");

    let data: Value = serde_json::from_str(told["log_data"].as_str().unwrap()).unwrap();
    let asked = data["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(asked["content"][0]["text"], "the word is <secret-hidden>");
    let called = &data["response"]["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(called["name"], "finish");
    assert!(
        data["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["function"]["name"] == "terminal")
    );
    for field in ["context_window", "cost", "timestamp", "latency_sec"] {
        assert!(data[field].is_number(), "{field}: {data}");
    }
    assert!(!data.to_string().contains("sk-fake-key"));
}

#[tokio::test]
async fn a_model_that_comes_later_is_asked_whether_it_is_logged_too() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let other = desk.script("other.yaml", FINISH);
    let llm = json!({"model": other, "usage_id": "later", "log_completions": true});
    desk.post(&talk.path("/switch_llm"), json!({"llm": llm})).await;
    desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let logs: Vec<_> = events
        .iter()
        .filter(|event| event["kind"] == "LLMCompletionLogEvent")
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    assert_eq!(logs[0]["usage_id"], "later");
}
