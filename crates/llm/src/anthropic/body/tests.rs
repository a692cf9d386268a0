use std::sync::Arc;

use deft_types::{
    Extra, ImageContent, RedactedThinkingBlock, SignedThinking, Tokens, ToolCall, ToolCallOrigin,
};
use reqwest::Url;
use serde_json::json;

use super::*;
use crate::anthropic::reader::ReplyReader;
use crate::api::AnswerReader;
use crate::claude::Display;
use crate::{Delta, Tuning};

fn model() -> AnthropicApi {
    AnthropicApi {
        wire_name: "claude-x".to_owned(),
        url: Url::parse("http://localhost/v1/messages").unwrap(),
        api_key: None,
        max_output: Tokens(4_000),
        accepts_images: true,
        takes_cache_marks: true,
        thinking: None,
        tuning: Tuning::default(),
    }
}

fn thoughtful() -> AnthropicApi {
    AnthropicApi {
        thinking: Some(Thinking::Manual { budget_tokens: 2_000 }),
        ..model()
    }
}

fn body(model: &AnthropicApi, request: &Request) -> Value {
    serde_json::from_slice(&of(model, model.thinking, request).unwrap()).unwrap()
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        ..Request::default()
    }
}

fn tools() -> Arc<[ToolSchema]> {
    Arc::new([ToolSchema {
        name: "terminal".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters: json!({ "type": "object" }),
    }])
}

fn images(urls: &[&str]) -> Content {
    Content::Image(ImageContent {
        image_urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        ..ImageContent::default()
    })
}

fn calls(text: &str, calls: &[(&str, &str)]) -> Message {
    let mut message = Message::text(Role::Assistant, text);
    let calls = calls.iter().map(|(id, arguments)| ToolCall {
        id: (*id).to_owned(),
        responses_item_id: None,
        name: "terminal".to_owned(),
        arguments: (*arguments).to_owned(),
        origin: ToolCallOrigin::Completion,
        extra: Extra::new(),
    });
    message.tool_calls = Some(calls.collect());
    message
}

fn result(id: &str, content: Vec<Content>) -> Message {
    let mut message = Message::new(Role::Tool, content);
    message.tool_call_id = Some(id.to_owned());
    message
}

/// What the wire has of the messages alone.
fn wire(model: &AnthropicApi, messages: Vec<Message>) -> Value {
    body(model, &request(messages))["messages"].take()
}

#[test]
fn a_whole_request_has_two_cache_marks() {
    let mut request = request(vec![
        Message::new(
            Role::System,
            vec![
                Content::text("Static."),
                Content::text("Dynamic."),
                Content::text(""),
            ],
        ),
        Message::text(Role::User, "List."),
        calls(
            "I look.",
            &[("toolu_1", "{\"command\": \"ls\"}"), ("toolu_2", "")],
        ),
        result("toolu_1", vec![Content::text("a.txt")]),
        result("toolu_2", Vec::new()),
    ]);
    request.tools = tools();
    assert_eq!(
        body(&model(), &request),
        json!({
            "model": "claude-x",
            "max_tokens": 4_000,
            "stream": true,
            "tools": [{
                "name": "terminal",
                "description": "Runs a command.",
                "input_schema": { "type": "object" },
            }],
            "system": [
                { "type": "text", "text": "Static.", "cache_control": { "type": "ephemeral" } },
                { "type": "text", "text": "Dynamic." },
            ],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "List." }] },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "I look." },
                    { "type": "tool_use", "id": "toolu_1", "name": "terminal", "input": { "command": "ls" } },
                    { "type": "tool_use", "id": "toolu_2", "name": "terminal", "input": {} },
                ]},
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "toolu_1",
                      "content": [{ "type": "text", "text": "a.txt" }] },
                    { "type": "tool_result", "tool_use_id": "toolu_2",
                      "cache_control": { "type": "ephemeral" } },
                ]},
            ],
        })
    );
}

#[test]
fn images_and_documents_go_by_what_their_addresses_hold() {
    let content = || {
        vec![
            Content::text("See:"),
            images(&[
                "data:image/png;base64,QUJD",
                "data:application/pdf;base64,UERG",
                "https://host/a.png",
            ]),
            images(&["data:image/tiff;base64,QUJD"]),
        ]
    };
    let mark = json!({ "type": "ephemeral" });
    let parts = json!([
        { "type": "text", "text": "See:" },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" } },
        { "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "UERG" } },
        { "type": "image", "source": { "type": "url", "url": "https://host/a.png" } },
        { "type": "text", "text": LEFT_OUT },
    ]);
    let mut of_user = parts.clone();
    of_user[4]["cache_control"] = mark.clone();
    assert_eq!(
        wire(&model(), vec![Message::new(Role::User, content())]),
        json!([{ "role": "user", "content": of_user }])
    );
    let of_tool = wire(&model(), vec![result("toolu_1", content())]);
    assert_eq!(
        of_tool,
        json!([{ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "toolu_1", "content": parts, "cache_control": mark },
        ]}])
    );
    let blind = AnthropicApi {
        accepts_images: false,
        ..model()
    };
    let seen = wire(&blind, vec![Message::new(Role::User, content())]).to_string();
    assert!(!seen.contains("QUJD") && seen.contains(LEFT_OUT), "{seen}");
}

#[test]
fn messages_of_one_side_are_merged_and_empty_ones_left_out() {
    let messages = wire(
        &model(),
        vec![
            Message::text(Role::User, "One."),
            Message::text(Role::Assistant, " \n"),
            Message::text(Role::User, "Two."),
            Message::text(Role::System, "Three."),
        ],
    );
    assert_eq!(
        messages,
        json!([{ "role": "user", "content": [
            { "type": "text", "text": "One." },
            { "type": "text", "text": "Two." },
            { "type": "text", "text": "Three.", "cache_control": { "type": "ephemeral" } },
        ]}])
    );
}

#[test]
fn signed_reasoning_goes_first_and_unaltered() {
    let signed = |text: &str, signature: Option<&str>| {
        ThinkingBlock::Thinking(SignedThinking {
            thinking: text.to_owned(),
            signature: signature.map(str::to_owned),
            extra: Extra::new(),
        })
    };
    let mut reply = calls("Look.", &[("toolu_1", "{}")]);
    reply.thinking_blocks = vec![
        signed("  hm \u{1F914}\n", Some("c2ln+/==")),
        ThinkingBlock::RedactedThinking(RedactedThinkingBlock {
            data: "ZGF0YQ==".to_owned(),
            extra: Extra::new(),
        }),
        signed("", Some("omitted")),
        signed("of another provider", None),
    ];
    let expected = json!({ "role": "assistant", "content": [
        { "type": "thinking", "thinking": "  hm \u{1F914}\n", "signature": "c2ln+/==" },
        { "type": "redacted_thinking", "data": "ZGF0YQ==" },
        { "type": "thinking", "thinking": "", "signature": "omitted" },
        { "type": "text", "text": "Look." },
        { "type": "tool_use", "id": "toolu_1", "name": "terminal", "input": {} },
    ]});
    let history = || vec![Message::text(Role::User, "Go."), reply.clone()];
    assert_eq!(wire(&thoughtful(), history())[1], expected);
    // A model that does not reason is not shown it.
    assert_eq!(
        wire(&model(), history())[1]["content"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn reasoning_is_asked_for_as_the_model_takes_it() {
    let ask = |thinking| {
        let model = AnthropicApi { thinking, ..model() };
        body(&model, &request(vec![Message::text(Role::User, "Go.")]))["thinking"].take()
    };
    assert_eq!(ask(None), Value::Null);
    assert_eq!(
        ask(Some(Thinking::Manual { budget_tokens: 2_000 })),
        json!({ "type": "enabled", "budget_tokens": 2_000 })
    );
    assert_eq!(
        ask(Some(Thinking::Adaptive {
            display: Display::Summarized
        })),
        json!({ "type": "adaptive", "display": "summarized" })
    );
}

#[test]
fn what_another_provider_left_is_made_acceptable() {
    let id = "functions.ls:0";
    let body = body(
        &model(),
        &request(vec![
            calls("", &[(id, "not json")]),
            result(id, vec![Content::text("no")]),
        ]),
    );
    let call = &body["messages"][0]["content"][0];
    assert_eq!(call["input"], json!({ "invalid_arguments": "not json" }));
    assert_eq!(call["id"], body["messages"][1]["content"][0]["tool_use_id"]);
    assert!(call["id"].as_str().unwrap().starts_with("call_"));
    // Calls in the history ask for a tool, even if none is offered.
    assert_eq!(body["tools"][0]["name"], "terminal");
}

#[test]
fn a_growing_conversation_keeps_the_bytes_of_its_beginning() {
    let mut growing = vec![Message::new(
        Role::System,
        vec![Content::text("Static."), Content::text("Dynamic.")],
    )];
    let mut thoughtful_reply = calls("Look.", &[("toolu_1", "{\"b\":1,\"a\":2}")]);
    thoughtful_reply
        .thinking_blocks
        .push(ThinkingBlock::Thinking(SignedThinking {
            thinking: "hm".to_owned(),
            signature: Some("sig".to_owned()),
            extra: Extra::new(),
        }));
    let later = [
        Message::new(
            Role::User,
            vec![Content::text("Go."), images(&["data:image/png;base64,QUJD"])],
        ),
        thoughtful_reply,
        result("toolu_1", vec![Content::text("a")]),
        Message::text(Role::User, "And?"),
        calls("", &[("toolu_2", "")]),
        result("toolu_2", Vec::new()),
    ];
    let mut before: Option<String> = None;
    for message in later {
        growing.push(message);
        let mut request = request(growing.clone());
        request.tools = tools();
        let bytes = of(&thoughtful(), thoughtful().thinking, &request).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        // The marks move on.
        let text = text.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
        let text = text.strip_suffix("]}]}").unwrap().to_owned();
        if let Some(before) = before {
            assert!(text.starts_with(&before), "{before}\n{text}");
        }
        before = Some(text);
    }
}

#[test]
fn reasoning_between_text_and_calls_goes_back_where_it_stood() {
    let content = json!([
        { "type": "thinking", "thinking": "one", "signature": "s1" },
        { "type": "text", "text": "Grübeln. " },
        { "type": "redacted_thinking", "data": "ZGF0YQ==" },
        { "type": "text", "text": "Look." },
        { "type": "thinking", "thinking": "two", "signature": "s2" },
        { "type": "tool_use", "id": "toolu_1", "name": "terminal", "input": {} },
        { "type": "thinking", "thinking": "three", "signature": "s3" },
        { "type": "tool_use", "id": "toolu_2", "name": "terminal", "input": {} },
    ]);
    let answer = json!({ "type": "message", "content": content, "stop_reason": "tool_use" });
    let mut reader = ReplyReader::default();
    let mut deltas = reader.feed(answer.to_string().as_bytes()).unwrap();
    deltas.extend(reader.finish().unwrap());
    let mut message = calls("Grübeln. Look.", &[("toolu_1", "{}"), ("toolu_2", "{}")]);
    for delta in deltas {
        if let Delta::Thinking(block) = delta {
            message.thinking_blocks.push(block);
        }
    }
    assert_eq!(wire(&thoughtful(), vec![message])[0]["content"], content);
}

#[test]
fn the_users_tuning_reaches_the_server_as_far_as_thinking_allows() {
    let tuning = Tuning {
        temperature: Some(0.5),
        top_p: Some(0.9),
        reasoning_effort: Some("low".to_owned()),
        extra_body: [("service_tier".to_owned(), json!("auto"))].into_iter().collect(),
        ..Tuning::default()
    };
    let adaptive = Thinking::Adaptive {
        display: Display::Summarized,
    };
    let manual = Thinking::Manual { budget_tokens: 2_000 };
    let cases = [
        (None, json!([0.5, 0.9, null, "auto"])),
        (Some(manual), json!([null, null, null, "auto"])),
        (Some(adaptive), json!([null, null, { "effort": "low" }, "auto"])),
    ];
    for (thinking, expected) in cases {
        let tuning = tuning.clone();
        let model = AnthropicApi {
            thinking,
            tuning,
            ..model()
        };
        let sent = body(&model, &request(vec![Message::text(Role::User, "Go.")]));
        let fields = ["temperature", "top_p", "output_config", "service_tier"].map(|name| &sent[name]);
        assert_eq!(json!(fields), expected);
    }
}
