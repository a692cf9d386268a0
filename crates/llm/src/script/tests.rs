use std::sync::Arc;

use deft_types::{Extra, Message, ToolCall, ToolCallOrigin};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::*;
use crate::{FinishReason, Reply, ToolSchema, Usage, complete};

fn script(text: &str) -> ScriptModel {
    ScriptModel::parse(text, "test.yaml").unwrap()
}

fn request(messages: &[Arc<Message>]) -> Request {
    Request {
        messages: messages.to_vec().into(),
        tools: Arc::new([ToolSchema {
            name: "terminal".to_owned(),
            description: String::new(),
            parameters: json!({}),
        }]),
        cache_key: None,
    }
}

/// The reply to a conversation in which the assistant has had that many turns of text.
async fn turn(model: &ScriptModel, turns: usize) -> Result<Reply, ModelError> {
    let said = Arc::new(Message::text(Role::Assistant, "said"));
    complete(model, request(&vec![said; turns]), |_| ()).await
}

fn as_message(reply: &Reply) -> Arc<Message> {
    Arc::new(Message {
        tool_calls: Some(reply.tool_calls.clone()),
        ..Message::text(Role::Assistant, reply.text.clone())
    })
}

fn calls(reply: &Reply) -> Vec<(&str, &str)> {
    reply
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect()
}

#[tokio::test]
async fn a_step_is_a_reply_with_everything_it_names() {
    let model = script(
        r#"
- text: Looking.
  reasoning: Where am I?
  tool_calls:
    - name: terminal
      arguments: {command: "ls -l", timeout: 3}
    - {id: mine, name: think}
  usage: {prompt: 100, completion: 20, cache_read: 50, cache_write: 10, reasoning: 5}
  cost: 0.25
"#,
    );
    let reply = turn(&model, 0).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_deref()),
        ("Looking.", Some("Where am I?"))
    );
    assert_eq!(
        calls(&reply),
        [
            ("terminal", r#"{"command":"ls -l","timeout":3}"#),
            ("think", "{}")
        ]
    );
    assert_eq!(reply.tool_calls[1].id, "mine");
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    assert_eq!(reply.cost, "0.25".parse().ok());
    assert_eq!(
        reply.usage,
        Usage {
            prompt: Tokens(100),
            completion: Tokens(20),
            cache_read: Tokens(50),
            cache_write: Tokens(10),
            reasoning: Tokens(5),
            cost: "0.25".parse().ok(),
        }
    );
}

#[tokio::test]
async fn a_conversation_is_answered_by_its_length_whoever_asked_before() {
    let model = script("[{text: one}, {text: two}, {text: three}]");
    for turns in [1, 1, 0, 2] {
        let reply = turn(&model, turns).await.unwrap();
        assert_eq!(reply.text, ["one", "two", "three"][turns]);
    }
}

#[tokio::test]
async fn after_the_last_step_comes_finish_for_ever() {
    let model = script("[{text: one}]");
    for turns in [1, 2, 9] {
        assert_eq!(calls(&turn(&model, turns).await.unwrap())[0].0, "finish");
    }
}

#[tokio::test]
async fn a_condensed_history_goes_on_where_it_was() {
    let model = script("[{repeat: 9, tool_calls: [{name: terminal, arguments: {command: 'echo {{n}}'}}]}]");
    let mut last = turn(&model, 0).await.unwrap();
    for n in 2..=9 {
        // Only the last turn is left of all that were.
        last = complete(&model, request(&[as_message(&last)]), |_| ())
            .await
            .unwrap();
        assert_eq!(
            calls(&last),
            [("terminal", format!("{{\"command\":\"echo {n}\"}}").as_str())]
        );
    }
}

#[tokio::test]
async fn repeated_steps_are_numbered_in_every_string() {
    let model = script(
        "[{repeat: 2, text: 'step {{n}}', tool_calls: [{name: 't{{n}}', arguments: {a: ['{{n}}', {b: 'x{{n}}'}], c: 1}}]}]",
    );
    let reply = turn(&model, 1).await.unwrap();
    assert_eq!(reply.text, "step 2");
    assert_eq!(calls(&reply), [("t2", r#"{"a":["2",{"b":"x2"}],"c":1}"#)]);
    assert_eq!(calls(&turn(&model, 2).await.unwrap())[0].0, "finish");
}

#[tokio::test]
async fn malformed_arguments_are_passed_on_as_they_are() {
    let model = script(r#"[{tool_calls: [{name: terminal, arguments: "{\"command\": \"a\x01\tb"}]}]"#);
    assert_eq!(
        calls(&turn(&model, 0).await.unwrap()),
        [("terminal", "{\"command\": \"a\u{1}\tb")]
    );
}

#[tokio::test]
async fn an_empty_step_is_an_empty_reply() {
    let reply = turn(&script("[{}]"), 0).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("", 0));
    assert_eq!(reply.finish, FinishReason::Stop);
}

#[tokio::test]
async fn faults_happen_once_each_and_take_no_turn() {
    let model = script(
        r"
- text: one
- error: {status: 429, message: slow down, retry_after: 1.5}
- error: {kind: network}
  repeat: 2
- text: abcdef
  cut_after: 3
- text: two
- error: {kind: quota, message: empty}
",
    );
    assert_eq!(turn(&model, 0).await.unwrap().text, "one");
    let limit = turn(&model, 1).await.unwrap_err();
    assert_eq!(limit.retry_after(), Some(Duration::from_millis(1_500)));
    assert!(limit.to_string().contains("slow down"));
    for _ in 0..2 {
        assert!(matches!(
            turn(&model, 1).await.unwrap_err(),
            ModelError::Network { .. }
        ));
    }

    let mut seen = String::new();
    let said = Arc::new(Message::text(Role::Assistant, "said"));
    let cut = complete(&model, request(&[said]), |delta| {
        if let Delta::Text(text) = delta {
            seen.push_str(text);
        }
    });
    assert!(matches!(cut.await.unwrap_err(), ModelError::Network { .. }));
    assert_eq!(seen, "abc");

    assert_eq!(turn(&model, 1).await.unwrap().text, "two");
    assert_eq!(turn(&model, 1).await.unwrap().text, "two");
    assert!(matches!(
        turn(&model, 2).await.unwrap_err(),
        ModelError::Quota { .. }
    ));
    assert_eq!(calls(&turn(&model, 2).await.unwrap())[0].0, "finish");
}

#[tokio::test(start_paused = true)]
async fn a_stalled_step_never_answers() {
    let model = script("[{stall: true}, {text: two}]");
    assert!(timeout(Duration::from_hours(24), turn(&model, 0)).await.is_err());
    assert_eq!(turn(&model, 0).await.unwrap().text, "two");
}

#[tokio::test(start_paused = true)]
async fn delays_come_before_the_reply_and_between_its_pieces() {
    let model = script("[{text: 'about thirty letters of text..', delay_ms: 1000, chunk_delay_ms: 100}]");
    let start = Instant::now();
    let reply = turn(&model, 0).await.unwrap();
    assert_eq!(reply.text, "about thirty letters of text..");
    assert_eq!(start.elapsed(), Duration::from_millis(1_000 + 3 * 100));
}

#[tokio::test]
async fn a_request_that_offers_no_tools_gets_text() {
    let model = script("[{tool_calls: [{name: terminal}]}]");
    let reply = complete(&model, Request::default(), |_| ()).await.unwrap();
    assert_eq!((reply.tool_calls.len(), reply.finish), (0, FinishReason::Stop));
    assert!(!reply.text.is_empty());
}

#[test]
fn foreign_call_ids_do_not_confuse_the_count() {
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        responses_item_id: None,
        name: "terminal".to_owned(),
        arguments: String::new(),
        origin: ToolCallOrigin::Completion,
        extra: Extra::new(),
    };
    let message = Arc::new(Message {
        tool_calls: Some(vec![call("script-x-1"), call("script-99"), call("call_5")]),
        ..Message::text(Role::Assistant, "")
    });
    assert_eq!(turn_number(&request(&[message])), 1);
}

#[test]
fn a_broken_script_is_told_in_one_line_with_file_and_line() {
    let cases = [
        ("- text: one\n- txt: two\n", 2, "txt"),
        ("- text: one\n- text: 'two\n", 3, ""),
        ("text: one\n", 1, "sequence"),
        ("- text: one\n- stall: maybe\n", 2, "bool"),
        ("- text: one\n\n- stall: true\n  text: two\n", 3, "no reply"),
        ("- error: {}\n", 1, "`status` or a `kind`"),
        ("- error: {kind: nonsense}\n", 1, "nonsense"),
        ("- error: {status: 500}\n  stall: true\n", 1, "only one of"),
        ("- repeat: 1000000\n", 1, "100000 steps"),
    ];
    for (text, line, reason) in cases {
        let Err(error) = ScriptModel::parse(text, "my.yaml") else {
            panic!("{text} was accepted");
        };
        let message = error.to_string();
        assert!(message.contains("`my.yaml`"), "{message}");
        assert!(message.contains(&format!("line {line}:")), "{text}: {message}");
        assert!(message.contains(reason), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn a_missing_script_is_named() {
    let Err(error) = ScriptModel::read(Path::new("/no/such/script.yaml")) else {
        panic!("it was read");
    };
    assert!(error.to_string().contains("`/no/such/script.yaml`"), "{error}");
}

#[tokio::test]
async fn json_is_a_script_too_and_opens_by_name() {
    let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    fs::write(
        file.path(),
        r#"[{"text": "one", "tool_calls": [{"name": "x", "arguments": "\u0001{"}]}]"#,
    )
    .unwrap();
    let name = format!("script:{}", file.path().display());
    let model = crate::open(&name, &crate::ModelSettings::default()).unwrap();
    assert_eq!(model.profile().name, name);
    let reply = complete(&*model, request(&[]), |_| ()).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), calls(&reply)),
        ("one", vec![("x", "\u{1}{")])
    );
}
