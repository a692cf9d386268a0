use deft_types::{Extra, ReasoningItem, Tokens, ToolCallOrigin};
use reqwest::Url;
use serde_json::json;

use super::*;
use crate::provider::Dialect;
use crate::responses::reasoning::Placed;
use crate::{Capabilities, Tuning};

fn model() -> Endpoint {
    Endpoint {
        wire_name: "gpt-5".to_owned(),
        dialect: Dialect::OpenAi,
        url: Url::parse("http://localhost").unwrap(),
        api_key: None,
        max_output: None,
        capabilities: Capabilities::default(),
        tuning: Tuning::default(),
    }
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        cache_key: Some("conversation-1".to_owned()),
        ..Request::default()
    }
}

fn body(model: &Endpoint, messages: Vec<Message>) -> Value {
    json!(of(model, &request(messages)))
}

fn reasoned(id: &str) -> ReasoningItem {
    ReasoningItem {
        id: Some(id.to_owned()),
        encrypted_content: Some("gAAA".to_owned()),
        ..ReasoningItem::default()
    }
}

fn reasoning(id: &str) -> Value {
    json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA" })
}

fn called(text: &str, ids: &[&str]) -> Message {
    let calls = ids.iter().map(|id| ToolCall {
        id: format!("call_{id}"),
        responses_item_id: Some(format!("fc_{id}")),
        name: "ls".to_owned(),
        arguments: "{\"path\": 1".to_owned(),
        origin: ToolCallOrigin::Responses,
        extra: Extra::new(),
    });
    Message {
        content: match text {
            "" => vec![],
            text => vec![Content::text(text)],
        },
        tool_calls: Some(calls.collect()),
        responses_reasoning_item: Some(reasoned("rs_1")),
        ..Message::text(Role::Assistant, "")
    }
}

fn call(id: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
        "name": "ls", "arguments": "{\"path\": 1",
    })
}

fn answered(id: &str, content: Vec<Content>) -> Message {
    Message {
        tool_call_id: Some(format!("call_{id}")),
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

#[test]
fn a_conversation_with_calls_keeps_its_shape() {
    let wire = body(
        &model(),
        vec![
            Message::new(
                Role::System,
                vec![Content::text("Be good."), Content::text("Be quick.")],
            ),
            Message::text(Role::User, "List."),
            called("Two.", &["a", "b"]),
            answered("a", vec![Content::text("one"), Content::text("two")]),
            answered("b", vec![Content::text("three")]),
            Message::text(Role::Assistant, "Done."),
            Message::text(Role::System, "Hurry."),
        ],
    );
    let said = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let output =
        |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    assert_eq!(
        wire,
        json!({
            "model": "gpt-5",
            "instructions": "Be good.\nBe quick.",
            "store": false,
            "stream": true,
            "input": [
                said("user", "input_text", "List."),
                reasoning("rs_1"),
                said("assistant", "output_text", "Two."),
                call("a"),
                call("b"),
                output("call_a", "one\ntwo"),
                output("call_b", "three"),
                said("assistant", "output_text", "Done."),
                said("system", "input_text", "Hurry."),
            ],
        })
    );
}

#[test]
fn the_fields_around_the_input_go_by_what_the_model_takes() {
    let mut model = model();
    model.max_output = Some(Tokens(500));
    model.capabilities = Capabilities {
        reasoning_effort: true,
        prompt_cache_key: true,
        prompt_cache_retention: true,
        ..model.capabilities
    };
    model.tuning = Tuning {
        reasoning_effort: Some("high".to_owned()),
        reasoning_summary: Some("auto".to_owned()),
        temperature: Some(0.5),
        top_p: Some(0.25),
        seed: Some(7),
        ..Tuning::default()
    };
    let request = Request {
        tools: Arc::new([ToolSchema {
            name: "ls".to_owned(),
            description: "Lists.".to_owned(),
            parameters: json!({ "type": "object" }),
        }]),
        ..request(vec![])
    };
    assert_eq!(
        json!(of(&model, &request)),
        json!({
            "model": "gpt-5",
            "tools": [{
                "type": "function", "name": "ls", "description": "Lists.",
                "parameters": { "type": "object" }, "strict": false,
            }],
            "store": false,
            "stream": true,
            "include": ["reasoning.encrypted_content"],
            "reasoning": { "effort": "high", "summary": "auto" },
            "max_output_tokens": 500,
            "temperature": 0.5,
            "top_p": 0.25,
            "prompt_cache_key": "conversation-1",
            "prompt_cache_retention": "24h",
            "input": [],
        })
    );
}

#[test]
fn reasoning_between_calls_goes_back_to_its_place() {
    let placed = |id: &str, calls_before| Placed {
        calls_before,
        item: reasoned(id),
    };
    let items = vec![
        placed("rs_1", None),
        placed("rs_2", Some(0)),
        placed("rs_3", Some(1)),
        placed("rs_4", Some(2)),
    ];
    let mut message = called("Text.", &["a", "b"]);
    message.responses_reasoning_item = crate::responses::reasoning::join(items);
    let text = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Text." }] });
    assert_eq!(
        body(&model(), vec![message])["input"],
        json!([
            reasoning("rs_1"),
            text,
            reasoning("rs_2"),
            call("a"),
            reasoning("rs_3"),
            call("b"),
        ]),
        "the last one has nothing after it"
    );
    let unfinished = Message {
        tool_calls: None,
        ..called("", &[])
    };
    assert_eq!(body(&model(), vec![unfinished])["input"], json!([]));
}

#[test]
fn ids_of_items_that_another_server_gave_are_left_out() {
    let mut message = called("", &["a"]);
    message.tool_calls.as_mut().unwrap()[0].responses_item_id = Some("item-1".to_owned());
    message.responses_reasoning_item = Some(reasoned("thought-1"));
    let wire = body(&model(), vec![message]);
    assert_eq!(wire["input"][0]["type"], "reasoning");
    assert_eq!(wire["input"][0].get("id"), None);
    assert_eq!(wire["input"][1]["type"], "function_call");
    assert_eq!(wire["input"][1].get("id"), None);
}

#[test]
fn a_result_of_several_texts_is_one_output() {
    let texts = ["[Tool 'x' executed.]", "one", "two"].map(Content::text).to_vec();
    let wire = body(&model(), vec![answered("a", texts)]);
    let outputs = wire["input"].as_array().unwrap();
    assert_eq!(outputs.len(), 1, "{wire}");
    assert_eq!(outputs[0]["call_id"], "call_a");
    assert_eq!(outputs[0]["output"], "[Tool 'x' executed.]\none\ntwo");
}

#[test]
fn images_stay_where_they_are_and_results_with_images_are_one_output() {
    let messages = || {
        vec![
            Message::new(
                Role::User,
                vec![
                    Content::text("See"),
                    image("data:image/png;base64,u"),
                    Content::text("this"),
                ],
            ),
            answered(
                "a",
                vec![
                    image("data:image/png;base64,a"),
                    Content::text("one"),
                    Content::text("two"),
                ],
            ),
        ]
    };
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let picture = |url: &str| json!({ "type": "input_image", "image_url": url });
    let wire = body(&model(), messages());
    assert_eq!(
        wire["input"][0]["content"],
        json!([text("See"), picture("data:image/png;base64,u"), text("this")])
    );
    assert_eq!(
        wire["input"][1]["output"],
        json!([text("one\ntwo"), picture("data:image/png;base64,a")])
    );

    let mut blind = model();
    blind.capabilities.vision = false;
    let wire = body(&blind, messages());
    assert_eq!(
        wire["input"][0]["content"],
        json!([text("See"), text(NO_IMAGES), text("this")])
    );
    assert_eq!(
        wire["input"][1]["output"],
        json!([text("one\ntwo"), text(NO_IMAGES)])
    );
}

#[test]
fn documents_go_as_files_and_what_is_no_image_not_at_all() {
    let pdf = "data:application/pdf;base64,QUJD";
    let content = vec![image(pdf), image("data:image/svg+xml;base64,QUJD")];
    let wire = body(&model(), vec![Message::new(Role::User, content)]);
    assert_eq!(
        wire["input"][0]["content"],
        json!([
            { "type": "input_file", "filename": PDF_NAME, "file_data": pdf },
            { "type": "input_text", "text": LEFT_OUT },
        ])
    );
}

#[test]
fn calls_of_another_api_have_no_item_id_and_no_id_that_is_too_long() {
    let long = "x".repeat(100);
    let mut message = called("", &["a"]);
    message.responses_reasoning_item = None;
    let call = &mut message.tool_calls.as_mut().unwrap()[0];
    call.id.clone_from(&long);
    call.responses_item_id = None;
    let mut result = answered("a", vec![]);
    result.tool_call_id = Some(long.clone());
    let wire = body(&model(), vec![message, result]);
    assert_eq!(wire["input"][0].get("id"), None);
    let replaced = &wire["input"][0]["call_id"];
    assert!(replaced.as_str().unwrap().len() <= 64, "{replaced}");
    assert_eq!(&wire["input"][1]["call_id"], replaced);
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    let conversation = [
        Message::text(Role::System, "Be good."),
        Message::text(Role::User, "One."),
        called("", &["a", "b"]),
        answered("a", vec![image("data:image/png;base64,a")]),
        answered("b", vec![Content::text("file")]),
        Message::text(Role::Assistant, "Done."),
        Message::text(Role::User, "Again."),
    ];
    let bytes = |length: usize| {
        let request = request(conversation[..length].to_vec());
        serde_json::to_vec(&of(&model(), &request)).unwrap()
    };
    for length in 2..conversation.len() {
        let (short, long) = (bytes(length), bytes(length + 1));
        let shared = short.strip_suffix(b"]}").unwrap();
        assert!(long.starts_with(shared), "{length} messages");
    }
}
