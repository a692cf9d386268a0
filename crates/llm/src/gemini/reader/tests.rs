use deft_types::{Message, Role};
use serde_json::json;

use super::*;
use crate::fuzz::{events as events_of, read_pieces, try_reader};

fn events(chunks: &[Value]) -> String {
    chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect()
}

fn read(answer: &str, size: usize) -> Result<Vec<Delta>, ModelError> {
    read_pieces::<ReplyReader>(answer.as_bytes().chunks(size))
}

fn deltas(chunks: &[Value]) -> Result<Vec<Delta>, ModelError> {
    read(&events(chunks), usize::MAX)
}

fn parts(parts: &Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }], "responseId": "r-1" })
}

fn end(reason: &str) -> Value {
    json!({ "candidates": [{ "content": { "parts": [{ "text": "" }], "role": "model" }, "finishReason": reason }] })
}

fn started() -> Delta {
    Delta::Started {
        response_id: "r-1".to_owned(),
    }
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

#[test]
fn the_same_deltas_come_wherever_the_answer_is_cut() {
    let answer = events(&[
        parts(&json!([{ "text": "hm…", "thought": true }])),
        parts(
            &json!([{ "text": "Größe" }, { "functionCall": { "name": "ls", "args": { "p": "ä" }, "id": "fc-1" } }]),
        ),
        end("STOP"),
    ]);
    let whole = read(&answer, usize::MAX).unwrap();
    assert_eq!(whole.len(), 5);
    for size in 1..answer.len() {
        assert_eq!(read(&answer, size).unwrap(), whole, "{size}");
    }
}

#[test]
fn text_thoughts_and_usage_are_told_apart() {
    let usage = json!({ "candidates": [{ "finishReason": "STOP" }], "usageMetadata": {
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 20,
        "thoughtsTokenCount": 7, "toolUsePromptTokenCount": 3, "totalTokenCount": 130,
    } });
    let read = deltas(&[
        parts(&json!([{ "text": "hm", "thought": true }])),
        parts(&json!([{ "text": "Hel" }])),
        parts(&json!([{ "text": "lo" }])),
        usage,
    ])
    .unwrap();
    let usage = Usage {
        prompt: Tokens(103),
        completion: Tokens(27),
        cache_read: Tokens(60),
        cache_write: Tokens(0),
        reasoning: Tokens(7),
        cost: None,
    };
    assert_eq!(
        read,
        [
            started(),
            Delta::Reasoning("hm".to_owned()),
            text("Hel"),
            text("lo"),
            Delta::Usage(usage),
            Delta::Finished(FinishReason::Stop),
        ]
    );
}

#[test]
fn calls_get_ids_that_carry_their_signatures() {
    let read = deltas(&[
        parts(&json!([
            { "functionCall": { "name": "ls", "args": { "b": 1, "a": 2 }, "id": "fc-1" }, "thoughtSignature": "c2ln+/=" },
            { "functionCall": { "name": "ls" } },
        ])),
        end("STOP"),
    ])
    .unwrap();
    let calls: Vec<_> = read
        .iter()
        .filter_map(|delta| match delta {
            Delta::ToolCall {
                index,
                id,
                name,
                arguments,
                ..
            } => Some((*index, id.clone()?, name.clone()?, arguments.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls[0],
        (
            0,
            "fc-1__thought__c2ln+/=".to_owned(),
            "ls".to_owned(),
            "{\"b\":1,\"a\":2}"
        )
    );
    assert_eq!((calls[1].0, calls[1].3), (1, "{}"));
    assert!(
        calls[1].1.starts_with("call_") && !calls[1].1.contains("__thought__"),
        "{}",
        calls[1].1
    );
    assert_eq!(read.last(), Some(&Delta::Finished(FinishReason::ToolCalls)));
}

#[test]
fn signed_text_is_kept_as_it_came_with_its_place() {
    let signed = json!({ "text": "", "thoughtSignature": "c2ln" });
    let read = deltas(&[parts(&json!([{ "text": "Hello" }, signed])), end("STOP")]).unwrap();
    let mut message = Message::text(Role::Assistant, "Hello");
    message.thinking_blocks = read
        .into_iter()
        .filter_map(|delta| match delta {
            Delta::Thinking(block) => Some(block),
            _ => None,
        })
        .collect();
    assert_eq!(signed_part::kept(&message, "Hello"), [(5..5, &signed)]);
    // A text that is no longer the same still goes with its signature.
    assert_eq!(signed_part::kept(&message, "Hi"), [(2..2, &signed)]);
}

#[test]
fn every_end_is_known() {
    let some = parts(&json!([{ "text": "Hi" }]));
    let cases = [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::ContentFilter),
        ("RECITATION", FinishReason::ContentFilter),
        ("OTHER", FinishReason::Stop),
        ("SOMETHING_NEW", FinishReason::Stop),
    ];
    for (word, reason) in cases {
        let read = deltas(&[some.clone(), end(word)]).unwrap();
        assert_eq!(read, [started(), text("Hi"), Delta::Finished(reason)], "{word}");
    }
}

#[test]
fn answers_that_are_no_replies_are_told_apart() {
    let blocked = json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" } });
    let overloaded =
        json!({ "error": { "code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE" } });
    let malformed = json!({ "candidates": [{ "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed: ls(" }] });
    let cut = events(&[parts(&json!([{ "text": "Hal" }]))]);
    let cases = [
        ("nothing at all", String::new(), "Network"),
        ("a stream that breaks off", cut.clone(), "Network"),
        (
            "a stream cut within an event",
            format!("{cut}data: {{\"candi"),
            "Network",
        ),
        ("a stream of no JSON", "data: hello\n\n".to_owned(), "Protocol"),
        (
            "a web page",
            "<!doctype html><title>Log in</title>".to_owned(),
            "Protocol",
        ),
        ("a blocked prompt", events(&[blocked]), "ContentPolicy"),
        ("a withheld reply", events(&[end("SAFETY")]), "ContentPolicy"),
        ("an error in the stream", events(&[overloaded]), "Overloaded"),
        ("a call that nobody can read", events(&[malformed]), "Unavailable"),
        (
            "a lost signature",
            events(&[end("MISSING_THOUGHT_SIGNATURE")]),
            "MalformedHistory",
        ),
    ];
    for (what, answer, variant) in cases {
        let error = format!("{:?}", read(&answer, 7).expect_err(what));
        assert!(error.starts_with(variant), "{what}: {error}");
    }
}

#[test]
fn any_answer_means_the_same_however_it_is_cut() {
    let data = [
        r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"ż"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c","name":"ls","args":{"a":1}}}]}}]}"#,
        r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}"#,
        r#"{"candidates":[{"finishReason":"SAFETY"}]}"#,
        r#"{"promptFeedback":{"blockReason":"OTHER"}}"#,
        r#"{"toCome":[{}]}"#,
        r#"{"error":{"code":503,"message":"busy"}}"#,
    ];
    let mut fragments = events_of(&data);
    fragments
        .push(r#"{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}"#.to_owned());
    try_reader::<ReplyReader>(&fragments);
}
