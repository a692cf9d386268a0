//! Servers of one's own whose models call tools nearly by themselves.

use super::routes::Routes;
use super::*;

const CHAT: &str = "POST /v1/chat/completions";

fn said(text: &str) -> String {
    event(&json!({ "content": text }), Some("stop"))
}

fn opened(server: &Routes) -> Arc<dyn Model> {
    open("openai/my-model", &settings(format!("{}/v1", server.address))).unwrap()
}

#[tokio::test]
async fn a_call_that_comes_as_text_is_a_call_and_thinking_is_no_answer() {
    let written = "<think>Look first.</think>\n<tool_call>\n{\"name\": \"terminal\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>";
    let server = Routes::start(vec![(CHAT, 200, said(written))]).await;
    let reply = complete(&*opened(&server), request(), |_| ()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("", FinishReason::ToolCalls));
    assert_eq!(reply.reasoning.as_deref(), Some("Look first."));
    assert_eq!(reply.tool_calls[0].name, "terminal");
    assert_eq!(reply.tool_calls[0].arguments, r#"{"command":"ls"}"#);
    assert_eq!(server.bodies(CHAT)[0]["tools"][0]["function"]["name"], "terminal");
}

#[tokio::test]
async fn calls_of_both_kinds_in_one_reply_are_all_kept() {
    let text = json!({ "content": "<tool_call>{\"name\": \"terminal\", \"arguments\": {}}</tool_call>" });
    let call = json!({ "tool_calls": [
        { "index": 0, "id": "call_7", "function": { "name": "terminal", "arguments": "{\"command\": \"pwd\"}" } }
    ] });
    let answer = format!("{}{}", event(&text, None), event(&call, Some("tool_calls")));
    let server = Routes::start(vec![(CHAT, 200, answer)]).await;
    let reply = complete(&*opened(&server), request(), |_| ()).await.unwrap();
    let arguments: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| call.arguments.as_str())
        .collect();
    assert_eq!(arguments, ["{}", "{\"command\": \"pwd\"}"]);
}

#[tokio::test]
async fn a_server_that_refuses_tools_is_asked_in_words_and_is_not_offered_them_again() {
    for (status, reason) in [
        (400, "my-model does not support tools"),
        (500, "tools param requires --jinja flag"),
    ] {
        let refusal = json!({ "error": { "message": reason } }).to_string();
        let call = said("<function=terminal>\n<parameter=command>ls</parameter>\n</function>");
        let server = Routes::start(vec![(CHAT, status, refusal), (CHAT, 200, call)]).await;
        let model = opened(&server);
        for _ in 0..2 {
            let reply = complete(&*model, request(), |_| ()).await.unwrap();
            assert_eq!(reply.tool_calls[0].arguments, r#"{"command":"ls"}"#, "{reason}");
        }
        let offered: Vec<_> = server
            .bodies(CHAT)
            .iter()
            .map(|body| body.get("tools").is_some())
            .collect();
        assert_eq!(offered, [true, false, false], "{reason}");
    }
}

#[tokio::test]
async fn behind_an_address_that_has_called_by_itself_words_are_words() {
    let call = json!({ "tool_calls": [
        { "index": 0, "id": "call_7", "function": { "name": "terminal", "arguments": "{}" } }
    ] });
    let quoted = "So it looks: <tool_call>{\"name\": \"terminal\", \"arguments\": {}}</tool_call>";
    let answers = vec![
        (CHAT, 200, event(&call, Some("tool_calls"))),
        (CHAT, 200, said(quoted)),
    ];
    let server = Routes::start(answers).await;
    let model = opened(&server);
    assert_eq!(
        complete(&*model, request(), |_| ())
            .await
            .unwrap()
            .tool_calls
            .len(),
        1
    );
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), (quoted, 0));
}
