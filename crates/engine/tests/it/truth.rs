//! The log is the truth: what is in it, in which order, and what is folded from it.

use deft_engine::ExecutorFate;
use deft_types::{Event, EventBody, Source, Status};

use crate::desk::{Desk, assert_paired, say, settled};

const TWO_STEPS: &str = r#"
- text: I look around.
  tool_calls: [{name: terminal, arguments: {command: "echo one > out; cat out", summary: write}}]
- tool_calls: [{name: finish, arguments: {message: all done}}]
"#;

fn kinds(events: &[Event]) -> Vec<String> {
    let name = |event: &Event| match &event.body {
        EventBody::StateUpdate(update) => {
            match update.value.as_str().filter(|_| update.key == "execution_status") {
                Some(status) => format!("status={status}"),
                None => update.key.clone(),
            }
        }
        _ => event.kind().to_owned(),
    };
    events.iter().map(name).collect()
}

#[tokio::test]
async fn a_task_is_a_row_of_events_from_the_prompt_to_the_finish() {
    let desk = Desk::new(TWO_STEPS).await;
    let conversation = desk.open().await;
    let progress = desk.run(&conversation).await;
    assert_eq!(progress.status, Status::Finished);
    assert_eq!(desk.file("out"), "one\n");
    let events = desk.events().await;
    assert_eq!(
        kinds(&events),
        [
            "SystemPromptEvent",
            "MessageEvent",
            "last_user_message_id",
            "agent",
            "status=running",
            "stats",
            "ActionEvent",
            "executor",
            "ObservationEvent",
            "stats",
            "ActionEvent",
            "ObservationEvent",
            "status=finished",
        ]
    );
    assert_paired(&events);
    assert_eq!(desk.rebuilt().await.answer.as_deref(), Some("all done"));
}

#[tokio::test]
async fn invariant_1_rebuilding_from_the_log_equals_the_live_state() {
    let desk = Desk::new(TWO_STEPS).await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    say(&conversation, "and again").await;
    conversation.run().await.unwrap();
    settled(&conversation).await;
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn every_event_but_state_updates_follows_the_one_before_it() {
    let desk = Desk::new(TWO_STEPS).await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let mut leaf = None;
    for event in desk.events().await {
        assert_eq!(event.parent_id, leaf, "{event:?}");
        if !matches!(event.body, EventBody::StateUpdate(_)) {
            leaf = Some(event.id);
        }
    }
}

#[tokio::test]
async fn invariant_10_each_request_begins_with_the_bytes_of_the_last_one() {
    let script = r#"
- repeat: 12
  text: step {{n}}
  tool_calls: [{name: terminal, arguments: {command: "echo {{n}}"}}, {name: think, arguments: {thought: "hm {{n}}"}}]
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    say(&conversation, "do it").await;
    conversation.run().await.unwrap();
    while desk.model.asked() < 3 {
        tokio::task::yield_now().await;
    }
    say(&conversation, "hurry").await; // in the middle of a step
    settled(&conversation).await;

    let requests = desk.model.requests.lock().unwrap();
    assert!(requests.len() > 12);
    for pair in requests.windows(2) {
        let [before, after] = pair else { unreachable!() };
        assert_eq!(before.messages[..], after.messages[..before.messages.len()]);
        assert_eq!(before.tools, after.tools);
    }
    let last = &requests.last().unwrap().messages;
    assert!(last.iter().any(|message| message.plain_text() == "hurry"));
}

#[tokio::test]
async fn a_conversation_goes_on_where_it_was_when_it_is_opened_again() {
    let desk = Desk::new(TWO_STEPS).await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    conversation.close(ExecutorFate::Keep).await;

    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    let said = |event: &&Event| event.source == Source::User && matches!(event.body, EventBody::Message(_));
    assert_eq!(events.iter().filter(said).count(), 2);
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event.body, EventBody::SystemPrompt(_)))
            .count(),
        1
    );
    assert_paired(&events);
}
