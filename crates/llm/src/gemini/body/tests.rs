use deft_types::{Extra, ImageContent, Tokens, ToolCallOrigin};
use reqwest::Url;
use serde_json::json;

use super::*;
use crate::Tuning;
use crate::gemini::Generation;

fn model(name: &str) -> GeminiApi {
    GeminiApi {
        url: Url::parse("http://localhost").unwrap(),
        api_key: None,
        max_output: Some(Tokens(500)),
        accepts_images: true,
        generation: Generation::of(name),
        tuning: Tuning::default(),
    }
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        ..Request::default()
    }
}

fn contents_of(model: &GeminiApi, messages: Vec<Message>) -> Value {
    let body: Value = serde_json::from_slice(&of(model, &request(messages)).unwrap()).unwrap();
    body["contents"].clone()
}

fn called(text: &str, ids: &[&str]) -> Message {
    let calls = ids.iter().map(|id| ToolCall {
        id: (*id).to_owned(),
        responses_item_id: None,
        name: "ls".to_owned(),
        arguments: "{\"path\":1}".to_owned(),
        origin: ToolCallOrigin::Completion,
        extra: Extra::new(),
    });
    Message {
        tool_calls: Some(calls.collect()),
        reasoning_content: Some("hm".to_owned()),
        ..Message::text(Role::Assistant, text)
    }
}

fn answered(id: &str, content: Vec<Content>) -> Message {
    Message {
        tool_call_id: Some(id.to_owned()),
        name: Some("ls".to_owned()),
        ..Message::new(Role::Tool, content)
    }
}

fn image(url: &str) -> Content {
    Content::Image(ImageContent {
        image_urls: vec![url.to_owned()],
        ..ImageContent::default()
    })
}

fn call(id: Option<&str>) -> Value {
    match id {
        Some(id) => json!({ "functionCall": { "id": id, "name": "ls", "args": { "path": 1 } } }),
        None => json!({ "functionCall": { "name": "ls", "args": { "path": 1 } } }),
    }
}

fn result(id: Option<&str>, output: &str) -> Value {
    match id {
        Some(id) => {
            json!({ "functionResponse": { "id": id, "name": "ls", "response": { "output": output } } })
        }
        None => json!({ "functionResponse": { "name": "ls", "response": { "output": output } } }),
    }
}

#[test]
fn a_whole_request_has_its_shape() {
    let mut request = request(vec![
        Message::new(
            Role::System,
            vec![Content::text("Be good."), Content::text("Be quick.")],
        ),
        Message::text(Role::User, "List."),
        called("Well.", &["fc-1"]),
        answered("fc-1", vec![Content::text("file")]),
    ]);
    request.tools = Arc::new([
        ToolSchema {
            name: "ls".to_owned(),
            description: "Lists.".to_owned(),
            parameters: json!({ "type": "object", "properties": { "path": { "type": "integer" } }, "additionalProperties": false }),
        },
        ToolSchema {
            name: "wait".to_owned(),
            description: "Waits.".to_owned(),
            parameters: json!({ "type": "object", "properties": {} }),
        },
    ]);
    let body: Value = serde_json::from_slice(&of(&model("gemini-2.5-pro"), &request).unwrap()).unwrap();
    assert_eq!(
        body,
        json!({
            "systemInstruction": { "parts": [{ "text": "Be good." }, { "text": "Be quick." }] },
            "tools": [{ "functionDeclarations": [
                { "name": "ls", "description": "Lists.",
                  "parameters": { "properties": { "path": { "type": "integer" } }, "type": "object" } },
                { "name": "wait", "description": "Waits." },
            ] }],
            "generationConfig": { "maxOutputTokens": 500, "thinkingConfig": { "includeThoughts": true } },
            "contents": [
                { "role": "user", "parts": [{ "text": "List." }] },
                { "role": "model", "parts": [{ "text": "Well." }, call(Some("fc-1"))] },
                { "role": "user", "parts": [result(Some("fc-1"), "file")] },
            ],
        })
    );
}

#[test]
fn an_older_model_is_asked_for_no_thoughts() {
    let body: Value =
        serde_json::from_slice(&of(&model("gemini-2.0-flash"), &request(vec![])).unwrap()).unwrap();
    assert_eq!(
        body,
        json!({ "generationConfig": { "maxOutputTokens": 500 }, "contents": [] })
    );
}

#[test]
fn wishes_of_the_user_are_told_in_googles_words() {
    let config = |name| {
        let mut model = model(name);
        model.tuning = Tuning {
            reasoning_effort: Some("low".to_owned()),
            temperature: Some(0.5),
            top_p: Some(0.9),
            seed: Some(7),
            ..Tuning::default()
        };
        let body: Value = serde_json::from_slice(&of(&model, &request(vec![])).unwrap()).unwrap();
        body["generationConfig"].clone()
    };
    let expected = |thinking: Value| {
        json!({
            "maxOutputTokens": 500, "temperature": 0.5, "topP": 0.9, "seed": 7, "thinkingConfig": thinking,
        })
    };
    assert_eq!(
        config("gemini-2.5-pro"),
        expected(json!({ "includeThoughts": true, "thinkingBudget": 1024 }))
    );
    assert_eq!(
        config("gemini-3-pro"),
        expected(json!({ "includeThoughts": true, "thinkingLevel": "low" }))
    );
}

#[test]
fn results_stand_in_the_order_of_their_calls_one_for_each() {
    let contents = contents_of(
        &model("gemini-2.5-pro"),
        vec![
            called("", &["call_a", "call_b", "call_c"]),
            answered("call_c", vec![Content::text("third")]),
            answered(
                "call_a",
                vec![Content::text("first"), image("data:image/png;base64,aGk=")],
            ),
            answered("call_x", vec![Content::text("of no call")]),
            Message::text(Role::User, "Go on."),
        ],
    );
    assert_eq!(
        contents,
        json!([
            { "role": "model", "parts": [call(None), call(None), call(None)] },
            { "role": "user", "parts": [
                result(None, "first"), result(None, LOST_RESULT), result(None, "third"),
                { "inlineData": { "mimeType": "image/png", "data": "aGk=" } },
                { "text": "of no call" },
            ] },
            { "role": "user", "parts": [{ "text": "Go on." }] },
        ])
    );
}

#[test]
fn signatures_go_back_on_the_parts_they_came_with() {
    let signed = |id: Option<&str>, signature: &str| {
        let mut part = call(id);
        part["thoughtSignature"] = signature.into();
        part
    };
    let mut reply = called("Hello there", &["fc-1__thought__c2ln+/=", "call_b"]);
    let part = json!({ "text": " there", "thoughtSignature": "dGV4dA==" });
    reply.thinking_blocks = vec![signed_part::keep(part.clone(), 5)];
    let contents = contents_of(
        &model("gemini-3-pro"),
        vec![reply, called("", &["toolu_1", "toolu_2"])],
    );
    assert_eq!(
        contents,
        json!([
            { "role": "model", "parts": [{ "text": "Hello" }, part, signed(Some("fc-1"), "c2ln+/="), call(None)] },
            { "role": "user", "parts": [result(Some("fc-1"), LOST_RESULT), result(None, LOST_RESULT)] },
            // Calls of another model: the newer generations want a stand-in on the first.
            { "role": "model", "parts": [signed(None, FOREIGN_SIGNATURE), call(None)] },
        ])
    );
    let contents = contents_of(&model("gemini-2.5-pro"), vec![called("", &["toolu_1"])]);
    assert_eq!(contents, json!([{ "role": "model", "parts": [call(None)] }]));
}

#[test]
fn what_says_nothing_is_left_out_and_the_model_never_speaks_twice_in_a_row() {
    let contents = contents_of(
        &model("gemini-2.5-pro"),
        vec![
            Message::text(Role::User, ""),
            Message::text(Role::User, "One."),
            Message::text(Role::Assistant, "Two."),
            Message::text(Role::Assistant, ""),
            Message::text(Role::Assistant, "Three."),
            Message::text(Role::System, "Four."),
        ],
    );
    assert_eq!(
        contents,
        json!([
            { "role": "user", "parts": [{ "text": "One." }] },
            { "role": "model", "parts": [{ "text": "Two." }, { "text": "Three." }] },
            { "role": "user", "parts": [{ "text": "Four." }] },
        ])
    );
}

#[test]
fn an_image_that_cannot_be_sent_is_told() {
    let said = |model: &GeminiApi, url| {
        let contents = contents_of(model, vec![Message::new(Role::User, vec![image(url)])]);
        contents[0]["parts"][0]["text"].as_str().unwrap().to_owned()
    };
    for url in ["https://host/a.png", "data:image/svg+xml;base64,aGk="] {
        assert!(said(&model("gemini-2.5-pro"), url).contains("PNG"), "{url}");
    }
    let mut blind = model("gemma");
    blind.accepts_images = false;
    assert!(said(&blind, "data:image/png;base64,aGk=").contains(LEFT_OUT));
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    let model = model("gemini-3-pro");
    let messages = vec![
        Message::text(Role::System, "Be good."),
        Message::text(Role::User, "One."),
        called("Well.", &["fc-1__thought__c2ln", "call_b"]),
        answered("call_b", vec![Content::text("two")]),
        answered(
            "fc-1__thought__c2ln",
            vec![Content::text("one"), image("data:image/png;base64,aGk=")],
        ),
        Message::text(Role::User, "And?"),
        called("", &["fc-2__thought__c2ln"]),
        answered("fc-2__thought__c2ln", vec![Content::text("three")]),
        Message::text(Role::Assistant, "Done."),
    ];
    // Requests are sent when the user has spoken or every call has its result.
    let bodies: Vec<_> = [2, 3, 5, 6, 7, 8, 9]
        .map(|count| of(&model, &request(messages[..count].to_vec())).unwrap())
        .to_vec();
    for pair in bodies.windows(2) {
        let shorter = pair[0].strip_suffix(b"]}").unwrap();
        assert!(
            pair[1].starts_with(shorter),
            "{}",
            String::from_utf8_lossy(&pair[1])
        );
    }
}
