//! Agents that go in circles, and how they are told.

use deft_engine::{Condenser, Conversation, Extensions, HookConfig, Limits, Memory};
use deft_types::{Event, EventBody, Status};
use serde_json::json;

use crate::desk::{Desk, assert_paired, say, settled};

/// What was said of the circle, if anything was.
fn reason(events: &[Event]) -> Option<String> {
    events.iter().rev().find_map(|event| match &event.body {
        EventBody::ConversationError(error) if error.code == "AgentStuckInLoop" => Some(error.detail.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn an_agent_whose_call_is_refused_each_time_is_stuck() {
    let script =
        "[{repeat: 30, tool_calls: [{name: terminal, arguments: {command: rm -rf x}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    let hooks = json!({"PreToolUse": [{"hooks": [{"command": "echo never >&2; exit 2"}]}]});
    parts.extensions = Extensions {
        hooks: HookConfig::parse(&hooks).unwrap(),
        ..Extensions::default()
    };
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Stuck);
    assert_eq!(desk.model.asked(), 4);
    let events = desk.events().await;
    assert_paired(&events);
    let reason = reason(&events).unwrap();
    assert!(
        reason.contains("rm -rf x") && reason.contains("before the circle, event"),
        "{reason}"
    );
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn an_agent_that_repeats_itself_within_one_reply_is_told_first() {
    let same = "{name: terminal, arguments: {command: echo same}}";
    let script = format!("[{{tool_calls: [{same}, {same}, {same}, {same}, {same}]}}, {{text: I see.}}]");
    let desk = Desk::new(&script).await;
    let conversation = desk.open().await;
    let progress = desk.run(&conversation).await;
    assert_eq!(
        progress.status,
        Status::Finished,
        "{:?}",
        reason(&desk.events().await)
    );
    assert_paired(&desk.events().await);
}

#[tokio::test]
async fn a_long_run_that_remembers_only_the_last_events_is_not_stuck() {
    let script =
        "[{repeat: 40, tool_calls: [{name: think, arguments: {thought: 'step {{n}}'}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.memory = Memory {
        condenser: Condenser::RecentEvents {
            keep_first: 2,
            max_events: 12,
        },
        model: None,
    };
    let conversation = Conversation::open(parts).await.unwrap();
    let progress = desk.run(&conversation).await;
    assert_eq!(
        progress.status,
        Status::Finished,
        "{:?}",
        reason(&desk.events().await)
    );
    assert_eq!(desk.model.asked(), 41);
    let longest = desk
        .model
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|request| request.messages.len())
        .max();
    assert!(longest.unwrap() <= 12, "{longest:?}");
}

#[tokio::test]
async fn an_agent_that_waits_for_no_command_is_stuck() {
    let script = "[{repeat: 40, tool_calls: [{name: terminal, arguments: {command: ''}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Stuck);
    assert_eq!(desk.model.asked(), 4);
    let reason = reason(&desk.events().await).unwrap();
    assert!(reason.contains("failed in the same way"), "{reason}");
}

#[tokio::test]
async fn an_agent_for_whom_room_is_made_before_each_step_is_stuck() {
    let script =
        "[{repeat: 40, tool_calls: [{name: think, arguments: {thought: 'step {{n}}'}}]}, {text: done}]";
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.memory = Memory {
        condenser: Condenser::Amortized {
            keep_first: 2,
            max_events: 4,
        },
        model: None,
    };
    let conversation = Conversation::open(parts).await.unwrap();
    assert_eq!(desk.run(&conversation).await.status, Status::Stuck);
    let events = desk.events().await;
    let condensed = |event: &&Event| matches!(event.body, EventBody::Condensation(_));
    assert_eq!(events.iter().filter(condensed).count(), 10);
    let reason = reason(&events).unwrap();
    assert!(reason.contains("Room had to be made"), "{reason}");
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

const SILENT: &str = "[{repeat: 8, text: ''}, {text: an answer}]";

#[tokio::test]
async fn three_empty_replies_are_stuck_with_a_reason_and_each_run_has_three_again() {
    let desk = Desk::new(SILENT).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Stuck);
    assert_eq!(desk.model.asked(), 3);
    let reason = reason(&desk.events().await).unwrap();
    assert!(
        reason.contains("empty") && reason.contains("to an earlier event"),
        "{reason}"
    );
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Stuck);
    assert_eq!(desk.model.asked(), 6);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
}

#[tokio::test]
async fn whoever_wants_no_watch_for_circles_has_none_for_empty_replies_either() {
    let desk = Desk::new(SILENT).await;
    let limits = Limits {
        stuck_detection: false,
        ..Desk::limits()
    };
    let conversation = desk.open_with(limits).await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(desk.model.asked(), 9);
}
