//! Models that are asked for tool calls in words, against real servers.

use deft_llm::{ApiMode, FinishReason, KnownCapabilities, ModelSettings, complete, open};
use serde_json::json;

use crate::aimock::Aimock;
use crate::server::{Act, Server, head};
use crate::{event, request, settings};

const CALL: [&str; 4] = [
    "I look.\n\n<func",
    "tion=terminal>\n<parameter=comm",
    "and>ls</parameter>\n</func",
    "tion>",
];

#[tokio::test]
async fn tools_go_out_as_words_and_come_back_as_calls() {
    let mut acts = vec![Act::Send(head("text/event-stream"))];
    acts.extend(CALL.map(|piece| Act::Send(event(&json!({ "content": piece }), None))));
    acts.push(Act::Send(event(&json!({}), Some("stop"))));
    acts.push(Act::Send("data: [DONE]\n\n".to_owned()));
    let server = Server::start(acts).await;
    // The first because the user says so, the second because the table does.
    let said_so = ModelSettings {
        api_mode: ApiMode::Chat,
        capability_overrides: KnownCapabilities {
            native_tool_calls: Some(false),
            ..KnownCapabilities::default()
        },
        ..settings(server.base_url())
    };
    for (name, settings) in [
        ("openai/gpt-4o", said_so),
        ("deepseek/deepseek-reasoner", settings(server.base_url())),
    ] {
        let model = open(name, &settings).unwrap();
        let reply = complete(&*model, request(), |_| ()).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.finish),
            ("I look.", FinishReason::ToolCalls),
            "{name}"
        );
        assert_eq!(reply.tool_calls[0].name, "terminal");
        assert_eq!(reply.tool_calls[0].arguments, r#"{"command":"ls"}"#);

        let body = server.request().await.body;
        assert_eq!(body.get("tools"), None, "{name}");
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("## 1. terminal\n\nRuns a command."), "{system}");
        assert_eq!(
            body["messages"][1],
            json!({ "role": "user", "content": "Hello?" })
        );
    }
}

#[tokio::test]
async fn a_user_may_say_that_a_model_calls_tools_by_itself() {
    let server = Server::start(vec![
        Act::Send(head("text/event-stream")),
        Act::Send(event(&json!({ "content": "<function=x>" }), Some("stop"))),
        Act::Send("data: [DONE]\n\n".to_owned()),
    ])
    .await;
    let settings = ModelSettings {
        api_mode: ApiMode::Chat,
        capability_overrides: KnownCapabilities {
            native_tool_calls: Some(true),
            ..KnownCapabilities::default()
        },
        ..settings(server.base_url())
    };
    let model = open("openai/gpt-5-chat", &settings).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!(reply.text, "<function=x>");
    assert_eq!(
        server.request().await.body["tools"][0]["function"]["name"],
        "terminal"
    );
}

#[tokio::test]
async fn calls_are_found_in_what_an_independent_server_streams() {
    let fixtures = json!({ "fixtures": [{ "match": { "userMessage": "Hello?" }, "response": { "content": CALL.concat() } }] });
    let Some(server) = Aimock::start(&fixtures) else {
        return;
    };
    let settings = ModelSettings {
        api_mode: ApiMode::Chat,
        capability_overrides: KnownCapabilities {
            native_tool_calls: Some(false),
            ..KnownCapabilities::default()
        },
        ..settings(format!("{}/v1", server.url()))
    };
    let model = open("openai/gpt-4o", &settings).unwrap();
    let reply = complete(&*model, request(), |_| ()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("I look.", 1));
}
