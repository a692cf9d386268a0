//! The Responses API against real servers.

use std::sync::Arc;

use deft_llm::{FinishReason, Model, ModelError, ModelSettings, Reply, Request, Tuning, complete, open};
use deft_types::{Content, Message, Money, Role, ToolCallOrigin};
use serde_json::{Value, json};

use super::aimock::Aimock;
use super::server::{Act, Server, head};
use super::{KEY, request, settings};

fn model(server: &Server) -> Arc<dyn Model> {
    open("openai/gpt-5", &settings(server.base_url())).unwrap()
}

fn event(json: &Value) -> Act {
    Act::Send(format!(
        "event: {}\ndata: {json}\n\n",
        json["type"].as_str().unwrap()
    ))
}

fn done(index: usize, item: &Value) -> Act {
    event(&json!({ "type": "response.output_item.done", "output_index": index, "item": item }))
}

fn reasoning(id: &str) -> Value {
    json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA-secret-thoughts" })
}

fn function_call(id: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"), "name": "terminal",
        "arguments": "{\"command\":\"ls\"}",
    })
}

/// The message that a reply becomes in the history.
fn as_message(reply: &Reply) -> Message {
    let mut message = Message::text(Role::Assistant, reply.text.clone());
    message.tool_calls = Some(reply.tool_calls.clone());
    message.responses_reasoning_item.clone_from(&reply.reasoning_item);
    message
}

fn result(call_id: &str, texts: &[&str]) -> Message {
    let mut message = Message::new(
        Role::Tool,
        texts.iter().map(|text| Content::text(*text)).collect(),
    );
    message.tool_call_id = Some(call_id.to_owned());
    message
}

#[tokio::test]
async fn a_reply_goes_back_item_by_item_as_it_came() {
    let completed = json!({ "type": "response.completed", "response": {
        "id": "resp_1", "status": "completed", "output": [],
        "usage": {
            "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 400 },
            "output_tokens": 100, "output_tokens_details": { "reasoning_tokens": 40 },
        },
    } });
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        event(&json!({ "type": "response.created", "response": { "id": "resp_1" } })),
        done(0, &reasoning("rs_1")),
        event(&json!({ "type": "response.output_text.delta", "output_index": 1, "delta": "Two calls." })),
        done(2, &function_call("a")),
        done(3, &reasoning("rs_2")),
        done(4, &function_call("b")),
        event(&completed),
    ])
    .await;
    let model = model(&server);
    let reply = complete(&*model, request(), |_| ()).await.unwrap();

    assert_eq!(reply.response_id, "resp_1");
    assert_eq!(reply.text, "Two calls.");
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    assert!(reply.cost > Some(Money::ZERO));
    let call = &reply.tool_calls[1];
    assert_eq!(
        (call.id.as_str(), call.responses_item_id.as_deref(), call.origin),
        ("call_b", Some("fc_b"), ToolCallOrigin::Responses)
    );

    let first = server.request().await;
    assert!(
        first.head.starts_with("POST /v1/responses HTTP/1.1"),
        "{}",
        first.head
    );
    assert!(
        first
            .head
            .to_lowercase()
            .contains(&format!("authorization: bearer {KEY}")),
        "{}",
        first.head
    );
    assert_eq!(
        (&first.body["store"], &first.body["include"]),
        (&json!(false), &json!(["reasoning.encrypted_content"]))
    );

    let mut next = request();
    next.messages.list().extend([
        Arc::new(as_message(&reply)),
        Arc::new(result("call_a", &["one", "two"])),
        Arc::new(result("call_b", &["three"])),
    ]);
    complete(&*model, next, |_| ()).await.unwrap();
    let second = server.request().await;
    let output =
        |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    assert_eq!(
        second.body["input"].as_array().unwrap()[1..],
        [
            reasoning("rs_1"),
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Two calls." }] }),
            function_call("a"),
            reasoning("rs_2"),
            function_call("b"),
            output("call_a", "one\ntwo"),
            output("call_b", "three"),
        ]
    );
}

#[tokio::test]
async fn what_the_user_adds_to_the_body_counts() {
    let server = Server::start(vec![
        Act::Send(head("application/json")),
        Act::Send(json!({ "status": "completed", "output": [] }).to_string()),
    ])
    .await;
    let extra = json!({ "service_tier": "flex", "store": true });
    let settings = ModelSettings {
        tuning: Tuning {
            reasoning_effort: Some("low".to_owned()),
            temperature: Some(0.5),
            extra_body: extra.as_object().unwrap().clone(),
            ..Tuning::default()
        },
        ..settings(server.base_url())
    };
    let model = open("openai/gpt-5", &settings).unwrap();
    complete(&*model, request(), |_| ()).await.unwrap();
    let body = server.request().await.body;
    assert_eq!(body["service_tier"], "flex");
    assert_eq!(body["store"], true);
    assert_eq!(body["reasoning"], json!({ "effort": "low" }));
    assert_eq!(body.get("temperature"), None, "the model takes none");
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_a_network_failure() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        event(&json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Hal" })),
    ])
    .await;
    let error = complete(&*model(&server), request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
}

#[tokio::test]
async fn a_failure_within_the_stream_does_not_show_the_key() {
    let failed = json!({ "type": "response.failed", "response": {
        "status": "failed", "error": { "code": "server_error", "message": format!("key {KEY}") },
    } });
    let server = Server::start(vec![Act::Send(head("text/event-stream")), event(&failed)]).await;
    let error = complete(&*model(&server), request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Unavailable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
}

#[tokio::test]
async fn an_independent_server_is_understood_and_understands() {
    let call = json!({ "name": "terminal", "arguments": { "command": "ls" } });
    let fixtures = json!({ "fixtures": [
        {
            "match": { "userMessage": "Hello?", "hasToolResult": false },
            "response": { "content": "I will look.", "reasoning": "Files are wanted.", "toolCalls": [call, call] },
        },
        {
            "match": { "userMessage": "Hello?", "hasToolResult": true },
            "response": { "content": "There is one file." },
        },
    ] });
    let Some(server) = Aimock::start(&fixtures) else {
        return;
    };
    let model = open("openai/gpt-5", &settings(format!("{}/v1", server.url()))).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(reply.text, "I will look.");
    assert_eq!(reply.reasoning.as_deref(), Some("Files are wanted."));
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    assert_eq!(reply.tool_calls.len(), 2);
    assert_eq!(
        serde_json::from_str::<Value>(&reply.tool_calls[0].arguments).unwrap(),
        json!({ "command": "ls" })
    );

    let mut messages = request().messages;
    messages.push(Arc::new(as_message(&reply)));
    messages.list().extend(
        reply
            .tool_calls
            .iter()
            .map(|call| Arc::new(result(&call.id, &["a.txt"]))),
    );
    let next = Request {
        messages,
        ..request()
    };
    let reply = complete(&*model, next, |_| ()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("There is one file.", FinishReason::Stop)
    );
}
