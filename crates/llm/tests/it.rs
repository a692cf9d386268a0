//! The adapters against real servers on real sockets; the chat adapter stands for all where they are alike.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "it/aimock.rs"]
mod aimock;
#[path = "it/anthropic.rs"]
mod anthropic;
#[path = "it/azure.rs"]
mod azure;
#[path = "it/bedrock.rs"]
mod bedrock;
#[path = "it/cassette.rs"]
mod cassette;
#[path = "it/check.rs"]
mod check;
#[path = "it/count.rs"]
mod count;
#[path = "it/discover.rs"]
mod discover;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/gemini.rs"]
mod gemini;
#[path = "it/learning.rs"]
mod learning;
#[path = "it/network.rs"]
mod network;
#[path = "it/ollama.rs"]
mod ollama;
#[path = "it/own_server.rs"]
mod own_server;
#[path = "it/prompted.rs"]
mod prompted;
#[path = "it/responses.rs"]
mod responses;
#[path = "it/routes.rs"]
mod routes;
#[path = "it/server.rs"]
mod server;

#[path = "it/small_model.rs"]
mod small_model;

use std::sync::Arc;
use std::time::Duration;

use deft_llm::{
    Delta, FinishReason, Model, ModelError, ModelSettings, Reply, Request, RetryPolicy, ToolSchema, complete,
    open,
};
use deft_types::{Message, Role, Secret, Tokens};
use futures::StreamExt;
use serde_json::{Value, json};

use server::{Act, Server, head};

const KEY: &str = "sk-test-0123456789";

fn settings(base_url: String) -> ModelSettings {
    ModelSettings {
        api_key: Some(Secret::new(KEY.to_owned())),
        base_url: Some(base_url),
        retry: RetryPolicy {
            attempts: 1,
            ..RetryPolicy::default()
        },
        ..ModelSettings::default()
    }
}

fn model(server: &Server) -> Arc<dyn Model> {
    open("openai/gpt-4o", &settings(server.base_url())).unwrap()
}

fn request() -> Request {
    Request {
        messages: vec![Arc::new(Message::text(Role::User, "Hello?"))].into(),
        tools: Arc::new([ToolSchema {
            name: "terminal".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({ "type": "object" }),
        }]),
        cache_key: Some("conversation-1".to_owned()),
    }
}

async fn ask(acts: Vec<Act>) -> Result<Reply, ModelError> {
    let server = Server::start(acts).await;
    complete(&*model(&server), request(), |_| ()).await
}

/// A refusal as a server sends it.
fn refused(status_line: &str, headers: &str, body: &str) -> Act {
    Act::Send(format!(
        "HTTP/1.1 {status_line}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

async fn refusal(status_line: &str, headers: &str, body: &str) -> ModelError {
    ask(vec![refused(status_line, headers, body)]).await.unwrap_err()
}

fn event(delta: &Value, finish: Option<&str>) -> String {
    let chunk =
        json!({ "id": "chatcmpl-7", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    format!("data: {chunk}\n\n")
}

fn call(index: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> String {
    let function = json!({ "name": name, "arguments": arguments });
    event(
        &json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }),
        None,
    )
}

#[tokio::test]
async fn a_streamed_reply_is_put_together_and_paid_for() {
    let usage = json!({ "id": "chatcmpl-7", "choices": [], "usage": {
        "prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": { "cached_tokens": 400 },
    }});
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(": keep-alive\n\n".to_owned()),
        Act::Send(event(
            &json!({ "role": "assistant", "reasoning_content": "hm" }),
            None,
        )),
        Act::Send(event(&json!({ "content": "Two " }), None)),
        Act::Send(event(&json!({ "content": "calls." }), None)),
        Act::Send(call(0, Some("call_a"), Some("terminal"), "{\"command\":")),
        Act::Send(call(0, None, None, "\"ls\"}")),
        Act::Send(call(1, Some("call_b"), Some("terminal"), "{}")),
        Act::Send(event(&json!({}), Some("tool_calls"))),
        Act::Send(format!("data: {usage}\n\ndata: [DONE]\n\n")),
    ])
    .await;
    let mut seen = Vec::new();
    let reply = complete(&*model(&server), request(), |delta| seen.push(delta.clone()))
        .await
        .unwrap();

    assert_eq!(reply.response_id, "chatcmpl-7");
    assert_eq!(reply.text, "Two calls.");
    assert_eq!(reply.reasoning.as_deref(), Some("hm"));
    let calls: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("call_a", "{\"command\":\"ls\"}"), ("call_b", "{}")]);
    assert_eq!(
        (reply.usage.prompt, reply.usage.cache_read),
        (Tokens(1000), Tokens(400))
    );
    // 600 × $0.0000025 + 400 × $0.00000125 + 100 × $0.00001
    assert_eq!(reply.cost, "0.003".parse().ok());
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    assert!(reply.latency > Duration::ZERO);
    assert_eq!(
        seen.iter()
            .filter(|delta| matches!(delta, Delta::Text(_)))
            .count(),
        2
    );

    let sent = server.request().await;
    assert!(
        sent.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{}",
        sent.head
    );
    assert!(
        sent.head
            .to_lowercase()
            .contains(&format!("authorization: bearer {KEY}")),
        "{}",
        sent.head
    );
    assert_eq!(sent.body["model"], "gpt-4o");
    assert_eq!(sent.body["max_completion_tokens"], 16_384);
    // Not every server that speaks as OpenAI does takes its key.
    assert_eq!(sent.body.get("prompt_cache_key"), None);
    assert_eq!(sent.body["stream_options"], json!({ "include_usage": true }));
    assert_eq!(
        sent.body["messages"],
        json!([{ "role": "user", "content": "Hello?" }])
    );
    assert_eq!(sent.body["tools"][0]["function"]["name"], "terminal");
}

#[tokio::test]
async fn pieces_are_shown_while_the_server_still_writes() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!({ "content": "Hi" }), None)),
        Act::Hold,
    ])
    .await;
    let mut deltas = model(&server).stream(request());
    let started = deltas.next().await.unwrap().unwrap();
    assert!(matches!(started, Delta::Started { .. }), "{started:?}");
    assert_eq!(deltas.next().await, Some(Ok(Delta::Text("Hi".to_owned()))));
}

#[tokio::test]
async fn a_call_without_an_id_is_given_one() {
    let reply = ask(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(call(0, None, Some("terminal"), "{}")),
        Act::Send(call(3, None, Some("terminal"), "{}")),
        Act::Send(event(&json!({}), Some("tool_calls"))),
    ])
    .await
    .unwrap();
    assert_eq!(reply.tool_calls.len(), 2);
    assert!(reply.tool_calls.iter().all(|call| !call.id.is_empty()));
    assert_ne!(reply.tool_calls[0].id, reply.tool_calls[1].id);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body =
        json!({ "id": "x", "choices": [{ "message": { "content": "Hi" }, "finish_reason": "length" }] });
    let reply = ask(vec![
        Act::Send(head("application/json")),
        Act::Send(body.to_string()),
    ])
    .await
    .unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("Hi", FinishReason::Length));
    assert_eq!(reply.cost, None, "without token counts nobody knows");
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_a_network_failure() {
    let error = ask(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!({ "content": "Hal" }), None)),
    ])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
    // Within a promised length it is the connection itself that complains.
    let error = ask(vec![Act::Send(
        "HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\ndata: ".to_owned(),
    )])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let silent_from_the_start = vec![Act::Hold];
    let silent_within = vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!({ "content": "Hal" }), None)),
        Act::Hold,
    ];
    for acts in [silent_from_the_start, silent_within] {
        let server = Server::start(acts).await;
        let settings = ModelSettings {
            idle_timeout: Duration::from_millis(300),
            ..settings(server.base_url())
        };
        let model = open("openai/gpt-4o", &settings).unwrap();
        let error = complete(&*model, request(), |_| ()).await.unwrap_err();
        assert!(matches!(error, ModelError::Timeout { .. }), "{error:?}");
        assert!(error.to_string().contains("0.3 s"), "{error}");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!({ "content": "Hi" }), None)),
        Act::Hold,
    ])
    .await;
    let mut deltas = model(&server).stream(request());
    assert!(deltas.next().await.is_some());
    drop(deltas);
    server.closed().await;
}

#[tokio::test]
async fn dropping_the_stream_before_any_answer_closes_the_connection() {
    let server = Server::start(vec![Act::Hold]).await;
    let mut deltas = model(&server).stream(request());
    tokio::select! {
        delta = deltas.next() => panic!("{delta:?}"),
        _ = server.request() => {}
    }
    drop(deltas);
    server.closed().await;
}

#[tokio::test]
async fn a_refused_key_is_not_shown_even_if_the_server_echoes_it() {
    let body = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}"), "code": "invalid_api_key" } });
    let error = refusal("401 Unauthorized", "", &body.to_string()).await;
    assert!(matches!(error, ModelError::Authentication { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains(KEY), "{error}");

    let within = format!("data: {}\n\n", json!({ "error": format!("bad key {KEY}") }));
    let error = ask(vec![Act::Send(head("text/event-stream")), Act::Send(within)])
        .await
        .unwrap_err();
    assert!(!format!("{error} {error:?}").contains(KEY), "{error}");
}

#[tokio::test]
async fn a_rate_limit_tells_how_long_to_wait_in_both_forms() {
    let seconds = refusal("429 Too Many Requests", "retry-after: 7\r\n", "{}").await;
    let date = "date: Sun, 15 Nov 2026 08:00:00 GMT\r\nretry-after: Sun, 15 Nov 2026 08:00:07 GMT\r\n";
    let moment = refusal("429 Too Many Requests", date, "{}").await;
    for error in [seconds, moment] {
        assert!(matches!(error, ModelError::RateLimit { .. }), "{error:?}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
    }
}

#[tokio::test]
async fn a_web_page_from_a_broken_gateway_is_reduced_to_its_title() {
    let page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    let error = refusal("502 Bad Gateway", "content-type: text/html\r\n", page).await;
    assert!(matches!(error, ModelError::Unavailable { .. }), "{error:?}");
    assert!(
        error.to_string().contains("502 Bad Gateway") && !error.to_string().contains("nginx"),
        "{error}"
    );
}

#[tokio::test]
async fn a_failure_whose_body_never_ends_is_still_told() {
    let error = ask(vec![
        Act::Send("HTTP/1.1 503 Busy\r\ncontent-length: 999999\r\n\r\n".to_owned()),
        Act::Send("x".repeat(200_000)),
    ])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::Overloaded { .. }), "{error:?}");
    assert!(error.to_string().len() < 3_000);
}

#[tokio::test]
async fn an_error_within_a_good_answer_is_an_error() {
    let error = ask(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!({ "content": "Hal" }), None)),
        Act::Send("data: {\"error\":{\"message\":\"Overloaded\",\"code\":529}}\n\n".to_owned()),
    ])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::Overloaded { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_rest_of_its_address() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let settings = settings(format!("http://user:hush@127.0.0.1:{port}/v1?token=hush"));
    let model = open("openai/gpt-4o", &settings).unwrap();
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains(&format!("127.0.0.1:{port}")) && message.contains("refused"),
        "{message}"
    );
    assert!(!message.contains("hush"), "{message}");
}

#[tokio::test]
async fn one_connection_serves_one_call_after_another() {
    let body =
        json!({ "choices": [{ "message": { "content": "Hi" }, "finish_reason": "stop" }] }).to_string();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let server = Server::start(vec![
        Act::Send(answer.clone()),
        Act::NextRequest,
        Act::Send(answer),
    ])
    .await;
    let model = model(&server);
    for _ in 0..2 {
        assert_eq!(complete(&*model, request(), |_| ()).await.unwrap().text, "Hi");
    }
    assert_eq!(server.connections(), 1);
}
