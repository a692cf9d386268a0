use serde_json::json;

use super::*;
use crate::fuzz::{read_pieces, try_reader};

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn read(answer: &str, size: usize) -> Result<Vec<Delta>, ModelError> {
    read_pieces::<ReplyReader>(answer.as_bytes().chunks(size))
}

fn piece(message: &Value) -> Value {
    json!({ "model": "m", "created_at": "now", "message": message, "done": false })
}

fn end(reason: &str) -> Value {
    json!({
        "model": "m", "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": reason,
        "prompt_eval_count": 100, "eval_count": 20, "total_duration": 5,
    })
}

fn call(index: usize, id: Option<&str>, arguments: &str) -> Delta {
    Delta::ToolCall {
        index,
        id: id.map(str::to_owned),
        name: Some("ls".to_owned()),
        arguments: arguments.to_owned(),
        item_id: None,
    }
}

#[test]
fn a_reply_is_read_wherever_it_is_cut() {
    let answer = lines(&[
        piece(&json!({ "role": "assistant", "content": "", "thinking": "hm…" })),
        piece(&json!({ "role": "assistant", "content": "Grö" })),
        piece(&json!({ "role": "assistant", "content": "ße" })),
        piece(
            &json!({ "content": "", "tool_calls": [{ "function": { "index": 0, "name": "ls", "arguments": { "b": 1, "a": "ä" } } }] }),
        ),
        piece(&json!({ "content": "", "tool_calls": [{ "id": "call_7", "function": { "name": "ls" } }] })),
        end("stop"),
    ]);
    let usage = Usage {
        prompt: Tokens(100),
        completion: Tokens(20),
        ..Usage::default()
    };
    let expected = [
        Delta::Reasoning("hm…".to_owned()),
        Delta::Text("Grö".to_owned()),
        Delta::Text("ße".to_owned()),
        call(0, None, "{\"b\":1,\"a\":\"ä\"}"),
        call(1, Some("call_7"), "{}"),
        Delta::Usage(usage),
        Delta::Finished(FinishReason::ToolCalls),
    ];
    for size in 1..=answer.len() {
        assert_eq!(read(&answer, size).unwrap(), expected, "{size}");
    }
    // The last line break may be missing.
    assert_eq!(read(answer.trim_end(), 5).unwrap(), expected);
}

#[test]
fn every_end_is_known() {
    for (word, reason) in [
        ("stop", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("new", FinishReason::Stop),
    ] {
        let read = read(&lines(&[end(word)]), 9).unwrap();
        assert_eq!(read.last(), Some(&Delta::Finished(reason)), "{word}");
    }
}

#[test]
fn answers_that_are_no_replies_are_told_apart() {
    let cut = lines(&[piece(&json!({ "content": "Hal" }))]);
    let too_long = json!({ "error": "the input length exceeds the context length" });
    let cases = [
        ("nothing at all", String::new(), "Network"),
        ("a stream that breaks off", cut.clone(), "Network"),
        ("a stream cut within a line", format!("{cut}{{\"mess"), "Network"),
        (
            "a web page",
            "<!doctype html><title>Log in</title>".to_owned(),
            "Protocol",
        ),
        ("no JSON", "hello\n".to_owned(), "Protocol"),
        (
            "an error in the stream",
            lines(&[json!({ "error": "llama runner process has terminated" })]),
            "Unavailable",
        ),
        (
            "a prompt that does not fit",
            lines(&[too_long]),
            "ContextWindowExceeded",
        ),
    ];
    for (what, answer, variant) in cases {
        let error = format!("{:?}", read(&answer, 7).expect_err(what));
        assert!(error.starts_with(variant), "{what}: {error}");
    }
}

#[test]
fn an_endless_line_is_refused() {
    let mut reader = ReplyReader::default();
    assert_eq!(reader.feed(b"{"), Ok(vec![]));
    let error = reader.feed(&vec![b' '; MAX_EVENT_BYTES]).unwrap_err();
    assert!(matches!(error, ModelError::Protocol { .. }), "{error:?}");
}

#[test]
fn any_answer_means_the_same_however_it_is_cut() {
    let fragments = [
        "{\"message\":{\"content\":\"ż\"}}\n",
        "{\"message\":{\"thinking\":\"hm\"}}\n",
        "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"ls\",\"arguments\":{\"a\":1}}}]}}\n",
        "{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":3}\n",
        "{\"error\":\"busy\"}\n",
        "{\"to_come\":1}\n",
        "{",
        "}",
        "\n",
        "null",
        " ",
    ];
    try_reader::<ReplyReader>(&fragments);
}
