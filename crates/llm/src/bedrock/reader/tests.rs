use deft_types::{Extra, RedactedThinkingBlock, SignedThinking, ThinkingBlock, Tokens};
use serde_json::{Value, json};

use super::super::frame::tests::frame;
use super::*;
use crate::FinishReason;
use crate::fuzz::try_reader;

fn event(kind: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":event-type", kind),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, payload.to_string().as_bytes())
}

fn piece(index: u64, delta: &Value) -> Vec<u8> {
    event(
        "contentBlockDelta",
        &json!({ "contentBlockIndex": index, "delta": delta, "p": "abc" }),
    )
}

fn start(index: u64, id: &str, name: &str) -> Vec<u8> {
    let start = json!({ "toolUse": { "toolUseId": id, "name": name } });
    event(
        "contentBlockStart",
        &json!({ "contentBlockIndex": index, "start": start }),
    )
}

fn stop(index: u64) -> Vec<u8> {
    event("contentBlockStop", &json!({ "contentBlockIndex": index }))
}

fn end(reason: &str) -> Vec<u8> {
    event("messageStop", &json!({ "stopReason": reason }))
}

fn metadata() -> Vec<u8> {
    let usage = json!({
        "inputTokens": 10, "outputTokens": 42, "totalTokens": 3252,
        "cacheReadInputTokens": 3000, "cacheWriteInputTokens": 200,
    });
    event(
        "metadata",
        &json!({ "usage": usage, "metrics": { "latencyMs": 7 } }),
    )
}

fn read_in_two(bytes: &[u8], cut: usize) -> Result<Vec<Delta>, ModelError> {
    let mut reader = ReplyReader::default();
    let mut deltas = reader.feed(&bytes[..cut])?;
    deltas.extend(reader.feed(&bytes[cut..])?);
    deltas.extend(reader.finish()?);
    Ok(deltas)
}

fn read(frames: &[Vec<u8>]) -> Result<Vec<Delta>, ModelError> {
    let bytes = frames.concat();
    read_in_two(&bytes, bytes.len())
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
fn a_stream_of_every_kind_of_block_reads_alike_wherever_it_is_cut() {
    let bytes = [
        event("messageStart", &json!({ "role": "assistant" })),
        piece(0, &json!({ "reasoningContent": { "text": "Let me " } })),
        piece(0, &json!({ "reasoningContent": { "text": "grübeln." } })),
        piece(0, &json!({ "reasoningContent": { "signature": "c2ln" } })),
        stop(0),
        piece(
            1,
            &json!({ "reasoningContent": { "redactedContent": "ZGF0YQ==" } }),
        ),
        stop(1),
        piece(2, &json!({ "text": "Two calls 🙂" })),
        stop(2),
        start(3, "tooluse_1", "terminal"),
        piece(3, &json!({ "toolUse": { "input": "{\"command\":" } })),
        piece(3, &json!({ "toolUse": { "input": "\"ls\"}" } })),
        stop(3),
        start(4, "tooluse_2", "finish"),
        stop(4),
        event("ofALaterVersion", &json!({})),
        end("tool_use"),
        metadata(),
    ]
    .concat();
    let expected = vec![
        Delta::Reasoning("Let me ".to_owned()),
        Delta::Reasoning("grübeln.".to_owned()),
        Delta::Thinking(ThinkingBlock::Thinking(SignedThinking {
            thinking: "Let me grübeln.".to_owned(),
            signature: Some("c2ln".to_owned()),
            extra: Extra::new(),
        })),
        Delta::Thinking(ThinkingBlock::RedactedThinking(RedactedThinkingBlock {
            data: "ZGF0YQ==".to_owned(),
            extra: Extra::new(),
        })),
        Delta::Text("Two calls 🙂".to_owned()),
        call(0, Some("tooluse_1"), Some("terminal"), ""),
        call(0, None, None, "{\"command\":"),
        call(0, None, None, "\"ls\"}"),
        call(1, Some("tooluse_2"), Some("finish"), ""),
        call(1, None, None, "{}"),
        Delta::Usage(Usage {
            prompt: Tokens(3210),
            completion: Tokens(42),
            cache_read: Tokens(3000),
            cache_write: Tokens(200),
            ..Usage::default()
        }),
        Delta::Finished(FinishReason::ToolCalls),
    ];
    for cut in 0..=bytes.len() {
        assert_eq!(read_in_two(&bytes, cut).unwrap(), expected, "{cut}");
    }
}

#[test]
fn each_stop_reason_means_one_end() {
    let cases = [
        ("end_turn", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("max_tokens", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("guardrail_intervened", FinishReason::ContentFilter),
        ("content_filtered", FinishReason::ContentFilter),
    ];
    for (word, expected) in cases {
        let deltas = read(&[piece(0, &json!({ "text": "Hi" })), end(word)]).unwrap();
        assert_eq!(deltas.last(), Some(&Delta::Finished(expected)), "{word}");
    }
    let malformed = read(&[end("malformed_tool_use")]).unwrap_err();
    assert!(matches!(malformed, ModelError::Protocol { .. }), "{malformed:?}");
}

type Is = fn(&ModelError) -> bool;

#[test]
fn exceptions_within_a_stream_are_told_apart() {
    let cases: [(&str, &str, Is); 8] = [
        ("throttlingException", "Too many tokens", |e| {
            matches!(e, ModelError::RateLimit { .. })
        }),
        ("serviceUnavailableException", "Busy", |e| {
            matches!(e, ModelError::Overloaded { .. })
        }),
        ("internalServerException", "Oops", |e| {
            matches!(e, ModelError::Unavailable { .. })
        }),
        ("modelStreamErrorException", "The model failed", |e| {
            matches!(e, ModelError::Unavailable { .. })
        }),
        ("modelTimeoutException", "Slow", |e| {
            matches!(e, ModelError::Timeout { .. })
        }),
        ("accessDeniedException", "Not yours", |e| {
            matches!(e, ModelError::Permission { .. })
        }),
        (
            "validationException",
            "Input is too long for requested model.",
            |e| matches!(e, ModelError::ContextWindowExceeded { .. }),
        ),
        ("validationException", "Malformed input", |e| {
            matches!(e, ModelError::BadRequest { .. })
        }),
    ];
    for (name, message, is) in cases {
        let headers = [(":message-type", "exception"), (":exception-type", name)];
        let payload = json!({ "message": message }).to_string();
        let error = read(&[
            piece(0, &json!({ "text": "Hal" })),
            frame(&headers, payload.as_bytes()),
        ])
        .unwrap_err();
        assert!(
            is(&error) && error.to_string().contains(message),
            "{name}: {error:?}"
        );
    }
    // The framing has a form of its own for errors, without a payload.
    let headers = [
        (":message-type", "error"),
        (":error-code", "ThrottlingException"),
        (":error-message", "Slow down"),
    ];
    let error = read(&[frame(&headers, b"")]).unwrap_err();
    assert!(
        matches!(error, ModelError::RateLimit { .. }) && error.to_string().contains("Slow down"),
        "{error:?}"
    );
}

#[test]
fn a_reply_that_breaks_off_is_a_network_failure_unless_it_was_whole() {
    let said = piece(0, &json!({ "text": "Hi" }));
    let whole = [said.clone(), end("end_turn")].concat();
    let bytes = [whole.clone(), metadata()].concat();
    for cut in 0..bytes.len() {
        let result = read(&[bytes[..cut].to_vec()]);
        if cut >= whole.len() {
            assert_eq!(result.unwrap().last(), Some(&Delta::Finished(FinishReason::Stop)));
        } else {
            let error = result.unwrap_err();
            assert!(matches!(error, ModelError::Network { .. }), "{cut}: {error:?}");
        }
    }
}

#[test]
fn what_is_no_event_stream_is_said_to_be_none() {
    let error = read(&[b"<html>a gateway's page</html>".to_vec()]).unwrap_err();
    assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
    let error = read(&[event("messageStop", &json!({ "stopReason": 7 }))]).unwrap_err();
    assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
}

#[test]
fn any_answer_means_the_same_however_it_is_cut() {
    let mut fragments = vec![
        event("messageStart", &json!({ "role": "assistant" })),
        piece(0, &json!({ "text": "ż" })),
        piece(2, &json!({ "reasoningContent": { "text": "hm" } })),
        piece(2, &json!({ "reasoningContent": { "signature": "s" } })),
        start(1, "t", "ls"),
        piece(1, &json!({ "toolUse": { "input": "{" } })),
        stop(1),
        stop(2),
        end("end_turn"),
        end("tool_use"),
        metadata(),
        event("toCome", &json!({ "x": 1 })),
    ];
    // Half a frame spoils what follows it, so there are few.
    fragments.push(end("end_turn")[..9].to_vec());
    try_reader::<ReplyReader>(&fragments);
}
