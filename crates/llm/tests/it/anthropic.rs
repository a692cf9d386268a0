//! The Anthropic adapter over HTTP.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deft_llm::{Delta, FinishReason, Model, ModelError, ModelSettings, Reply, Request, complete, open};
use deft_types::{Content, ImageContent, Message, Role, ThinkingBlock, Tokens};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::aimock::Aimock;
use crate::server::{Act, Server, head};
use crate::{KEY, refused, request, settings};

fn model(server: &Server) -> Arc<dyn Model> {
    open("anthropic/claude-sonnet-4-5", &settings(server.base_url())).unwrap()
}

fn events(events: &[Value]) -> Act {
    let text = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    Act::Send(text.collect())
}

fn begin() -> Value {
    let usage = json!({
        "input_tokens": 100, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 600, "output_tokens": 1,
    });
    json!({ "type": "message_start", "message": { "id": "msg_7", "type": "message", "usage": usage } })
}

fn piece(text: &str) -> Value {
    json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } })
}

#[tokio::test]
async fn an_image_is_made_as_small_as_claude_takes_it() {
    let server = Server::start(vec![Act::Hold]).await;
    let mut png = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(2, 2)
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    // What follows the image counts as well.
    let mut png = png.into_inner();
    png.resize(4_000_000, 0);
    let body = ImageContent {
        image_urls: vec![format!("data:image/png;base64,{}", STANDARD.encode(png))],
        ..ImageContent::default()
    };
    let request = Request {
        messages: vec![Arc::new(Message::new(Role::User, vec![Content::Image(body)]))].into(),
        ..Request::default()
    };
    let mut reply = model(&server).stream(request);
    let sent = tokio::select! {
        sent = server.request() => sent,
        delta = reply.next() => panic!("{delta:?} came before the request was seen"),
    };
    let data = &sent.body["messages"][0]["content"][0]["source"]["data"];
    assert!(data.as_str().unwrap().len() < 1_000);
}

#[tokio::test]
async fn an_answer_that_breaks_off_still_says_what_it_used() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        events(&[begin(), piece("Hel")]),
    ])
    .await;
    let deltas: Vec<_> = model(&server).stream(request()).collect().await;
    let [.., Ok(Delta::Usage(usage)), Err(ModelError::Network { .. })] = deltas.as_slice() else {
        panic!("{deltas:?}");
    };
    assert_eq!(usage.prompt, Tokens(1_000));
    assert!(usage.cost.is_some());
}

#[tokio::test]
async fn a_streamed_reply_is_put_together_and_paid_for() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        events(&[
            begin(),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "ping" }),
        ]),
        events(&[piece("Hel")]),
        events(&[
            piece("lo."),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 50 } }),
            json!({ "type": "message_stop" }),
        ]),
    ])
    .await;
    let reply = complete(&*model(&server), request(), |_| ()).await.unwrap();
    assert_eq!(
        (reply.response_id.as_str(), reply.text.as_str(), reply.finish),
        ("msg_7", "Hello.", FinishReason::Stop)
    );
    assert_eq!(reply.usage.prompt, Tokens(1_000));
    let dollars = 100.0 * 3e-6 + 300.0 * 3.75e-6 + 600.0 * 3e-7 + 50.0 * 1.5e-5;
    assert!(
        (reply.cost.unwrap().as_dollars() - dollars).abs() < 1e-12,
        "{:?}",
        reply.cost
    );

    let sent = server.request().await;
    assert!(
        sent.head.starts_with("POST /v1/messages HTTP/1.1\r\n"),
        "{}",
        sent.head
    );
    let headers = sent.head.to_lowercase();
    for header in [
        &format!("x-api-key: {KEY}"),
        "anthropic-version: 2023-06-01",
        "anthropic-beta: interleaved-thinking-2025-05-14",
    ] {
        assert!(headers.contains(header), "{headers}");
    }
    assert_eq!(sent.body["model"], "claude-sonnet-4-5");
    assert_eq!(sent.body["max_tokens"], 16_384);
    assert_eq!(
        sent.body["thinking"],
        json!({ "type": "enabled", "budget_tokens": 8_192 })
    );
}

#[tokio::test]
async fn an_adaptive_or_unknown_model_is_asked_in_its_own_way() {
    let cases = [
        (
            "claude-opus-4-8",
            json!({ "type": "adaptive", "display": "summarized" }),
            16_384,
        ),
        ("not-of-anthropic", Value::Null, 8_192),
    ];
    for (name, thinking, max_tokens) in cases {
        let server = Server::start(vec![Act::Hold]).await;
        let model = open(&format!("anthropic/{name}"), &settings(server.base_url())).unwrap();
        let mut deltas = model.stream(request());
        tokio::select! {
            delta = deltas.next() => panic!("{delta:?}"),
            sent = server.request() => {
                assert!(!sent.head.contains("anthropic-beta"), "{}", sent.head);
                assert_eq!(sent.body["thinking"], thinking);
                assert_eq!(sent.body["max_tokens"], max_tokens);
            }
        }
    }
}

#[tokio::test]
async fn refusals_are_told_apart_and_show_no_key() {
    let error = |kind: &str, message: &str| {
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
            .to_string()
    };
    let refusal = async |status: &str, kind: &str, message: &str| {
        let server = Server::start(vec![refused(status, "retry-after: 7\r\n", &error(kind, message))]).await;
        complete(&*model(&server), request(), |_| ()).await.unwrap_err()
    };
    let busy = refusal("529 Overloaded", "overloaded_error", "Overloaded").await;
    assert!(matches!(busy, ModelError::Overloaded { .. }), "{busy:?}");
    assert_eq!(busy.retry_after(), Some(Duration::from_secs(7)));
    let limit = refusal("429 Too Many Requests", "rate_limit_error", "Slow down").await;
    assert!(matches!(limit, ModelError::RateLimit { .. }), "{limit:?}");
    let long = refusal(
        "400 Bad Request",
        "invalid_request_error",
        "prompt is too long: 9 > 8",
    )
    .await;
    assert!(
        matches!(long, ModelError::ContextWindowExceeded { .. }),
        "{long:?}"
    );
    let credit = refusal(
        "400 Bad Request",
        "invalid_request_error",
        "Your credit balance is too low",
    )
    .await;
    assert!(matches!(credit, ModelError::Quota { .. }), "{credit:?}");
    let key = refusal("401 Unauthorized", "authentication_error", &format!("bad {KEY}")).await;
    assert!(matches!(key, ModelError::Authentication { .. }), "{key:?}");
    assert!(!format!("{key:?}").contains(KEY), "{key:?}");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        events(&[begin(), piece("Hi")]),
        Act::Hold,
    ])
    .await;
    let mut deltas = model(&server).stream(request());
    assert!(deltas.next().await.is_some());
    drop(deltas);
    server.closed().await;
}

/// The conversation after a reply with one call, and the call's result.
pub(crate) fn after(reply: &Reply, first: &Request) -> Request {
    let mut said = Message::text(Role::Assistant, reply.text.clone());
    said.thinking_blocks.clone_from(&reply.thinking_blocks);
    said.tool_calls = Some(reply.tool_calls.clone());
    let mut result = Message::new(Role::Tool, vec![Content::text("a.txt")]);
    result.tool_call_id = Some(reply.tool_calls[0].id.clone());
    let mut next = first.clone();
    next.messages.list().extend([Arc::new(said), Arc::new(result)]);
    next
}

/// A call with reasoning, then an answer to its result.
pub(crate) fn fixtures() -> Value {
    json!({ "fixtures": [
        { "match": { "userMessage": "Hello?", "hasToolResult": false }, "response": {
            "content": "I will look.",
            "reasoning": "They want to know what is there.",
            "toolCalls": [{ "name": "terminal", "arguments": { "command": "ls" } }],
        }},
        { "match": { "userMessage": "Hello?", "hasToolResult": true }, "response": { "content": "There is a.txt." } },
    ]})
}

#[tokio::test]
async fn an_independent_server_is_understood_and_understands() {
    let Some(aimock) = Aimock::start(&fixtures()) else {
        return;
    };
    let model = open(
        "anthropic/claude-sonnet-4-5",
        &ModelSettings {
            base_url: Some(aimock.url().to_owned()),
            ..settings(String::new())
        },
    )
    .unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(reply.text, "I will look.");
    assert_eq!(
        reply.reasoning.as_deref(),
        Some("They want to know what is there.")
    );
    assert!(
        matches!(&reply.thinking_blocks[..], [ThinkingBlock::Thinking(block)] if block.signature.is_some()),
        "{:?}",
        reply.thinking_blocks
    );
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    let arguments: Value = serde_json::from_str(&reply.tool_calls[0].arguments).unwrap();
    assert_eq!(arguments, json!({ "command": "ls" }));

    let last = complete(&*model, after(&reply, &request()), |_| ())
        .await
        .unwrap();
    assert_eq!(
        (last.text.as_str(), last.finish),
        ("There is a.txt.", FinishReason::Stop)
    );
}
