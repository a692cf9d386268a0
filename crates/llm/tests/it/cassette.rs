//! Recording a model behind HTTP, and playing it back when nobody listens any more.

use deft_llm::{ModelSettings, complete, open};
use serde_json::json;

use crate::aimock::Aimock;
use crate::server::{Act, Server, head};
use crate::{KEY, call, event, request, settings};

#[tokio::test]
async fn a_recorded_reply_is_the_same_without_the_server() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!({ "reasoning_content": "hm" }), None)),
        Act::Send(event(&json!({ "content": "I " }), None)),
        Act::Send(event(&json!({ "content": "look." }), None)),
        // No id: one is made, and must be the same when it is played.
        Act::Send(call(0, None, Some("terminal"), "{\"command\":")),
        Act::Send(call(0, None, None, "\"ls\"}")),
        Act::Send(event(&json!({}), Some("tool_calls"))),
        Act::Send("data: [DONE]\n\n".to_owned()),
    ])
    .await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.jsonl");
    let name = format!("record:{}:openai/gpt-4o", file.display());
    let model = open(&name, &settings(server.base_url())).unwrap();
    let mut recorded = complete(&*model, request(), |_| ()).await.unwrap();
    drop(server);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(KEY));

    let model = open(&format!("replay:{}", file.display()), &ModelSettings::default()).unwrap();
    let played = complete(&*model, request(), |_| ()).await.unwrap();
    recorded.latency = played.latency;
    assert_eq!(played, recorded);
}

#[tokio::test]
async fn replies_of_an_independent_server_are_recorded_too() {
    let fixtures = json!({ "fixtures": [{ "match": { "userMessage": "Hello?" }, "response": { "content": "Hello from afar." } }] });
    let Some(server) = Aimock::start(&fixtures) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.jsonl");
    let name = format!("record:{}:openai/gpt-4o", file.display());
    let model = open(&name, &settings(format!("{}/v1", server.url()))).unwrap();
    complete(&*model, request(), |_| ()).await.unwrap();
    drop(server);
    let model = open(&format!("replay:{}", file.display()), &ModelSettings::default()).unwrap();
    let played = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(played.text, "Hello from afar.");
}
