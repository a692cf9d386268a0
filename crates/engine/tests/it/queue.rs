//! Messages that wait for the end of the turn.

use deft_engine::{CommandError, Conversation, ExecutorFate, QueueChange, Queued};
use deft_types::{EventBody, EventId, Message, Role, Source, Status};

use crate::desk::{Desk, say, settled};

const WAITS: &str = r#"
- tool_calls: [{name: terminal, arguments: {command: "echo begun > begun; until [ -e go ]; do sleep 0.01; done"}}]
- text: first turn done
- text: second turn done
- tool_calls: [{name: finish, arguments: {message: third turn done}}]
"#;

fn queued(id: &str, text: &str) -> Queued {
    Queued {
        id: EventId(id.to_owned()),
        message: Message::text(Role::User, text),
    }
}

async fn add(conversation: &Conversation, id: &str, text: &str) {
    let change = QueueChange::Add(queued(id, text));
    conversation.change_queue(change).await.unwrap();
}

async fn said(desk: &Desk) -> Vec<String> {
    let events = desk.events().await;
    let texts = events.iter().filter_map(|event| match &event.body {
        EventBody::Message(said) if event.source == Source::User => Some(said.llm_message.plain_text()),
        _ => None,
    });
    texts.collect()
}

async fn begun(desk: &Desk) -> Conversation {
    let conversation = desk.open().await;
    say(&conversation, "first").await;
    conversation.run().await.unwrap();
    desk.wait_for_file("begun").await;
    conversation
}

#[tokio::test]
async fn messages_wait_for_the_end_of_the_turn_and_are_said_one_a_turn() {
    let desk = Desk::new(WAITS).await;
    let conversation = begun(&desk).await;
    for (id, text) in [("b", "third"), ("a", "second"), ("a", "again"), ("c", "never")] {
        add(&conversation, id, text).await;
    }
    let order = QueueChange::Order(vec![EventId("a".to_owned())]);
    conversation.change_queue(order).await.unwrap();
    let gone = QueueChange::Remove(EventId("c".to_owned()));
    conversation.change_queue(gone.clone()).await.unwrap();
    let again = conversation.change_queue(gone).await;
    assert!(matches!(again, Err(CommandError::NotQueued(_))), "{again:?}");
    let edit = QueueChange::Edit(queued("b", "third, edited"));
    conversation.change_queue(edit).await.unwrap();
    std::fs::write(desk.executors.work.join("go"), "").unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);

    assert_eq!(said(&desk).await, ["first", "second", "third, edited"]);
    let state = conversation.inspect().await.unwrap();
    assert_eq!(state.answer.as_deref(), Some("third turn done"));
    assert_eq!(state.queue, []);
    assert_eq!(state, desk.rebuilt().await);
    // What was said once is not said again.
    add(&conversation, "a", "second").await;
    assert_eq!(said(&desk).await.len(), 3);
}

#[tokio::test]
async fn the_queue_survives_a_restart() {
    let desk = Desk::new(WAITS).await;
    let conversation = begun(&desk).await;
    add(&conversation, "a", "second").await;
    conversation.close(ExecutorFate::Keep).await;
    std::fs::write(desk.executors.work.join("go"), "").unwrap();

    let conversation = desk.open().await;
    assert_eq!(
        conversation.inspect().await.unwrap().queue,
        [queued("a", "second")]
    );
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(said(&desk).await, ["first", "second"]);
}

#[tokio::test]
async fn a_message_for_later_is_said_at_once_where_no_turn_is_under_way() {
    let desk = Desk::new("[{text: done}]").await;
    let conversation = desk.open().await;
    add(&conversation, "a", "first").await;
    assert_eq!(said(&desk).await, ["first"]);
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
}

#[tokio::test]
async fn a_message_that_waits_and_is_said_now_waits_no_more() {
    let desk = Desk::new(WAITS).await;
    let conversation = begun(&desk).await;
    add(&conversation, "a", "second").await;
    let now = Message::text(Role::User, "second, now");
    conversation.send(EventId("a".to_owned()), now).await.unwrap();
    assert_eq!(conversation.inspect().await.unwrap().queue, []);
    std::fs::write(desk.executors.work.join("go"), "").unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(said(&desk).await, ["first", "second, now"]);
}
