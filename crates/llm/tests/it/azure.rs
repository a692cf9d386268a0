//! Azure OpenAI against real servers.

use deft_llm::{FinishReason, ModelError, ModelSettings, complete, open};
use serde_json::{Value, json};

use super::aimock::Aimock;
use super::server::{Act, Server, head};
use super::{KEY, request, settings};

/// The address of the server itself, as a resource has it.
fn resource(server: &Server) -> String {
    server.base_url().trim_end_matches("/v1").to_owned()
}

fn chunk(json: &Value) -> Act {
    Act::Send(format!("data: {json}\n\n"))
}

#[tokio::test]
async fn a_deployment_is_asked_with_its_own_key_header_and_version() {
    // The first chunk only tells what the filter thinks of the prompt.
    let filter = json!({
        "choices": [], "created": 0, "id": "", "model": "", "object": "",
        "prompt_filter_results": [{ "prompt_index": 0, "content_filter_results": {} }],
    });
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        chunk(&filter),
        chunk(&json!({ "id": "chatcmpl-1", "choices": [{ "delta": { "content": "Hi" } }] })),
        chunk(
            &json!({ "id": "chatcmpl-1", "choices": [{ "delta": {}, "finish_reason": "content_filter" }] }),
        ),
        Act::Send("data: [DONE]\n\n".to_owned()),
    ])
    .await;
    let settings = ModelSettings {
        api_version: Some("2025-01-01-preview".to_owned()),
        ..settings(resource(&server))
    };
    let model = open("azure/gpt-4o", &settings).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(
        (reply.response_id.as_str(), reply.text.as_str(), reply.finish),
        ("chatcmpl-1", "Hi", FinishReason::ContentFilter)
    );

    let sent = server.request().await;
    let line = "POST /openai/deployments/gpt-4o/chat/completions?api-version=2025-01-01-preview HTTP/1.1";
    assert!(sent.head.starts_with(line), "{}", sent.head);
    let head = sent.head.to_lowercase();
    assert!(head.contains(&format!("api-key: {KEY}")), "{head}");
    assert!(!head.contains("authorization:"), "{head}");
    assert_eq!(sent.body["max_tokens"], 16_384);
    assert_eq!(sent.body.get("prompt_cache_key"), None);
}

#[tokio::test]
async fn a_prompt_that_the_filter_refuses_is_a_matter_of_content() {
    let body = json!({ "error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "type": null, "param": "prompt", "code": "content_filter", "status": 400,
        "innererror": { "code": "ResponsibleAIPolicyViolation" },
    } })
    .to_string();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = Server::start(vec![Act::Send(answer)]).await;
    let model = open("azure/gpt-4o", &settings(resource(&server))).unwrap();
    let error = complete(&*model, request(), |_| ()).await.unwrap_err();
    assert!(matches!(error, ModelError::ContentPolicy { .. }), "{error:?}");
}

#[tokio::test]
async fn a_model_without_chat_is_asked_by_the_responses_api() {
    let server = Server::start(vec![
        Act::Send(head("application/json")),
        Act::Send(json!({ "status": "completed", "output": [] }).to_string()),
    ])
    .await;
    let model = open("azure/gpt-5-codex", &settings(resource(&server))).unwrap();
    complete(&*model, request(), |_| ()).await.unwrap();
    let sent = server.request().await;
    assert!(
        sent.head.starts_with("POST /openai/v1/responses HTTP/1.1"),
        "{}",
        sent.head
    );
    assert_eq!(sent.body["model"], "gpt-5-codex");
}

#[tokio::test]
async fn an_independent_server_is_understood() {
    let fixtures = json!({ "fixtures": [{ "match": { "userMessage": "Hello?" }, "response": { "content": "Hello yourself." } }] });
    let Some(server) = Aimock::start(&fixtures) else {
        return;
    };
    let model = open("azure/my-deployment", &settings(server.url().to_owned())).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(reply.text, "Hello yourself.");
}
