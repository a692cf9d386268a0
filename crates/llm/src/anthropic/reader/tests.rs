use deft_types::{Extra, RedactedThinkingBlock, SignedThinking, ThinkingBlock, Tokens};
use serde_json::{Value, json};

use super::*;
use crate::fuzz::{events, read_pieces, try_reader};
use crate::{FinishReason, Usage};

/// A stream as the API writes it: the event's name, then its data.
fn stream(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

fn read(text: &str) -> Result<Vec<Delta>, ModelError> {
    read_in_two(text.as_bytes(), text.len())
}

fn read_in_two(bytes: &[u8], cut: usize) -> Result<Vec<Delta>, ModelError> {
    read_pieces::<ReplyReader>([&bytes[..cut], &bytes[cut..]])
}

fn message_start() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": null,
        "usage": { "input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": 1 },
    }})
}

fn start(index: u64, block: &Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn piece(index: u64, delta: &Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn end(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 42 } })
}

fn said(text: &str, reason: &str) -> Vec<Value> {
    vec![
        message_start(),
        start(0, &json!({ "type": "text", "text": "" })),
        piece(0, &json!({ "type": "text_delta", "text": text })),
        stop(0),
        end(reason),
        json!({ "type": "message_stop" }),
    ]
}

fn call(index: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> Delta {
    Delta::ToolCall {
        index,
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        arguments: arguments.to_owned(),
        item_id: None,
    }
}

const USAGE: Usage = Usage {
    prompt: Tokens(3210),
    completion: Tokens(42),
    cache_read: Tokens(3000),
    cache_write: Tokens(200),
    reasoning: Tokens(0),
    cost: None,
};

#[test]
fn a_stream_of_every_kind_of_block_reads_alike_wherever_it_is_cut() {
    let text = stream(&[
        message_start(),
        json!({ "type": "ping" }),
        start(0, &json!({ "type": "thinking", "thinking": "", "signature": "" })),
        piece(0, &json!({ "type": "thinking_delta", "thinking": "Let me " })),
        piece(0, &json!({ "type": "thinking_delta", "thinking": "grübeln." })),
        piece(0, &json!({ "type": "signature_delta", "signature": "c2ln" })),
        piece(0, &json!({ "type": "signature_delta", "signature": "bmF0" })),
        stop(0),
        start(1, &json!({ "type": "redacted_thinking", "data": "ZGF0YQ==" })),
        stop(1),
        start(2, &json!({ "type": "text", "text": "" })),
        piece(2, &json!({ "type": "text_delta", "text": "Two " })),
        piece(2, &json!({ "type": "text_delta", "text": "calls 🙂" })),
        piece(2, &json!({ "type": "citations_delta", "citation": {} })),
        stop(2),
        start(
            3,
            &json!({ "type": "tool_use", "id": "toolu_1", "name": "terminal", "input": {} }),
        ),
        piece(3, &json!({ "type": "input_json_delta", "partial_json": "" })),
        piece(
            3,
            &json!({ "type": "input_json_delta", "partial_json": "{\"command\":" }),
        ),
        piece(
            3,
            &json!({ "type": "input_json_delta", "partial_json": " \"ls\"}" }),
        ),
        stop(3),
        start(
            4,
            &json!({ "type": "tool_use", "id": "toolu_2", "name": "finish", "input": {} }),
        ),
        stop(4),
        start(
            5,
            &json!({ "type": "server_tool_use", "id": "srv", "name": "web" }),
        ),
        piece(5, &json!({ "type": "input_json_delta", "partial_json": "{}" })),
        stop(5),
        json!({ "type": "of_a_later_version", "x": 1 }),
        end("tool_use"),
        json!({ "type": "message_stop" }),
    ]);
    let expected = vec![
        Delta::Started {
            response_id: "msg_1".to_owned(),
        },
        Delta::Reasoning("Let me ".to_owned()),
        Delta::Reasoning("grübeln.".to_owned()),
        Delta::Thinking(ThinkingBlock::Thinking(SignedThinking {
            thinking: "Let me grübeln.".to_owned(),
            signature: Some("c2lnbmF0".to_owned()),
            extra: Extra::new(),
        })),
        Delta::Thinking(ThinkingBlock::RedactedThinking(RedactedThinkingBlock {
            data: "ZGF0YQ==".to_owned(),
            extra: Extra::new(),
        })),
        Delta::Text("Two ".to_owned()),
        Delta::Text("calls 🙂".to_owned()),
        call(0, Some("toolu_1"), Some("terminal"), ""),
        call(0, None, None, "{\"command\":"),
        call(0, None, None, " \"ls\"}"),
        call(1, Some("toolu_2"), Some("finish"), ""),
        call(1, None, None, "{}"),
        Delta::Usage(USAGE),
        Delta::Finished(FinishReason::ToolCalls),
    ];
    for cut in 0..=text.len() {
        assert_eq!(read_in_two(text.as_bytes(), cut).unwrap(), expected, "{cut}");
    }
}

#[test]
fn each_stop_reason_means_one_end() {
    let cases = [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("pause_turn", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("refusal", FinishReason::ContentFilter),
    ];
    for (word, expected) in cases {
        let deltas = read(&stream(&said("Hi", word))).unwrap();
        assert_eq!(deltas.last(), Some(&Delta::Finished(expected)), "{word}");
    }
    let full = read(&stream(&said("", "model_context_window_exceeded"))).unwrap_err();
    assert!(
        matches!(full, ModelError::ContextWindowExceeded { .. }),
        "{full:?}"
    );
    let lost = read(&stream(&said("Hi", "tool_use"))).unwrap_err();
    assert!(matches!(lost, ModelError::Protocol { .. }), "{lost:?}");
}

type Is = fn(&ModelError) -> bool;

#[test]
fn errors_within_a_stream_are_told_apart() {
    let within = |kind: &str, message: &str| {
        let error = json!({ "type": "error", "error": { "type": kind, "message": message } });
        read(&stream(&[message_start(), error])).unwrap_err()
    };
    let cases: [(&str, &str, Is); 9] = [
        ("overloaded_error", "Overloaded", |e| {
            matches!(e, ModelError::Overloaded { .. })
        }),
        ("rate_limit_error", "This request would exceed", |e| {
            matches!(e, ModelError::RateLimit { .. })
        }),
        (
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
            |e| matches!(e, ModelError::ContextWindowExceeded { .. }),
        ),
        ("invalid_request_error", "max_tokens: too large", |e| {
            matches!(e, ModelError::BadRequest { .. })
        }),
        ("authentication_error", "invalid x-api-key", |e| {
            matches!(e, ModelError::Authentication { .. })
        }),
        ("permission_error", "not for you", |e| {
            matches!(e, ModelError::Permission { .. })
        }),
        ("billing_error", "no payment", |e| {
            matches!(e, ModelError::Quota { .. })
        }),
        ("timeout_error", "too slow", |e| {
            matches!(e, ModelError::Timeout { .. })
        }),
        ("api_error", "Internal server error", |e| {
            matches!(e, ModelError::Unavailable { .. })
        }),
    ];
    for (kind, message, is) in cases {
        let error = within(kind, message);
        assert!(is(&error), "{kind}: {error:?}");
    }
}

#[test]
fn a_reply_that_breaks_off_is_a_network_failure_unless_it_was_whole() {
    let text = stream(&said("Hi", "end_turn"));
    let end = end("end_turn").to_string();
    let whole_from = text.find(&end).unwrap() + end.len();
    for cut in 0..text.len() {
        let result = read(&text[..cut]);
        if cut >= whole_from {
            let last = result.unwrap().pop();
            assert_eq!(last, Some(Delta::Finished(FinishReason::Stop)), "{cut}");
        } else {
            let error = result.unwrap_err();
            assert!(matches!(error, ModelError::Network { .. }), "{cut}: {error:?}");
        }
    }
}

#[test]
fn a_message_that_is_not_streamed_is_understood() {
    let text = json!({
        "id": "msg_2", "type": "message", "role": "assistant", "model": "m",
        "content": [
            { "type": "thinking", "thinking": "hm", "signature": "sig" },
            { "type": "text", "text": "Hi" },
            { "type": "tool_use", "id": "toolu_1", "name": "terminal", "input": { "command": "ls" } },
        ],
        "stop_reason": "tool_use",
        "usage": { "input_tokens": 5, "output_tokens": 6 },
    })
    .to_string();
    let deltas = read(&text).unwrap();
    assert!(deltas.contains(&call(0, None, None, "{\"command\":\"ls\"}")));
    assert!(deltas.iter().any(
        |delta| matches!(delta, Delta::Thinking(ThinkingBlock::Thinking(block)) if block.thinking == "hm")
    ));
    assert_eq!(deltas.last(), Some(&Delta::Finished(FinishReason::ToolCalls)));
}

#[test]
fn what_is_no_message_is_said_to_be_none() {
    for text in [
        "<html><title>Hello</title></html>",
        "{}",
        "data: nonsense\n\n",
        "[1]",
    ] {
        let error = read(text).unwrap_err();
        assert!(matches!(error, ModelError::Protocol { .. }), "{text}: {error:?}");
    }
}

#[test]
fn nothing_after_the_end_is_read() {
    let mut text = stream(&said("Hi", "end_turn"));
    text.push_str("data: [DONE]\n\n");
    assert!(read(&text).is_ok());
}

#[test]
fn any_answer_means_the_same_however_it_is_cut() {
    let data = [
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ż"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"signature_delta","signature":"s"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_stop"}"#,
        r#"{"type":"to_come","x":[1]}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    ];
    try_reader::<ReplyReader>(&events(&data));
}
