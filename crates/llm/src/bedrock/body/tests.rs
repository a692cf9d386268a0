use std::sync::Arc;

use deft_types::{
    Extra, ImageContent, RedactedThinkingBlock, SignedThinking, Tokens, ToolCall, ToolCallOrigin,
};
use reqwest::Url;
use serde_json::json;

use super::super::Access;
use super::*;
use crate::Tuning;
use crate::claude::Display;

fn model() -> BedrockApi {
    BedrockApi {
        url: Url::parse("http://localhost/").unwrap(),
        access: Access::Open,
        context_window: None,
        max_output: Some(Tokens(4_000)),
        accepts_images: true,
        thinking: None,
        takes_cache_marks: false,
        tuning: Tuning::default(),
    }
}

fn claude() -> BedrockApi {
    BedrockApi {
        thinking: Some(Thinking::Manual { budget_tokens: 2_000 }),
        takes_cache_marks: true,
        ..model()
    }
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([ToolSchema {
            name: "terminal".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({ "type": "object" }),
        }]),
        ..Request::default()
    }
}

fn body(model: &BedrockApi, messages: Vec<Message>) -> Value {
    serde_json::from_slice(&of(model, &request(messages)).unwrap()).unwrap()
}

fn images(urls: &[&str]) -> Content {
    Content::Image(ImageContent {
        image_urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        ..ImageContent::default()
    })
}

fn system() -> Message {
    Message::new(
        Role::System,
        vec![Content::text("Static."), Content::text("Dynamic.")],
    )
}

/// A reply with a call, and with reasoning of both kinds.
fn reply(id: &str) -> Message {
    let mut message = Message::text(Role::Assistant, "I look.");
    message.tool_calls = Some(vec![ToolCall {
        id: id.to_owned(),
        responses_item_id: None,
        name: "terminal".to_owned(),
        arguments: "{\"command\":\"ls\"}".to_owned(),
        origin: ToolCallOrigin::Completion,
        extra: Extra::new(),
    }]);
    message.thinking_blocks = vec![
        ThinkingBlock::Thinking(SignedThinking {
            thinking: "hm".to_owned(),
            signature: Some("sig".to_owned()),
            extra: Extra::new(),
        }),
        ThinkingBlock::RedactedThinking(RedactedThinkingBlock {
            data: "ZGF0YQ==".to_owned(),
            extra: Extra::new(),
        }),
    ];
    message
}

fn result(id: &str, content: Vec<Content>) -> Message {
    let mut message = Message::new(Role::Tool, content);
    message.tool_call_id = Some(id.to_owned());
    message
}

#[test]
fn a_whole_request_to_a_claude_model() {
    let messages = vec![
        system(),
        Message::text(Role::User, "List."),
        reply("tooluse_1"),
        result("tooluse_1", vec![Content::text("a.txt")]),
        Message::text(Role::User, "Go on."),
    ];
    assert_eq!(
        body(&claude(), messages),
        json!({
            "inferenceConfig": { "maxTokens": 4_000 },
            "additionalModelRequestFields": {
                "thinking": { "type": "enabled", "budget_tokens": 2_000 },
                "anthropic_beta": ["interleaved-thinking-2025-05-14"],
            },
            "toolConfig": { "tools": [{ "toolSpec": {
                "name": "terminal",
                "description": "Runs a command.",
                "inputSchema": { "json": { "type": "object" } },
            }}]},
            "system": [
                { "text": "Static." },
                { "cachePoint": { "type": "default" } },
                { "text": "Dynamic." },
            ],
            "messages": [
                { "role": "user", "content": [{ "text": "List." }] },
                { "role": "assistant", "content": [
                    { "reasoningContent": { "reasoningText": { "text": "hm", "signature": "sig" } } },
                    { "reasoningContent": { "redactedContent": "ZGF0YQ==" } },
                    { "text": "I look." },
                    { "toolUse": { "toolUseId": "tooluse_1", "name": "terminal", "input": { "command": "ls" } } },
                ]},
                { "role": "user", "content": [
                    { "toolResult": { "toolUseId": "tooluse_1", "content": [{ "text": "a.txt" }] } },
                    { "text": "Go on." },
                    { "cachePoint": { "type": "default" } },
                ]},
            ],
        })
    );
}

#[test]
fn another_model_is_spared_what_only_claude_knows() {
    let model = BedrockApi {
        max_output: None,
        ..model()
    };
    let body = body(
        &model,
        vec![
            system(),
            Message::text(Role::User, "List."),
            reply("tooluse_1"),
            result("tooluse_1", Vec::new()),
        ],
    );
    assert_eq!(
        body,
        json!({
            "toolConfig": body["toolConfig"],
            "system": [{ "text": "Static." }, { "text": "Dynamic." }],
            "messages": [
                { "role": "user", "content": [{ "text": "List." }] },
                { "role": "assistant", "content": [
                    { "text": "I look." },
                    { "toolUse": { "toolUseId": "tooluse_1", "name": "terminal", "input": { "command": "ls" } } },
                ]},
                { "role": "user", "content": [{ "toolResult": { "toolUseId": "tooluse_1", "content": [] } }] },
            ],
        })
    );
}

#[test]
fn images_and_documents_are_sent_along_and_links_left_out() {
    let pdf = "data:application/pdf;base64,UERG";
    let content = || vec![images(&["data:image/jpg;base64,QUJD", pdf, "https://host/a.png"])];
    let messages = vec![
        result("tooluse_1", content()),
        Message::new(Role::User, vec![images(&[pdf])]),
    ];
    assert_eq!(
        body(&model(), messages)["messages"],
        json!([{ "role": "user", "content": [
            { "toolResult": { "toolUseId": "tooluse_1", "content": [
                { "image": { "format": "jpeg", "source": { "bytes": "QUJD" } } },
                { "text": DOCUMENT },
                { "document": { "format": "pdf", "name": "document-1", "source": { "bytes": "UERG" } } },
                { "text": LEFT_OUT },
            ]}},
            { "text": DOCUMENT },
            { "document": { "format": "pdf", "name": "document-2", "source": { "bytes": "UERG" } } },
        ]}])
    );
    let blind = BedrockApi {
        accepts_images: false,
        ..model()
    };
    let seen = body(&blind, vec![Message::new(Role::User, content())]).to_string();
    assert!(!seen.contains("QUJD") && !seen.contains("UERG"), "{seen}");
}

#[test]
fn a_growing_conversation_keeps_the_bytes_of_its_beginning() {
    let mut growing = vec![system()];
    let later = [
        Message::new(
            Role::User,
            vec![Content::text("Go."), images(&["data:image/png;base64,QUJD"])],
        ),
        reply("tooluse_1"),
        result("tooluse_1", vec![images(&["data:application/pdf;base64,UERG"])]),
        Message::text(Role::User, "And?"),
        reply("tooluse_2"),
        result("tooluse_2", Vec::new()),
    ];
    let mut before: Option<String> = None;
    for message in later {
        growing.push(message);
        let text = String::from_utf8(of(&claude(), &request(growing.clone())).unwrap()).unwrap();
        // The marks move on.
        let text = text.replace(",{\"cachePoint\":{\"type\":\"default\"}}", "");
        let text = text.strip_suffix("]}]}").unwrap().to_owned();
        if let Some(before) = before {
            assert!(text.starts_with(&before), "{before}\n{text}");
        }
        before = Some(text);
    }
}

#[test]
fn the_users_tuning_reaches_the_server_as_far_as_thinking_allows() {
    let tuning = Tuning {
        temperature: Some(0.5),
        top_p: Some(0.9),
        reasoning_effort: Some("low".to_owned()),
        extra_body: [("requestMetadata".to_owned(), json!({ "team": "a" }))]
            .into_iter()
            .collect(),
        ..Tuning::default()
    };
    let ask = |thinking| {
        let model = BedrockApi {
            thinking,
            tuning: tuning.clone(),
            ..model()
        };
        body(&model, vec![Message::text(Role::User, "Go.")])
    };
    let plain = ask(None);
    assert_eq!(
        plain["inferenceConfig"],
        json!({ "maxTokens": 4_000, "temperature": 0.5, "topP": 0.9 })
    );
    assert_eq!(plain["requestMetadata"], json!({ "team": "a" }));
    let adaptive = ask(Some(Thinking::Adaptive {
        display: Display::Summarized,
    }));
    assert_eq!(adaptive["inferenceConfig"], json!({ "maxTokens": 4_000 }));
    assert_eq!(
        adaptive["additionalModelRequestFields"]["output_config"],
        json!({ "effort": "low" })
    );
}

#[test]
fn no_more_is_asked_for_than_the_window_has_room_for() {
    let ask = |window| {
        let model = BedrockApi {
            context_window: Some(Tokens(window)),
            ..claude()
        };
        let sent = body(&model, vec![Message::text(Role::User, "word ".repeat(5_000))]);
        let thinking = &sent["additionalModelRequestFields"]["thinking"]["budget_tokens"];
        (
            sent["inferenceConfig"]["maxTokens"].as_u64().unwrap(),
            thinking.as_u64(),
        )
    };
    let asked = tokens::estimate(&request(vec![Message::text(Role::User, "word ".repeat(5_000))])).0;
    assert_eq!(ask(100_000), (4_000, Some(2_000)));
    assert_eq!(
        ask(asked + 256 + 1_500),
        (1_500, Some(1_499)),
        "a budget leaves room"
    );
    assert_eq!(ask(asked), (1_024, None), "there is a least");
}
