//! The Gemini adapter against real servers on real sockets: ours, and one we did not write.

use std::time::Duration;

use deft_types::{Content, ToolCall};

use super::aimock::Aimock;
use super::*;

const NAME: &str = "gemini/gemini-2.5-flash";

fn event(parts: &Value, finish: Option<&str>) -> String {
    let candidate =
        json!({ "content": { "role": "model", "parts": parts }, "finishReason": finish, "index": 0 });
    format!(
        "data: {}\r\n\r\n",
        json!({ "candidates": [candidate], "responseId": "r-7" })
    )
}

async fn ask(acts: Vec<Act>) -> Result<Reply, ModelError> {
    let server = Server::start(acts).await;
    let model = open(NAME, &settings(server.base_url())).unwrap();
    complete(&*model, request(), |_| ()).await
}

fn reply_as_message(reply: &Reply) -> Message {
    Message {
        tool_calls: Some(reply.tool_calls.clone()),
        thinking_blocks: reply.thinking_blocks.clone(),
        ..Message::text(Role::Assistant, reply.text.clone())
    }
}

fn result_of(call: &ToolCall, text: &str) -> Message {
    Message {
        tool_call_id: Some(call.id.clone()),
        name: Some(call.name.clone()),
        ..Message::new(Role::Tool, vec![Content::text(text)])
    }
}

#[tokio::test]
async fn a_signed_reply_goes_back_as_it_came() {
    let usage = json!({ "candidates": [], "usageMetadata": {
        "promptTokenCount": 1000, "cachedContentTokenCount": 400, "candidatesTokenCount": 60, "thoughtsTokenCount": 40,
    } });
    let signed = json!({ "text": "calls.", "thoughtSignature": "dGV4dA==" });
    let first = json!({ "functionCall": { "name": "terminal", "args": { "command": "ls" }, "id": "fc-1" }, "thoughtSignature": "Y2FsbA==" });
    let second = json!({ "functionCall": { "name": "terminal", "args": {} } });
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!([{ "text": "hm", "thought": true }]), None)),
        Act::Send(event(&json!([{ "text": "Two " }]), None)),
        Act::Send(event(&json!([signed]), None)),
        Act::Send(event(&json!([first, second]), Some("STOP"))),
        Act::Send(format!("data: {usage}\r\n\r\n")),
    ])
    .await;
    let model = open(NAME, &settings(server.base_url())).unwrap();
    let mut question = request();
    let reply = complete(&*model, question.clone(), |_| ()).await.unwrap();

    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_deref()),
        ("Two calls.", Some("hm"))
    );
    assert_eq!(
        (reply.response_id.as_str(), reply.finish),
        ("r-7", FinishReason::ToolCalls)
    );
    assert_eq!(reply.tool_calls[0].arguments, "{\"command\":\"ls\"}");
    // 600 tokens at 0.3 dollars a million, 400 from the cache at 0.03, 100 out at 2.5
    assert_eq!(reply.cost, "0.000442".parse().ok());
    let sent = server.request().await;
    assert!(
        sent.head
            .starts_with("POST /v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse HTTP/1.1\r\n"),
        "{}",
        sent.head
    );
    assert!(
        sent.head
            .to_lowercase()
            .contains(&format!("x-goog-api-key: {KEY}")),
        "{}",
        sent.head
    );

    question.messages.push(Arc::new(reply_as_message(&reply)));
    for call in reply.tool_calls.iter().rev() {
        question.messages.push(Arc::new(result_of(call, "done")));
    }
    complete(&*model, question, |_| ()).await.unwrap();
    let sent = server.request().await.body;
    assert_eq!(
        sent["contents"][1]["parts"],
        json!([{ "text": "Two " }, signed, first, second])
    );
    let response = json!({ "name": "terminal", "response": { "output": "done" } });
    assert_eq!(
        sent["contents"][2]["parts"],
        json!([
            { "functionResponse": { "id": "fc-1", "name": "terminal", "response": { "output": "done" } } },
            { "functionResponse": response },
        ])
    );
}

#[tokio::test]
async fn googles_refusals_are_known() {
    let refuse = |status: u16, error: Value| {
        let body = json!({ "error": error }).to_string();
        format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let wait = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s" });
    let error = ask(vec![Act::Send(refuse(
        429,
        json!({ "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota.", "details": [wait] }),
    ))])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::RateLimit { .. }), "{error:?}");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));

    let error = ask(vec![Act::Send(refuse(
        400,
        json!({ "code": 400, "status": "INVALID_ARGUMENT", "message": format!("API key not valid: {KEY}") }),
    ))])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::Authentication { .. }), "{error:?}");
    assert!(!error.to_string().contains(KEY), "{error}");

    let error = ask(vec![Act::Send(refuse(
        400,
        json!({ "code": 400, "message": "Function call is missing a thought_signature in functionCall parts." }),
    ))])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::MalformedHistory { .. }), "{error:?}");
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_a_network_failure() {
    let error = ask(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!([{ "text": "Hal" }]), None)),
    ])
    .await
    .unwrap_err();
    assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
}

#[tokio::test]
async fn an_independent_server_understands_us_and_we_it() {
    let fixtures = json!({ "fixtures": [
        { "match": { "userMessage": "Hello?", "hasToolResult": false }, "response": {
            "content": "Let me look.", "reasoning": "they greet",
            "toolCalls": [{ "name": "terminal", "arguments": { "command": "ls" } }],
        } },
        { "match": { "userMessage": "Hello?", "hasToolResult": true }, "response": { "content": "All is well." } },
    ] });
    let Some(aimock) = Aimock::start(&fixtures) else {
        return;
    };
    let model = open(NAME, &settings(aimock.url().to_owned())).unwrap();
    let mut question = request();
    let mut pieces = 0;
    let reply = complete(&*model, question.clone(), |delta| {
        pieces += usize::from(matches!(delta, Delta::Text(_)));
    })
    .await
    .unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_deref()),
        ("Let me look.", Some("they greet"))
    );
    assert!(pieces > 1, "{pieces}");
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    let call = &reply.tool_calls[0];
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("terminal", "{\"command\":\"ls\"}")
    );

    question.messages.push(Arc::new(reply_as_message(&reply)));
    question.messages.push(Arc::new(result_of(call, "file")));
    let reply = complete(&*model, question, |_| ()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("All is well.", FinishReason::Stop)
    );
}
