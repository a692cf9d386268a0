use deft_types::{ReasoningItem, Tokens};

use super::*;
use crate::fuzz::{events, read_pieces, try_reader};

/// Reads an answer in pieces of that size.
fn read(answer: &str, size: usize) -> Result<Vec<Delta>, ModelError> {
    read_pieces::<ReplyReader>(answer.as_bytes().chunks(size))
}

/// Reads it whole and cut in two at every byte, which must not matter.
fn deltas(answer: &str) -> Result<Vec<Delta>, ModelError> {
    let expected = read(answer, answer.len());
    for size in 1..answer.len() {
        assert_eq!(read(answer, size), expected, "pieces of {size}");
    }
    expected
}

fn stream(events: &[Value]) -> String {
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(line).collect()
}

fn created() -> Value {
    json!({ "type": "response.created", "response": { "id": "resp_1", "status": "in_progress", "output": [] } })
}

fn added(index: usize, item: &Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": index, "item": item })
}

fn done(index: usize, item: &Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": index, "item": item })
}

fn piece(kind: &str, index: usize, delta: &str) -> Value {
    json!({ "type": format!("response.{kind}.delta"), "output_index": index, "item_id": "x", "delta": delta })
}

fn completed(output: &[Value]) -> Value {
    json!({ "type": "response.completed", "response": { "id": "resp_1", "status": "completed", "output": output, "usage": {
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 60 },
        "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 5 }, "total_tokens": 120,
    } } })
}

fn function_call(id: &str, arguments: &str) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"), "name": "ls",
        "arguments": arguments, "status": "completed",
    })
}

fn reasoning_item(id: &str) -> Value {
    json!({
        "type": "reasoning", "id": id, "encrypted_content": "gAAA",
        "summary": [{ "type": "summary_text", "text": "Hm." }, { "type": "summary_text", "text": "So." }],
    })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

fn thought(text: &str) -> Delta {
    Delta::Reasoning(text.to_owned())
}

fn started() -> Delta {
    Delta::Started {
        response_id: "resp_1".to_owned(),
    }
}

fn call(index: usize, id: &str, arguments: &str) -> Delta {
    Delta::ToolCall {
        index,
        id: Some(format!("call_{id}")),
        name: Some("ls".to_owned()),
        arguments: arguments.to_owned(),
        item_id: Some(format!("fc_{id}")),
    }
}

fn more(index: usize, arguments: &str) -> Delta {
    Delta::ToolCall {
        index,
        id: None,
        name: None,
        arguments: arguments.to_owned(),
        item_id: None,
    }
}

fn usage() -> Delta {
    Delta::Usage(Usage {
        prompt: Tokens(100),
        completion: Tokens(20),
        cache_read: Tokens(60),
        reasoning: Tokens(5),
        ..Usage::default()
    })
}

fn kept(id: &str) -> ReasoningItem {
    ReasoningItem {
        id: Some(id.to_owned()),
        summary: vec!["Hm.".to_owned(), "So.".to_owned()],
        encrypted_content: Some("gAAA".to_owned()),
        ..ReasoningItem::default()
    }
}

#[test]
fn a_streamed_reply_with_reasoning_text_and_calls() {
    let summary = |index: usize, delta: &str| {
        json!({
            "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": index,
            "item_id": "rs_1", "delta": delta,
        })
    };
    let (reasoning, said) = (reasoning_item("rs_1"), message("Grüße. 👋"));
    let (first, second) = (function_call("a", "{\"a\":1}"), function_call("b", "{}"));
    let answer = stream(&[
        created(),
        json!({ "type": "response.in_progress", "response": { "id": "resp_1" } }),
        added(0, &json!({ "type": "reasoning", "id": "rs_1", "summary": [] })),
        summary(0, "H"),
        summary(0, "m."),
        summary(1, "So."),
        done(0, &reasoning),
        added(1, &json!({ "type": "message", "id": "msg_1", "content": [] })),
        piece("output_text", 1, "Grüße. "),
        piece("output_text", 1, "👋"),
        done(1, &said),
        added(2, &function_call("a", "")),
        added(3, &function_call("b", "")),
        piece("function_call_arguments", 2, "{\"a\""),
        piece("function_call_arguments", 3, "{}"),
        piece("function_call_arguments", 2, ":1}"),
        json!({ "type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"a\":1}" }),
        done(2, &first),
        done(3, &second),
        completed(&[reasoning, said, first.clone(), second.clone()]),
    ]);
    assert_eq!(
        deltas(&answer).unwrap(),
        [
            started(),
            thought("H"),
            thought("m."),
            thought("\n\n"),
            thought("So."),
            text("Grüße. "),
            text("👋"),
            call(0, "a", ""),
            call(1, "b", ""),
            more(0, "{\"a\""),
            more(1, "{}"),
            more(0, ":1}"),
            Delta::ReasoningItem(kept("rs_1")),
            usage(),
            Delta::Finished(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn what_a_server_does_not_stream_is_taken_from_the_items() {
    let expected = vec![
        started(),
        thought("Hm."),
        thought("\n\n"),
        thought("So."),
        text("Hi."),
        call(0, "a", "{}"),
        Delta::ReasoningItem(kept("rs_1")),
        usage(),
        Delta::Finished(FinishReason::ToolCalls),
    ];
    let items = [reasoning_item("rs_1"), message("Hi."), function_call("a", "{}")];

    let only_done = stream(&[
        created(),
        done(0, &items[0]),
        done(1, &items[1]),
        done(2, &items[2]),
        completed(&items),
    ]);
    assert_eq!(deltas(&only_done).unwrap(), expected);
    let only_completed = stream(&[created(), completed(&items)]);
    assert_eq!(deltas(&only_completed).unwrap(), expected);
    let not_streamed = completed(&items)["response"].to_string();
    assert_eq!(deltas(&not_streamed).unwrap(), expected);
}

#[test]
fn a_call_that_is_announced_late_loses_nothing() {
    let answer = stream(&[
        piece("function_call_arguments", 0, "{\"a\""),
        done(0, &function_call("a", "{\"a\":1}")),
        completed(&[]),
    ]);
    assert_eq!(
        deltas(&answer).unwrap()[..2],
        [more(0, "{\"a\""), call(0, "a", ":1}")]
    );
}

#[test]
fn items_are_found_by_id_where_they_have_no_place() {
    let answer = stream(&[
        json!({ "type": "response.output_item.added", "item": function_call("a", "") }),
        json!({ "type": "response.output_item.added", "item": function_call("b", "") }),
        json!({ "type": "response.function_call_arguments.delta", "item_id": "fc_a", "delta": "1" }),
        json!({ "type": "response.output_item.done", "item": function_call("b", "22") }),
        completed(&[]),
    ]);
    assert_eq!(
        deltas(&answer).unwrap()[..4],
        [call(0, "a", ""), call(1, "b", ""), more(0, "1"), more(1, "22")]
    );
}

#[test]
fn reasoning_between_calls_keeps_its_place() {
    let answer = stream(&[
        done(0, &reasoning_item("rs_1")),
        done(1, &message("Hi.")),
        done(2, &reasoning_item("rs_2")),
        done(3, &function_call("a", "{}")),
        done(4, &reasoning_item("rs_3")),
        done(5, &function_call("b", "{}")),
        completed(&[]),
    ]);
    let kept_items: Vec<_> = deltas(&answer)
        .unwrap()
        .into_iter()
        .filter_map(|delta| match delta {
            Delta::ReasoningItem(item) => Some(reasoning::split(&item)),
            _ => None,
        })
        .collect();
    let placed = |id: &str, calls_before| Placed {
        calls_before,
        item: kept(id),
    };
    assert_eq!(
        kept_items,
        [[
            placed("rs_1", None),
            placed("rs_2", Some(0)),
            placed("rs_3", Some(1))
        ]]
    );
}

#[test]
fn texts_of_their_own_are_paragraphs_and_a_refusal_is_text() {
    let answer = stream(&[
        piece("output_text", 0, "One."),
        piece("refusal", 1, "I cannot."),
        completed(&[]),
    ]);
    let all = deltas(&answer).unwrap();
    assert_eq!(all[..3], [text("One."), text("\n\n"), text("I cannot.")]);
    assert_eq!(all.last(), Some(&Delta::Finished(FinishReason::Stop)));
}

#[test]
fn a_reply_that_was_cut_short_says_so() {
    for (reason, expected) in [
        ("max_output_tokens", FinishReason::Length),
        ("content_filter", FinishReason::ContentFilter),
    ] {
        let answer = stream(&[
            piece("output_text", 0, "Hal"),
            json!({ "type": "response.incomplete", "response": {
                "status": "incomplete", "incomplete_details": { "reason": reason }, "output": [],
            } }),
        ]);
        assert_eq!(
            deltas(&answer).unwrap(),
            [text("Hal"), Delta::Finished(expected)],
            "{reason}"
        );
    }
}

#[test]
fn failures_within_the_stream_are_sorted() {
    let failed = |code: &str, message: &str| {
        json!({ "type": "response.failed", "response": {
            "id": "resp_1", "status": "failed", "error": { "code": code, "message": message },
        } })
    };
    let error = |json: Value| deltas(&stream(&[created(), json])).unwrap_err();

    let window = error(failed(
        "context_length_exceeded",
        "Your input exceeds the context window",
    ));
    assert!(
        matches!(window, ModelError::ContextWindowExceeded { .. }),
        "{window:?}"
    );
    let limit = error(failed("rate_limit_exceeded", "Rate limit reached"));
    assert!(matches!(limit, ModelError::RateLimit { .. }), "{limit:?}");
    let server = error(failed("server_error", "Sorry"));
    assert!(matches!(server, ModelError::Unavailable { .. }), "{server:?}");
    let silent = error(json!({ "type": "response.failed", "response": { "error": null } }));
    assert!(matches!(silent, ModelError::Unavailable { .. }), "{silent:?}");
    let flat = error(json!({ "type": "error", "code": "insufficient_quota", "message": "No more" }));
    assert!(matches!(flat, ModelError::Quota { .. }), "{flat:?}");
    let nested =
        error(json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "Bad" } }));
    assert!(matches!(nested, ModelError::BadRequest { .. }), "{nested:?}");
}

#[test]
fn an_answer_that_breaks_off_is_a_network_failure() {
    let whole = stream(&[created(), piece("output_text", 0, "Hal"), completed(&[])]);
    let cut = &whole[..whole.len() - 20];
    for answer in ["", cut, &stream(&[created()])] {
        let error = read(answer, 1_000).unwrap_err();
        assert!(matches!(error, ModelError::Network { .. }), "{error:?}");
    }
}

#[test]
fn what_is_no_response_is_named() {
    for answer in [
        "{\"hello\":1}",
        "<html><title>Login</title></html>",
        "data: {\n\n",
    ] {
        let error = deltas(answer).unwrap_err();
        assert!(
            matches!(error, ModelError::Protocol { .. }),
            "{answer}: {error:?}"
        );
    }
}

#[test]
fn unknown_events_are_skipped_and_nothing_counts_after_the_end() {
    let answer = stream(&[
        json!({ "type": "response.audio.delta", "delta": { "odd": true } }),
        done(0, &json!({ "type": "web_search_call", "id": "ws_1" })),
        json!({ "type": "keepalive", "sequence_number": 3 }),
        piece("output_text", 1, "Hi."),
        completed(&[]),
        json!({ "type": "error", "message": "late" }),
    ]) + "data: [DONE]\n\n";
    assert_eq!(
        deltas(&answer).unwrap(),
        [
            text("Hi."),
            started(),
            usage(),
            Delta::Finished(FinishReason::Stop)
        ]
    );
}

#[test]
fn endless_items_are_refused() {
    let events: Vec<_> = (0..=MAX_ITEMS).map(|index| done(index, &message(""))).collect();
    let error = read(&stream(&events), 10_000).unwrap_err();
    assert!(error.to_string().contains("1024 items"), "{error}");
}

#[test]
fn any_answer_means_the_same_however_it_is_cut() {
    let data = [
        r#"{"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"ż"}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"ls"}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"f","delta":"{"}"#,
        r#"{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{}"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"reasoning","id":"x","encrypted_content":"e","summary":[]}}"#,
        r#"{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":3}}}"#,
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
        r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"no"}}}"#,
        r#"{"type":"to_come","output_index":7}"#,
        r#"{"type":"error","message":"busy"}"#,
    ];
    try_reader::<ReplyReader>(&events(&data));
}
