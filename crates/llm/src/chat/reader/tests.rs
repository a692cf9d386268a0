use deft_types::Tokens;
use serde_json::json;

use super::*;
use crate::api::AnswerReader;
use crate::fuzz::{events, read_pieces, try_reader};
use crate::sse::MAX_EVENT_BYTES;

/// The deltas of a stream whose chunks are these, with `[DONE]` behind them.
fn deltas(chunks: &[Value]) -> Result<Vec<Delta>, ModelError> {
    let chunks = chunks.iter().map(Value::to_string).chain(["[DONE]".to_owned()]);
    let events: Vec<_> = chunks.map(|chunk| format!("data: {chunk}\n\n")).collect();
    read(&events.concat())
}

/// In small pieces: the form of the answer must not depend on where it is cut.
fn read(answer: &str) -> Result<Vec<Delta>, ModelError> {
    read_pieces::<ReplyReader>(answer.as_bytes().chunks(7))
}

fn piece(delta: &Value) -> Value {
    json!({ "id": "chatcmpl-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn end(reason: &str) -> Value {
    json!({ "id": "chatcmpl-1", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn started() -> Delta {
    Delta::Started {
        response_id: "chatcmpl-1".to_owned(),
    }
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
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

#[test]
fn text_and_reasoning_come_piece_by_piece_and_usage_before_the_end() {
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 20, "cost": 0.5,
        "prompt_tokens_details": { "cached_tokens": 64, "cache_write_tokens": 8 },
        "completion_tokens_details": { "reasoning_tokens": 12 },
    });
    let chunks = [
        piece(&json!({ "role": "assistant", "content": "" })),
        piece(&json!({ "reasoning_content": "hm" })),
        piece(&json!({ "reasoning": "m" })),
        piece(&json!({ "content": "Hel" })),
        piece(&json!({ "content": "lo" })),
        end("stop"),
        json!({ "id": "chatcmpl-1", "choices": [], "usage": usage }),
    ];
    let usage = Usage {
        prompt: Tokens(100),
        completion: Tokens(20),
        cache_read: Tokens(64),
        cache_write: Tokens(8),
        reasoning: Tokens(12),
        cost: "0.5".parse().ok(),
    };
    assert_eq!(
        deltas(&chunks).unwrap(),
        [
            started(),
            Delta::Reasoning("hm".to_owned()),
            Delta::Reasoning("m".to_owned()),
            text("Hel"),
            text("lo"),
            Delta::Usage(usage),
            Delta::Finished(FinishReason::Stop),
        ]
    );
}

#[test]
fn cached_tokens_are_found_wherever_a_server_puts_them() {
    for field in [
        "cached_tokens",
        "prompt_cache_hit_tokens",
        "cache_read_input_tokens",
    ] {
        let chunks = [
            end("stop"),
            json!({ "choices": null, "usage": { "prompt_tokens": 9, field: 5 } }),
        ];
        let found = deltas(&chunks)
            .unwrap()
            .into_iter()
            .find_map(|delta| match delta {
                Delta::Usage(usage) => Some(usage.cache_read),
                _ => None,
            });
        assert_eq!(found, Some(Tokens(5)), "{field}");
    }
}

#[test]
fn every_end_is_known() {
    let cases = [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
        ("tool_calls", FinishReason::ToolCalls),
        ("something new", FinishReason::Stop),
    ];
    for (word, reason) in cases {
        assert_eq!(
            deltas(&[end(word)]).unwrap(),
            [started(), Delta::Finished(reason)],
            "{word}"
        );
    }
}

/// Each case: pieces of calls as a server sends them, and the call each belongs to.
#[test]
fn pieces_of_parallel_calls_find_their_call() {
    let cases: &[(&str, Value, &[Delta])] = &[
        (
            "by index, one after the other",
            json!([
                { "index": 0, "id": "a", "function": { "name": "ls", "arguments": "" } },
                { "index": 0, "function": { "arguments": "{}" } },
                { "index": 1, "id": "b", "function": { "name": "cat", "arguments": "{" } },
                { "index": 1, "function": { "arguments": "}" } },
            ]),
            &[
                call(0, Some("a"), Some("ls"), ""),
                call(0, None, None, "{}"),
                call(1, Some("b"), Some("cat"), "{"),
                call(1, None, None, "}"),
            ],
        ),
        (
            "by index, in turns",
            json!([
                { "index": 0, "id": "a", "function": { "name": "ls" } },
                { "index": 1, "id": "b", "function": { "name": "cat" } },
                { "index": 0, "function": { "arguments": "1" } },
                { "index": 1, "function": { "arguments": "2" } },
            ]),
            &[
                call(0, Some("a"), Some("ls"), ""),
                call(1, Some("b"), Some("cat"), ""),
                call(0, None, None, "1"),
                call(1, None, None, "2"),
            ],
        ),
        (
            "the same index for each, told apart by id",
            json!([
                { "index": 0, "id": "a", "function": { "name": "ls", "arguments": "{}" } },
                { "index": 0, "id": "b", "function": { "name": "cat", "arguments": "{}" } },
            ]),
            &[
                call(0, Some("a"), Some("ls"), "{}"),
                call(1, Some("b"), Some("cat"), "{}"),
            ],
        ),
        (
            "no index at all",
            json!([
                { "id": "a", "function": { "name": "ls", "arguments": "{" } },
                { "function": { "arguments": "}" } },
                { "id": "b", "function": { "name": "cat", "arguments": "{}" } },
            ]),
            &[
                call(0, Some("a"), Some("ls"), "{"),
                call(0, None, None, "}"),
                call(1, Some("b"), Some("cat"), "{}"),
            ],
        ),
        (
            "neither index nor id",
            json!([
                { "function": { "name": "ls", "arguments": "{}" } },
                { "function": { "name": "cat", "arguments": "{}" } },
            ]),
            &[call(0, None, Some("ls"), "{}"), call(1, None, Some("cat"), "{}")],
        ),
        (
            "arguments that are JSON already",
            json!([{ "index": 0, "id": "a", "function": { "name": "ls", "arguments": { "x": 1 } } }]),
            &[call(0, Some("a"), Some("ls"), "{\"x\":1}")],
        ),
    ];
    for (what, pieces, expected) in cases {
        let mut chunks: Vec<Value> = pieces
            .as_array()
            .unwrap()
            .iter()
            .map(|call| piece(&json!({ "tool_calls": [call] })))
            .collect();
        // Even where the server says `stop`, calls are calls.
        chunks.push(end("stop"));
        let deltas = deltas(&chunks).unwrap();
        let (last, calls) = deltas[1..].split_last().unwrap();
        assert_eq!(calls, *expected, "{what}");
        assert_eq!(*last, Delta::Finished(FinishReason::ToolCalls), "{what}");
    }
}

#[test]
fn content_in_parts_is_text_and_reasoning() {
    let parts = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] },
        { "type": "text", "text": "Hello" },
    ]);
    let read = deltas(&[piece(&json!({ "content": parts })), end("stop")]).unwrap();
    assert_eq!(read[1..3], [Delta::Reasoning("hm".to_owned()), text("Hello")]);
}

#[test]
fn a_whole_reply_in_place_of_a_stream_is_read_too() {
    let reply = json!({
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Hello", "refusal": null,
            "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "ls", "arguments": "{}" } }],
        }}],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
    });
    let usage = Usage {
        prompt: Tokens(3),
        completion: Tokens(2),
        ..Usage::default()
    };
    assert_eq!(
        read(&format!("\n {reply:#}")).unwrap(),
        [
            started(),
            text("Hello"),
            call(0, Some("a"), Some("ls"), "{}"),
            Delta::Usage(usage),
            Delta::Finished(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn an_end_without_done_and_done_without_an_end_are_both_whole() {
    let chunk = piece(&json!({ "content": "Hi" }));
    let without_done = read(&format!("data: {chunk}\n\ndata: {}", end("stop"))).unwrap();
    let without_end = deltas(&[chunk]).unwrap();
    assert_eq!(without_done, without_end);
    assert_eq!(without_end.last(), Some(&Delta::Finished(FinishReason::Stop)));
}

#[test]
fn token_counts_that_are_cut_off_do_not_spoil_a_whole_reply() {
    let read = read(&format!("data: {}\n\ndata: {{\"usage\":{{\"prom", end("stop"))).unwrap();
    assert_eq!(read, [started(), Delta::Finished(FinishReason::Stop)]);
}

#[test]
fn empty_and_null_fields_mean_nothing() {
    let strange = json!({ "id": "", "choices": [{
        "finish_reason": "", "message": null,
        "delta": { "content": null, "tool_calls": [{ "index": 0, "id": "", "function": null }] },
    }], "usage": null, "error": null });
    let read = deltas(&[strange, piece(&json!({ "content": "Hi" })), end("length")]).unwrap();
    let finished = Delta::Finished(FinishReason::Length);
    assert_eq!(read, [call(0, None, None, ""), started(), text("Hi"), finished]);
}

#[test]
fn answers_that_are_no_replies_are_told_apart() {
    let chunk = piece(&json!({ "content": "Hi" }));
    let cut = format!("data: {chunk}\n\n");
    let cases = [
        ("nothing at all", "", "Network"),
        ("a stream that breaks off", &cut, "Network"),
        (
            "a stream cut within an event",
            "data: {\"choices\":[{\"del",
            "Network",
        ),
        ("an empty stream", "data: [DONE]\n\n", "Protocol"),
        ("other JSON", "{\"status\":\"up\"}", "Protocol"),
        ("a stream of no JSON", "data: hello\n\n", "Protocol"),
        ("a web page", "<!doctype html><title>Log in</title>", "Protocol"),
        (
            "an error in the stream",
            "data: {\"error\":{\"message\":\"busy\",\"code\":529}}\n\n",
            "Overloaded",
        ),
        (
            "an error in place of a reply",
            "{\"error\":{\"message\":\"no\",\"code\":\"invalid_api_key\"}}",
            "Authentication",
        ),
        (
            "an error of another form",
            "data: {\"object\":\"error\",\"message\":\"x\",\"code\":400}\n\n",
            "BadRequest",
        ),
    ];
    for (what, answer, variant) in cases {
        let error = format!("{:?}", read(answer).expect_err(what));
        assert!(error.starts_with(variant), "{what}: {error}");
    }
}

#[test]
fn an_endless_body_is_refused() {
    let mut reader = ReplyReader::default();
    assert_eq!(reader.feed(b"{"), Ok(vec![]));
    let error = reader.feed(&vec![b' '; MAX_EVENT_BYTES]).unwrap_err();
    assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
}

#[test]
fn any_answer_means_the_same_however_it_is_cut() {
    let data = [
        r#"[DONE]"#,
        r#"{"id":"a","choices":[{"delta":{"content":"ż"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"t","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"error":{"message":"overloaded"}}"#,
    ];
    let mut fragments = events(&data);
    fragments.push(r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#.to_owned());
    try_reader::<ReplyReader>(&fragments);
}

#[test]
fn signatures_are_kept_and_plain_reasoning_is_not_kept_twice() {
    let text = |text: &str, signature: Value| json!({ "type": "reasoning.text", "index": 0, "text": text, "signature": signature, "format": "f" });
    let thinking = |chunks: &[Value]| {
        let deltas = deltas(chunks).unwrap();
        deltas.into_iter().find_map(|delta| match delta {
            Delta::Thinking(block) => Some(json!(block)),
            _ => None,
        })
    };
    let secret = json!({ "type": "reasoning.encrypted", "index": 1, "data": "ZGF0YQ==" });
    let content = json!({ "google": { "thought_signature": "c2ln" } });
    let call = json!({ "index": 0, "id": "a", "function": { "name": "ls", "arguments": "{}" }, "extra_content": content });
    let block = thinking(&[
        piece(&json!({ "reasoning_details": [text("One, ", Value::Null)] })),
        piece(&json!({ "reasoning_details": [text("two.", Value::Null)] })),
        piece(&json!({ "reasoning_details": [text("", json!("c2ln")), secret] })),
        piece(&json!({ "tool_calls": [call] })),
        end("tool_calls"),
    ])
    .unwrap();
    assert_eq!(
        block["reasoning_details"],
        json!([text("One, two.", json!("c2ln")), secret])
    );
    assert_eq!(block["calls_extra_content"], json!({ "0": content }));

    let plain = thinking(&[
        piece(&json!({ "reasoning_details": [text("One.", Value::Null)], "content": "Hi." })),
        piece(&json!({ "reasoning_details": "of another form" })),
        end("stop"),
    ]);
    assert_eq!(plain, None);
}
