use std::sync::Arc;

use deft_types::{Content, Extra, ImageContent, Message, Role, Tokens, ToolCall, ToolCallOrigin};
use reqwest::Url;
use serde_json::{Value, json};

use super::messages::NOT_SHOWN;
use super::*;
use crate::attachment::{LEFT_OUT, PDF_NAME};
use crate::chat::signatures;
use crate::openai::NO_IMAGES;
use crate::{Capabilities, LocalKind, ToolSchema, Tuning};

fn model(name: &str, dialect: Dialect) -> Endpoint {
    Endpoint {
        wire_name: name.to_owned(),
        dialect,
        url: Url::parse("http://localhost").unwrap(),
        api_key: None,
        max_output: Some(Tokens(500)),
        capabilities: Capabilities {
            prompt_cache_key: dialect == Dialect::OpenAi,
            ..Capabilities::default()
        },
        tuning: Tuning::default(),
    }
}

fn body(model: &Endpoint, messages: Vec<Message>) -> Value {
    let request = Request {
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::new([]),
        cache_key: Some("conversation-1".to_owned()),
    };
    serde_json::to_value(of(model, &request)).unwrap()
}

fn called(text: &str, ids: &[&str]) -> Message {
    let calls = ids.iter().map(|id| ToolCall {
        id: (*id).to_owned(),
        responses_item_id: None,
        name: "ls".to_owned(),
        arguments: "{\"path\": 1".to_owned(),
        origin: ToolCallOrigin::Completion,
        extra: Extra::new(),
    });
    Message {
        content: if text.is_empty() {
            vec![]
        } else {
            vec![Content::text(text)]
        },
        tool_calls: Some(calls.collect()),
        reasoning_content: Some("hm".to_owned()),
        ..Message::text(Role::Assistant, "")
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

#[test]
fn a_conversation_with_calls_keeps_its_shape() {
    let wire = body(
        &model("gpt-4o", Dialect::OpenAi),
        vec![
            Message::new(
                Role::System,
                vec![Content::text("Be good."), Content::text("Be quick.")],
            ),
            Message::text(Role::User, "List."),
            called("", &["a"]),
            answered("a", vec![Content::text("file")]),
            called("Again.", &["b"]),
        ],
    );
    // Arguments go back as the model wrote them, valid or not.
    let calls = |id: &str| json!([{ "id": id, "type": "function", "function": { "name": "ls", "arguments": "{\"path\": 1" } }]);
    assert_eq!(
        wire["messages"],
        json!([
            { "role": "system", "content": "Be good.\nBe quick." },
            { "role": "user", "content": "List." },
            { "role": "assistant", "content": null, "tool_calls": calls("a") },
            { "role": "tool", "content": "file", "tool_call_id": "a", "name": "ls" },
            { "role": "assistant", "content": "Again.", "tool_calls": calls("b") },
        ])
    );
}

#[test]
fn each_dialect_gets_the_fields_it_takes() {
    let fields = |dialect| {
        let mut wire = body(&model("m", dialect), vec![]);
        let fields = wire.as_object_mut().unwrap();
        fields.remove("messages");
        wire
    };
    assert_eq!(
        fields(Dialect::OpenAi),
        json!({
            "model": "m", "stream": true, "stream_options": { "include_usage": true },
            "max_completion_tokens": 500, "prompt_cache_key": "conversation-1",
        })
    );
    assert_eq!(
        fields(Dialect::Compatible),
        json!({ "model": "m", "stream": true, "stream_options": { "include_usage": true }, "max_tokens": 500 })
    );
    assert_eq!(
        fields(Dialect::Strict),
        json!({ "model": "m", "stream": true, "max_tokens": 500 })
    );
    assert_eq!(fields(Dialect::Azure), fields(Dialect::Compatible));
    assert_eq!(fields(Dialect::OpenRouter), fields(Dialect::Compatible));
}

#[test]
fn azure_limits_the_output_of_models_that_reason_by_another_field() {
    let mut model = model("m", Dialect::Azure);
    model.capabilities.reasoning_effort = true;
    let wire = body(&model, vec![]);
    assert_eq!(
        (&wire["max_completion_tokens"], &wire["max_tokens"]),
        (&json!(500), &Value::Null)
    );
}

#[test]
fn openrouter_is_asked_to_mark_the_cache_of_models_that_want_marks() {
    let mut model = model("anthropic/claude", Dialect::OpenRouter);
    model.capabilities.explicit_cache_markers = true;
    assert_eq!(
        body(&model, vec![])["cache_control"],
        json!({ "type": "ephemeral" })
    );
    model.dialect = Dialect::Compatible;
    assert_eq!(body(&model, vec![]).get("cache_control"), None);
}

#[test]
fn tools_are_sent_with_their_schemas() {
    let request = Request {
        tools: Arc::new([ToolSchema {
            name: "ls".to_owned(),
            description: "Lists.".to_owned(),
            parameters: json!({ "type": "object" }),
        }]),
        ..Request::default()
    };
    let wire = serde_json::to_value(of(&model("m", Dialect::OpenAi), &request)).unwrap();
    let schema = json!({ "name": "ls", "description": "Lists.", "parameters": { "type": "object" } });
    assert_eq!(wire["tools"], json!([{ "type": "function", "function": schema }]));
}

#[test]
fn images_of_tool_results_follow_the_last_result_of_the_turn() {
    let url = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let wire = body(
        &model("gpt-4o", Dialect::OpenAi),
        vec![
            Message::new(
                Role::User,
                vec![Content::text("See"), image("data:image/png;base64,u")],
            ),
            called("", &["a", "b"]),
            answered("a", vec![Content::text("one"), image("data:image/png;base64,a")]),
            answered("b", vec![image("data:image/png;base64,b")]),
            Message::text(Role::Assistant, "Seen."),
        ],
    );
    let messages = wire["messages"].as_array().unwrap();
    assert_eq!(
        messages[0]["content"],
        json!([{ "type": "text", "text": "See" }, url("data:image/png;base64,u")])
    );
    assert_eq!(messages[2]["content"], "one");
    assert_eq!(messages[3]["content"], "");
    assert_eq!(messages[4]["role"], "user");
    assert_eq!(
        messages[4]["content"].as_array().unwrap()[1..],
        [url("data:image/png;base64,a"), url("data:image/png;base64,b")]
    );
    assert_eq!(messages[5]["content"], "Seen.");
    assert_eq!(messages.len(), 6);
}

#[test]
fn documents_and_what_is_no_image_do_not_go_as_images() {
    let (pdf, odd) = (
        "data:application/pdf;base64,QUJD",
        "data:image/svg+xml;base64,QUJD",
    );
    let sent = |dialect| {
        body(
            &model("m", dialect),
            vec![
                Message::new(Role::User, vec![Content::text("See"), image(pdf), image(odd)]),
                called("", &["a"]),
                answered("a", vec![Content::text("one"), image(odd), image(pdf)]),
            ],
        )["messages"]
            .take()
    };
    let file = json!({ "type": "file", "file": { "filename": PDF_NAME, "file_data": pdf } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let messages = sent(Dialect::OpenAi);
    assert_eq!(messages[0]["content"], json!([text("See"), file, text(LEFT_OUT)]));
    assert_eq!(messages[2]["content"], format!("one\n{LEFT_OUT}"));
    assert_eq!(messages[3]["content"][1], file);
    let messages = sent(Dialect::Compatible);
    assert_eq!(
        messages[0]["content"],
        json!([text("See"), text(LEFT_OUT), text(LEFT_OUT)])
    );
    assert_eq!(messages[2]["content"], format!("one\n{LEFT_OUT}\n{LEFT_OUT}"));
    assert_eq!(messages.as_array().unwrap().len(), 3);
}

#[test]
fn a_model_that_takes_no_images_is_told_that_there_was_one() {
    let mut model = model("blind", Dialect::OpenAi);
    model.capabilities.vision = false;
    let wire = body(
        &model,
        vec![Message::new(
            Role::User,
            vec![Content::text("See"), image("data:image/png;base64,u")],
        )],
    );
    assert_eq!(wire["messages"][0]["content"], format!("See\n{NO_IMAGES}"));
}

#[test]
fn reasoning_goes_back_only_to_models_that_want_it() {
    for sent in [false, true] {
        let mut model = model("m", Dialect::Compatible);
        model.capabilities.send_reasoning_back = sent;
        let wire = body(&model, vec![called("", &["a"])]);
        assert_eq!(wire["messages"][0].get("reasoning_content").is_some(), sent);
    }
}

#[test]
fn a_model_that_wants_reasoning_back_misses_none_on_calls_of_another() {
    let mut model = model("kimi-k2-thinking", Dialect::Compatible);
    model.capabilities.send_reasoning_back = true;
    for reasoning in [None, Some(String::new())] {
        let foreign = Message {
            reasoning_content: reasoning,
            ..called("", &["a"])
        };
        let wire = body(&model, vec![foreign, Message::text(Role::Assistant, "Done.")]);
        assert_eq!(wire["messages"][0]["reasoning_content"], NOT_SHOWN);
        assert_eq!(wire["messages"][1].get("reasoning_content"), None);
    }
}

#[test]
fn a_model_without_system_messages_is_told_by_the_user() {
    let mut model = model("m", Dialect::OpenAi);
    model.capabilities.system_messages = false;
    let wire = body(&model, vec![Message::text(Role::System, "Be good.")]);
    assert_eq!(
        wire["messages"],
        json!([{ "role": "user", "content": "Be good." }])
    );
}

#[test]
fn what_the_user_tunes_is_sent() {
    let mut model = model("m", Dialect::OpenAi);
    model.max_output = None;
    model.capabilities.prompt_cache_retention = true;
    model.tuning = Tuning {
        reasoning_effort: Some("high".to_owned()),
        temperature: Some(0.5),
        top_p: Some(0.25),
        seed: Some(7),
        ..Tuning::default()
    };
    assert_eq!(
        body(&model, vec![]),
        json!({
            "model": "m", "messages": [], "stream": true, "stream_options": { "include_usage": true },
            "reasoning_effort": "high", "temperature": 0.5, "top_p": 0.25, "seed": 7,
            "prompt_cache_key": "conversation-1", "prompt_cache_retention": "24h",
        })
    );
}

#[test]
fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_one() {
    let model = model("gpt-4o", Dialect::OpenAi);
    let mut request = Request {
        messages: vec![
            Arc::new(Message::text(Role::User, "One.")),
            Arc::new(called("", &["a"])),
        ]
        .into(),
        ..Request::default()
    };
    let short = serde_json::to_vec(&of(&model, &request)).unwrap();
    request
        .messages
        .push(Arc::new(answered("a", vec![Content::text("file")])));
    let long = serde_json::to_vec(&of(&model, &request)).unwrap();
    let end_of_messages = short.windows(2).rposition(|pair| pair == b"}]").unwrap();
    assert_eq!(long[..=end_of_messages], short[..=end_of_messages]);
}

#[test]
fn an_id_that_carries_geminis_signature_goes_without_it() {
    let id = "call_a__thought__c2lnbmF0dXJl";
    let wire = body(
        &model("gpt-4o", Dialect::OpenAi),
        vec![called("", &[id]), answered(id, vec![Content::text("file")])],
    );
    assert_eq!(wire["messages"][0]["tool_calls"][0]["id"], "call_a");
    assert_eq!(wire["messages"][1]["tool_call_id"], "call_a");
}

#[test]
fn a_proxy_gets_the_ids_it_made_back_whole() {
    let id = format!("call_a__thought__{}", "c2ln".repeat(50));
    let wire = body(
        &model("gemini-3-pro", Dialect::Proxy),
        vec![called("", &[&id]), answered(&id, vec![Content::text("file")])],
    );
    assert_eq!(wire["messages"][0]["tool_calls"][0]["id"], id);
    assert_eq!(wire["messages"][1]["tool_call_id"], id);
}

#[test]
fn ids_that_a_server_refuses_are_replaced_in_calls_and_results_alike() {
    let long = format!("toolu_{}", "x".repeat(40));
    for (dialect, most) in [(Dialect::OpenAi, 40), (Dialect::Azure, 40), (Dialect::Strict, 9)] {
        let wire = body(
            &model("m", dialect),
            vec![called("", &[&long]), answered(&long, vec![])],
        );
        let id = wire["messages"][0]["tool_calls"][0]["id"].as_str().unwrap();
        assert!(id.len() <= most, "{id}");
        assert_eq!(wire["messages"][1]["tool_call_id"], id);
    }
}

#[test]
fn a_strict_server_sees_a_reply_between_a_result_and_the_user() {
    let roles = |dialect| {
        let wire = body(
            &model("m", dialect),
            vec![
                called("", &["a", "b"]),
                answered("a", vec![]),
                answered("b", vec![]),
                Message::text(Role::User, "Wait."),
                called("", &["c"]),
                answered("c", vec![]),
                Message::text(Role::Assistant, "Done."),
            ],
        );
        let messages = wire["messages"].as_array().unwrap().iter();
        let roles = messages.map(|message| message["role"].as_str().unwrap()[..1].to_owned());
        roles.collect::<String>()
    };
    assert_eq!(roles(Dialect::Strict), "attauata");
    assert_eq!(roles(Dialect::Compatible), "attuata");
}

#[test]
fn what_a_server_signed_goes_back_to_it_alone() {
    let mut signatures = signatures::Signatures::default();
    let details = json!([{ "type": "reasoning.encrypted", "data": "c2ln", "index": 0 }]);
    let content = json!({ "google": { "thought_signature": "c2ln" } });
    signatures
        .add_details(details.as_array().unwrap().clone())
        .unwrap();
    signatures.add_call(1, content.clone()).unwrap();
    let Some(crate::Delta::Thinking(block)) = signatures.take() else {
        panic!("nothing was kept");
    };
    let message = Message {
        thinking_blocks: vec![block],
        ..called("", &["a", "b"])
    };
    let sent = |model: &Endpoint| body(model, vec![message.clone()])["messages"][0].take();

    let router = sent(&model("m", Dialect::OpenRouter));
    assert_eq!(router["reasoning_details"], details);
    assert_eq!(router["tool_calls"][1].get("extra_content"), None);

    let mut google = model("m", Dialect::OpenAi);
    google.url = Url::parse("https://generativelanguage.googleapis.com/v1beta/openai").unwrap();
    let google = sent(&google);
    assert_eq!(google.get("reasoning_details"), None);
    assert_eq!(google["tool_calls"][0].get("extra_content"), None);
    assert_eq!(google["tool_calls"][1]["extra_content"], content);

    let other = sent(&model("m", Dialect::OpenAi));
    assert_eq!(other.get("reasoning_details"), None);
    assert_eq!(other["tool_calls"][1].get("extra_content"), None);
}

#[test]
fn a_server_of_ones_own_sees_what_the_user_says_in_a_row_as_one_message() {
    let said = || {
        vec![
            Message::text(Role::System, "Be good."),
            Message::text(Role::User, "One."),
            Message::text(Role::User, "Two."),
            Message::new(Role::User, vec![image("data:image/png;base64,u")]),
            Message::text(Role::Assistant, "Yes."),
            Message::text(Role::User, "Three."),
        ]
    };
    let roles = |dialect| {
        let wire = body(&model("m", dialect), said());
        let messages = wire["messages"].as_array().unwrap().clone();
        let roles = messages
            .iter()
            .map(|message| &message["role"].as_str().unwrap()[..1]);
        (roles.collect::<String>(), messages[1]["content"].clone())
    };
    let (merged, content) = roles(Dialect::Local(LocalKind::Vllm));
    assert_eq!(merged, "suau");
    assert_eq!(content[0]["text"], "One.\n\nTwo.");
    assert_eq!(content[1]["type"], "image_url");
    assert_eq!(roles(Dialect::Compatible).0, "suuuau");
}

#[test]
fn a_proxy_is_asked_to_cache_for_claude() {
    let mut proxied = model("claude-sonnet-4-5", Dialect::Proxy);
    let history = || {
        vec![
            Message::text(Role::System, "Be good."),
            Message::text(Role::User, "One."),
            called("", &["a"]),
            answered("a", vec![Content::text("file")]),
            Message::text(Role::Assistant, "So."),
        ]
    };
    let marks = |model: &Endpoint| {
        let wire = body(model, history());
        let messages = wire["messages"].as_array().unwrap().clone();
        let marks = messages
            .iter()
            .map(|message| message.get("cache_control").is_some());
        marks.collect::<Vec<_>>()
    };
    assert_eq!(marks(&proxied), [false; 5]);
    proxied.capabilities.explicit_cache_markers = true;
    assert_eq!(marks(&proxied), [true, false, false, true, false]);
}

#[test]
fn stop_words_and_top_k_go_where_they_are_taken() {
    let fields = |dialect| {
        let mut model = model("m", dialect);
        model.tuning.stop = vec!["END".to_owned()];
        model.tuning.top_k = Some(40);
        let wire = body(&model, vec![Message::text(Role::User, "One.")]);
        (wire["stop"].clone(), wire.get("top_k").is_some())
    };
    assert_eq!(fields(Dialect::Compatible), (json!(["END"]), true));
    assert_eq!(fields(Dialect::OpenAi), (json!(["END"]), false));
}
