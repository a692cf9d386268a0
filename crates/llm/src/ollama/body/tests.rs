use std::sync::Arc;

use deft_types::{Content, Extra, ImageContent, Tokens, ToolCall, ToolCallOrigin};
use reqwest::Url;
use serde_json::{Value, json};

use super::*;
use crate::ToolSchema;
use crate::Tuning;

fn model() -> ChatApi {
    ChatApi {
        wire_name: "qwen3:8b".to_owned(),
        url: Url::parse("http://localhost").unwrap(),
        api_key: None,
        context: Some(Tokens(40_960)),
        max_output: Some(Tokens(500)),
        accepts_images: true,
        thinks: true,
        tuning: Tuning::default(),
    }
}

fn called(id: &str) -> Message {
    let call = ToolCall {
        id: id.to_owned(),
        responses_item_id: None,
        name: "ls".to_owned(),
        arguments: "{\"path\":1}".to_owned(),
        origin: ToolCallOrigin::Completion,
        extra: Extra::new(),
    };
    Message {
        tool_calls: Some(vec![call]),
        reasoning_content: Some("hm".to_owned()),
        ..Message::text(Role::Assistant, "")
    }
}

fn answered(id: &str, text: &str) -> Message {
    Message {
        tool_call_id: Some(id.to_owned()),
        name: Some("ls".to_owned()),
        ..Message::text(Role::Tool, text)
    }
}

fn seen(url: &str) -> Message {
    let image = ImageContent {
        image_urls: vec![url.to_owned()],
        ..ImageContent::default()
    };
    Message::new(Role::User, vec![Content::text("See"), Content::Image(image)])
}

fn body(model: &ChatApi, messages: &[Message]) -> Vec<u8> {
    let request = Request {
        messages: messages.iter().cloned().map(Arc::new).collect(),
        tools: Arc::new([ToolSchema {
            name: "ls".to_owned(),
            description: "Lists.".to_owned(),
            parameters: json!({ "type": "object" }),
        }]),
        ..Request::default()
    };
    of(model, &request).unwrap()
}

fn json_body(model: &ChatApi, messages: &[Message]) -> Value {
    serde_json::from_slice(&body(model, messages)).unwrap()
}

#[test]
fn a_whole_request_has_its_shape() {
    let messages = [
        Message::text(Role::System, "Be good."),
        seen("data:image/png;base64,aGk="),
        called("call_a"),
        answered("call_a", "file"),
    ];
    assert_eq!(
        json_body(&model(), &messages),
        json!({
            "model": "qwen3:8b", "stream": true, "keep_alive": "30m", "truncate": false, "shift": false, "think": true,
            "options": { "num_ctx": 40_960, "num_predict": 500 },
            "tools": [{ "type": "function", "function": {
                "name": "ls", "description": "Lists.", "parameters": { "type": "object" },
            } }],
            "messages": [
                { "role": "system", "content": "Be good." },
                { "role": "user", "content": "See", "images": ["aGk="] },
                { "role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
                    { "id": "call_a", "function": { "name": "ls", "arguments": { "path": 1 } } },
                ] },
                { "role": "tool", "content": "file", "tool_name": "ls", "tool_call_id": "call_a" },
            ],
        })
    );
}

#[test]
fn what_a_model_cannot_take_is_not_sent() {
    let mut model = model();
    (model.context, model.max_output) = (None, None);
    (model.accepts_images, model.thinks) = (false, false);
    let body = json_body(&model, &[seen("data:image/png;base64,aGk="), called("call_a")]);
    assert_eq!(body["options"], json!({}));
    assert_eq!(body.get("think"), None);
    assert_eq!(
        body["messages"][0],
        json!({ "role": "user", "content": format!("See\n{LEFT_OUT}") })
    );
    assert_eq!(body["messages"][1].get("thinking"), None);
}

#[test]
fn wishes_of_the_user_are_told_in_ollamas_words() {
    let mut model = model();
    model.wire_name = "gpt-oss:20b".to_owned();
    model.tuning = Tuning {
        reasoning_effort: Some("low".to_owned()),
        temperature: Some(0.5),
        seed: Some(7),
        ..Tuning::default()
    };
    let body = json_body(&model, &[]);
    assert_eq!(body["think"], "low");
    assert_eq!(
        body["options"],
        json!({ "num_ctx": 40_960, "num_predict": 500, "temperature": 0.5, "seed": 7 })
    );
}

#[test]
fn an_image_elsewhere_is_told() {
    let body = json_body(&model(), &[seen("https://host/a.png")]);
    assert_eq!(body["messages"][0]["content"], format!("See\n{LEFT_OUT}"));
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    let messages = [
        Message::text(Role::System, "Be good."),
        seen("data:image/png;base64,aGk="),
        called("call_a"),
        answered("call_a", "file"),
        Message::text(Role::Assistant, "Done."),
        Message::text(Role::User, "And?"),
    ];
    for count in 1..messages.len() {
        let shorter = body(&model(), &messages[..count]);
        let longer = body(&model(), &messages[..=count]);
        assert!(
            longer.starts_with(shorter.strip_suffix(b"]}").unwrap()),
            "{count}"
        );
    }
}
