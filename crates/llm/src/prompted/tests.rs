use deft_types::{Content, Extra, ImageContent, Message, Role, ToolCall, ToolCallOrigin};
use futures::stream;
use serde_json::json;

use super::*;
use crate::{Prices, Reply, ToolSchema, complete};

/// Says what it is told to say, and keeps what it was asked.
struct Parrot {
    profile: ModelProfile,
    deltas: Vec<Delta>,
}

impl Model for Parrot {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        assert!(request.tools.is_empty(), "it has no tool calls of its own");
        stream::iter(self.deltas.clone().into_iter().map(Ok)).boxed()
    }
}

fn tools() -> Arc<[ToolSchema]> {
    Arc::new([ToolSchema {
        name: "terminal".to_owned(),
        description: " Runs a command. ".to_owned(),
        parameters: json!({ "type": "object", "required": ["command"], "properties": {
            "command": { "type": "string", "description": "What to run." },
            "mode": { "type": ["string", "null"], "enum": ["a", "b"] },
            "range": { "type": "array", "items": { "type": "integer" } },
        } }),
    }])
}

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn calling(text: &str, arguments: &str) -> Message {
    let mut message = Message::text(Role::Assistant, text);
    message.tool_calls = Some(vec![ToolCall {
        id: "call_1".to_owned(),
        responses_item_id: None,
        name: "terminal".to_owned(),
        arguments: arguments.to_owned(),
        origin: ToolCallOrigin::Completion,
        extra: Extra::new(),
    }]);
    message
}

fn result(text: &str) -> Message {
    let mut message = Message::text(Role::Tool, text);
    message.tool_call_id = Some("call_1".to_owned());
    message.name = Some("terminal".to_owned());
    message
}

fn request(messages: &[Message]) -> Request {
    Request {
        messages: messages.iter().cloned().map(Arc::new).collect(),
        tools: tools(),
        cache_key: Some("conversation-1".to_owned()),
    }
}

async fn answer(deltas: Vec<Delta>) -> Reply {
    let profile = ModelProfile {
        name: "parrot".to_owned(),
        context_window: None,
        max_output: None,
        prices: Some(Prices::FREE),
        capabilities: crate::Capabilities {
            vision: false,
            ..crate::Capabilities::default()
        },
    };
    let model = PromptedModel(Arc::new(Parrot { profile, deltas }));
    complete(&model, request(&[user("List it.")]), |_| ())
        .await
        .unwrap()
}

fn said(text: &str, finish: FinishReason) -> Vec<Delta> {
    let pieces = text
        .split_inclusive(' ')
        .map(|piece| Delta::Text(piece.to_owned()));
    pieces.chain([Delta::Finished(finish)]).collect()
}

const CALL: &str = "I look. <function=terminal>\n<parameter=command>ls -l</parameter>\n</function>";

#[tokio::test]
async fn a_call_in_the_text_is_a_call_and_not_text() {
    let reply = answer(said(CALL, FinishReason::Stop)).await;
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("I look.", FinishReason::ToolCalls)
    );
    let [call] = reply.tool_calls.as_slice() else {
        panic!("{reply:?}")
    };
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("terminal", r#"{"command":"ls -l"}"#)
    );
    assert!(call.id.starts_with("call_"));
}

#[tokio::test]
async fn a_call_that_the_limit_cut_off_cannot_run() {
    let cut = CALL.strip_suffix("-l</parameter>\n</function>").unwrap();
    let reply = answer(said(cut, FinishReason::Length)).await;
    assert_eq!(reply.finish, FinishReason::Length);
    let [call] = reply.tool_calls.as_slice() else {
        panic!("{reply:?}")
    };
    assert_eq!(call.name, "terminal");
    assert!(
        serde_json::from_str::<serde_json::Value>(&call.arguments).is_err(),
        "{call:?}"
    );
}

#[tokio::test]
async fn words_alone_stay_words() {
    let reply = answer(said("Nothing to do. ", FinishReason::Stop)).await;
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("Nothing to do. ", FinishReason::Stop)
    );
    assert!(reply.tool_calls.is_empty());
}

#[tokio::test]
async fn a_model_that_imagines_results_is_stopped_and_its_tokens_are_estimated() {
    let mut deltas = said(CALL, FinishReason::Stop);
    deltas.pop();
    deltas.extend(std::iter::repeat_n(
        Delta::Text("And then I saw. ".to_owned()),
        1_000,
    ));
    // There is no end to it: waiting for one would be a failure.
    let reply = answer(deltas).await;
    assert_eq!(
        (reply.tool_calls.len(), reply.finish),
        (1, FinishReason::ToolCalls)
    );
    assert!(
        reply.usage.prompt.0 > 100 && reply.usage.completion.0 > 100,
        "{:?}",
        reply.usage
    );
}

#[test]
fn the_system_message_describes_tools_and_the_form() {
    let with_system = history::as_text(&request(&[Message::text(Role::System, "Be good."), user("Hi")]));
    let without = history::as_text(&request(&[user("Hi")]));
    let text = with_system.messages[0].plain_text();
    assert_eq!(text, format!("Be good.\n{}", without.messages[0].plain_text()));
    let tools = text.split_once("# Tools\n").unwrap().1;
    assert_eq!(
        tools,
        "\n## 1. terminal\n\nRuns a command.\n\nParameters:\n\
         1. command (string, required): What to run.\n\
         2. mode (string or null, optional):  One of [\"a\",\"b\"].\n\
         3. range (array, optional):  JSON schema: {\"items\":{\"type\":\"integer\"}}\n"
    );
    assert!(text.contains("<function=NAME_OF_THE_TOOL>\n<parameter=NAME_OF_A_PARAMETER>value</parameter>"));
}

#[test]
fn calls_and_results_are_told_in_words() {
    let image = Content::Image(ImageContent {
        image_urls: vec!["data:image/png;base64,AA".to_owned()],
        ..ImageContent::default()
    });
    let mut seen = result("a\nb");
    seen.content.push(image.clone());
    let told = history::as_text(&request(&[
        user("Go."),
        calling("I look.", r#"{"command":"a\nb","range":[1]}"#),
        seen,
        user("And now?"),
        calling("", "not JSON"),
        result("Error"),
    ]));
    let roles: Vec<_> = told.messages.iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [
            Role::System,
            Role::User,
            Role::Assistant,
            Role::User,
            Role::Assistant,
            Role::User
        ],
        "the user's messages in a row are one"
    );
    let texts: Vec<_> = told.messages[1..]
        .iter()
        .map(|message| message.plain_text())
        .collect();
    assert_eq!(
        texts,
        [
            "Go.",
            "I look.\n\n<function=terminal>\n<parameter=command>\na\nb\n</parameter>\n<parameter=range>[1]</parameter>\n\
             </function>",
            "EXECUTION RESULT of [terminal]:\na\nb\nAnd now?",
            "<function=terminal>\nnot JSON\n</function>",
            "EXECUTION RESULT of [terminal]:\nError",
        ]
    );
    assert!(told.messages[3].content.contains(&image));
    assert!(
        told.messages
            .iter()
            .all(|message| message.tool_calls.is_none() && message.tool_call_id.is_none())
    );
}

#[test]
fn each_request_begins_with_the_one_before() {
    let whole = [
        user("Go."),
        calling("I look.", r#"{"command":"ls"}"#),
        result("a"),
        calling("", r#"{"command":"cat a"}"#),
        result("b"),
        Message::text(Role::Assistant, "Done."),
        user("Thanks."),
    ];
    let told = |length: usize| {
        serde_json::to_string(&*history::as_text(&request(&whole[..length])).messages).unwrap()
    };
    for (earlier, later) in [(1, 3), (3, 5), (5, 7)] {
        let (earlier, later) = (told(earlier), told(later));
        let beginning = earlier.strip_suffix(']').unwrap();
        assert!(
            later.starts_with(beginning),
            "{later}\n does not begin with\n{beginning}"
        );
    }
}
