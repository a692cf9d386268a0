use std::sync::Arc;

use deft_types::{ImageContent, Role};
use serde_json::json;

use super::*;
use crate::ToolSchema;

fn ask(text: &str) -> Request {
    Request {
        messages: vec![Arc::new(Message::text(Role::User, text))].into(),
        ..Request::default()
    }
}

fn counted(prompt: u64) -> Usage {
    Usage {
        prompt: Tokens(prompt),
        ..Usage::default()
    }
}

#[test]
fn every_kind_of_text_is_estimated_near_what_two_tokenizers_count() {
    // The counts are those of o200k_base and cl100k_base.
    let cases = [
        (
            "The agent plans with a model, works with tools in your project, and remembers every step of it.",
            21,
            21,
        ),
        (
            "fn send(&self, request: &Request) -> Result<(Response, Server), ModelError> {\n    let post = \
             self.api.post(request)?;\n    let server = Server::of(&post.url);\n",
            41,
            41,
        ),
        (
            r#"{"id":"chatcmpl-7","choices":[{"index":0,"delta":{"content":"Two "},"finish_reason":null}]}"#,
            29,
            28,
        ),
        (
            "人工智能代理平台可以规划任务并在隔离的工作区中使用工具。每一步都是一个被存储的事件。",
            28,
            43,
        ),
        (
            "Агент планирует работу, использует инструменты и запоминает каждый шаг, чтобы его можно было повторить.",
            25,
            37,
        ),
        (
            "-rwxr-xr-x 1 root root   68480 Mar 23  2023 base64\n-rwxr-xr-x 1 root root 1265648 Apr 18  2025 bash\n",
            47,
            47,
        ),
    ];
    for (text, one, other) in cases {
        let estimate = of_text(text);
        let (low, high) = (one.min(other) * 7 / 10, one.max(other) * 14 / 10);
        assert!(
            (low..=high).contains(&estimate),
            "{estimate} not in {low}..={high}: {text}"
        );
    }
}

#[test]
fn nothing_that_is_sent_counts_as_nothing() {
    assert_eq!(TokenMeter::new().count(&Request::default()), Tokens::ZERO);
    let mut image = ask("");
    let picture = ImageContent {
        image_urls: vec!["data:image/png;base64,AAAA".to_owned()],
        ..ImageContent::default()
    };
    image.messages = vec![Arc::new(Message::new(Role::User, vec![Content::Image(picture)]))].into();
    let tools = Request {
        tools: Arc::new([ToolSchema {
            name: "terminal".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({ "type": "object", "properties": { "command": { "type": "string" } } }),
        }]),
        ..Request::default()
    };
    for (request, least) in [(ask("x"), 1), (image, 1_000), (tools, 20)] {
        assert!(TokenMeter::new().count(&request) >= Tokens(least), "{request:?}");
    }
}

#[test]
fn the_counts_that_come_back_correct_the_estimate() {
    let request = ask(&"Some text of the usual kind. ".repeat(1_000));
    let mut meter = TokenMeter::new();
    let truth = scaled(meter.count(&request), 1.6);
    meter.learn(&request, &counted(truth.0));
    assert_eq!(meter.count(&request), truth, "the first count is believed");

    // The model's counts change; ten replies later the meter has followed, though not at once.
    let truth = scaled(truth, 0.5);
    meter.learn(&request, &counted(truth.0));
    assert!(meter.count(&request).0 > truth.0 * 12 / 10);
    for _ in 0..10 {
        meter.learn(&request, &counted(truth.0));
    }
    let error = meter.count(&request).0.abs_diff(truth.0);
    assert!(error < truth.0 / 20, "{error} of {truth:?}");
}

#[test]
fn a_server_that_does_not_count_or_counts_nonsense_does_no_harm() {
    let request = ask(&"word ".repeat(1_000));
    let mut meter = TokenMeter::new();
    let before = meter.count(&request);
    meter.learn(&request, &counted(0));
    assert_eq!(meter.count(&request), before);
    meter.learn(&request, &counted(u64::MAX));
    assert!(meter.count(&request).0 <= before.0 * 4);
    meter.learn(&Request::default(), &counted(7));
    assert!(meter.count(&request) > Tokens::ZERO);
}
