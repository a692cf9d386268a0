//! Standing at an earlier event, copies of conversations, questions on the side.

use std::time::SystemTime;

use deft_engine::{CommandError, Fork, RealWorld, fork, load};
use deft_store::{NewConversation, StoreError, create_with};
use deft_types::{ConversationId, EventBody, EventId, Money, Role, Source, Status, UserId, text_of};
use serde_json::json;
use uuid::Uuid;

use crate::desk::{Desk, assert_paired, say, settled};

const TALK: &str = r#"
- text: first answer
- tool_calls: [{name: terminal, arguments: {command: echo ran >> ran}}]
- text: second answer
"#;

async fn talked(desk: &Desk) -> deft_engine::Conversation {
    let conversation = desk.open().await;
    for question in ["one", "two"] {
        say(&conversation, question).await;
        conversation.run().await.unwrap();
        settled(&conversation).await;
    }
    conversation
}

/// The event at which somebody said this.
async fn said(desk: &Desk, source: Source, text: &str) -> EventId {
    let events = desk.events().await;
    let found = events.iter().find(|event| match &event.body {
        EventBody::Message(message) => {
            event.source == source && text_of(&message.llm_message.content) == text
        }
        _ => false,
    });
    found.unwrap().id.clone()
}

fn new_conversation() -> NewConversation {
    NewConversation {
        id: ConversationId(Uuid::new_v4()),
        created_at: SystemTime::now(),
        workspace: String::new(),
        settings: json!({}),
        owner: None,
    }
}

#[tokio::test]
async fn a_conversation_can_go_on_from_an_earlier_event_and_the_other_branch_stays_in_the_log() {
    let desk = Desk::new(TALK).await;
    let conversation = talked(&desk).await;
    let first = said(&desk, Source::Agent, "first answer").await;
    conversation.navigate(Some(first)).await.unwrap();
    say(&conversation, "two, otherwise").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let asked: Vec<Vec<String>> = (desk.model.requests.lock().unwrap().iter())
        .map(|request| {
            let said = request.messages.iter().skip(1); // the system prompt
            said.map(|message| text_of(&message.content)).collect()
        })
        .collect();
    let expected = ["one", "first answer", "two, otherwise"].map(str::to_owned);
    assert!(asked.iter().any(|texts| texts == &expected), "{asked:?}");
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
    said(&desk, Source::User, "two").await;
    let unknown = conversation.navigate(Some(EventId("nowhere".to_owned()))).await;
    assert!(
        matches!(unknown, Err(CommandError::NoSuchEvent(_))),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn a_call_whose_result_is_on_another_branch_does_not_run_again() {
    let desk = Desk::new(TALK).await;
    let conversation = talked(&desk).await;
    let events = desk.events().await;
    let call = events
        .iter()
        .find(|event| matches!(event.body, EventBody::Action(_)));
    conversation
        .navigate(Some(call.unwrap().id.clone()))
        .await
        .unwrap();
    let asked = desk.model.asked();
    say(&conversation, "what came of it?").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert!(desk.model.asked() > asked, "nothing was done at all");
    assert_eq!(desk.file("ran"), "ran\n");
}

#[tokio::test]
async fn before_the_first_event_a_conversation_begins_anew() {
    let desk = Desk::new(TALK).await;
    let conversation = talked(&desk).await;
    conversation.navigate(None).await.unwrap();
    say(&conversation, "afresh").await;
    conversation.run().await.unwrap();
    settled(&conversation).await;
    let asked = desk
        .model
        .requests
        .lock()
        .unwrap()
        .last()
        .unwrap()
        .messages
        .clone();
    let roles: Vec<_> = asked.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User]);
}

#[tokio::test]
async fn a_copy_has_what_the_other_had_up_to_an_event_and_a_life_of_its_own() {
    let desk = Desk::new(TALK).await;
    let conversation = talked(&desk).await;
    let before = desk.events().await.len();
    let whole = new_conversation();
    let part = new_conversation();
    let (whole_id, part_id) = (whole.id, part.id);
    let all = Fork {
        at: None,
        keep_stats: true,
        title: None,
        request: None,
    };
    conversation.fork(whole, all).await.unwrap();
    let events = desk.events().await;
    let told = events.last().map(|event| &event.body);
    assert!(
        matches!(told, Some(EventBody::StateUpdate(told)) if told.key == "forked" && told.value["to"] == json!(whole_id)),
        "{told:?}"
    );
    let call = events
        .iter()
        .find(|event| matches!(event.body, EventBody::Action(_)));
    let some = Fork {
        at: Some(call.unwrap().id.clone()),
        keep_stats: false,
        title: None,
        request: None,
    };
    fork(desk.store.as_ref(), desk.id, part, some, &RealWorld)
        .await
        .unwrap();
    assert_eq!(
        desk.events().await.len(),
        before + 1,
        "one that is not open is only read"
    );
    let original = conversation.inspect().await.unwrap();
    let whole = load(desk.store.as_ref(), whole_id).await.unwrap();
    assert_eq!((whole.view, whole.status), (original.view, Status::Idle));
    let copy = load(desk.store.as_ref(), part_id).await.unwrap();
    assert_eq!(
        (copy.open_calls(), copy.answer.as_deref()),
        (0, Some("first answer"))
    );
    let copied = desk
        .store
        .read(part_id, deft_types::Seq::FIRST, 100)
        .await
        .unwrap();
    assert_paired(&copied.into_iter().map(|(_, event)| event).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_copy_is_made_once_wherever_the_process_died_that_was_asked_for_it() {
    let desk = Desk::new(TALK).await;
    let conversation = talked(&desk).await;
    let new = new_conversation();
    let wanted = |request: &str| Fork {
        request: Some(EventId(request.to_owned())),
        ..Fork::default()
    };
    // The copy is there, and the process died before its event.
    let made = fork(
        desk.store.as_ref(),
        desk.id,
        new.clone(),
        wanted("r1"),
        &RealWorld,
    );
    made.await.unwrap();
    let copied = desk
        .store
        .read(new.id, deft_types::Seq::FIRST, 100)
        .await
        .unwrap();
    for _ in 0..2 {
        conversation.fork(new.clone(), wanted("r1")).await.unwrap();
    }
    assert_eq!(
        desk.store
            .read(new.id, deft_types::Seq::FIRST, 100)
            .await
            .unwrap(),
        copied
    );
    let told = desk
        .events()
        .await
        .into_iter()
        .filter(|event| matches!(&event.body, EventBody::StateUpdate(told) if told.key == "forked"));
    assert_eq!(told.count(), 1);
    let refused = conversation.fork(new.clone(), wanted("r2")).await;
    assert!(matches!(refused, Err(CommandError::Store(StoreError::Exists(id))) if id == new.id));

    // It died in the middle of the copy, or the store kept its beginning and said that it failed.
    for events in [2, 0] {
        let begun = copied.iter().map(|(_, event)| event.clone()).take(events);
        let half = NewConversation {
            id: ConversationId(Uuid::new_v4()),
            settings: desk.store.settings(new.id).await.unwrap().unwrap(),
            ..new.clone()
        };
        create_with(desk.store.as_ref(), half.clone(), begun.collect())
            .await
            .unwrap();
        conversation.fork(half.clone(), wanted("r1")).await.unwrap();
        let whole = load(desk.store.as_ref(), half.id).await.unwrap();
        assert_eq!(whole.view, conversation.inspect().await.unwrap().view);
    }
}

#[tokio::test]
async fn what_a_copy_inherits_is_charged_to_nobody_again() {
    let desk = Desk::new("[{text: hello, cost: 0.5}]").await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let user = UserId(Uuid::new_v4());
    let mut new = NewConversation {
        owner: Some(user),
        ..new_conversation()
    };
    let wanted = Fork {
        keep_stats: true,
        title: Some("A copy".to_owned()),
        request: Some(EventId("r1".to_owned())),
        ..Fork::default()
    };
    let spent = async || desk.store.usage(user).await.unwrap().cost;
    conversation.fork(new.clone(), wanted.clone()).await.unwrap();
    let copy = desk.store.conversation(new.id).await.unwrap().unwrap();
    assert_eq!(
        (copy.cost.to_string(), spent().await),
        ("$0.50".to_owned(), Money::ZERO)
    );

    // Nor by one that was made but for its last event, and is made anew.
    new.settings = desk.store.settings(new.id).await.unwrap().unwrap();
    let copied = desk
        .store
        .read(new.id, deft_types::Seq::FIRST, 100)
        .await
        .unwrap();
    desk.store.delete(new.id).await.unwrap();
    assert_eq!(spent().await, Money::ZERO);
    let begun = copied[..copied.len() - 1].iter().map(|(_, event)| event.clone());
    create_with(desk.store.as_ref(), new.clone(), begun.collect())
        .await
        .unwrap();
    fork(desk.store.as_ref(), desk.id, new.clone(), wanted, &RealWorld)
        .await
        .unwrap();
    let remade = desk.store.conversation(new.id).await.unwrap().unwrap();
    assert_eq!(
        (remade.title.as_deref(), spent().await),
        (Some("A copy"), Money::ZERO)
    );
}

#[tokio::test]
async fn a_question_on_the_side_is_answered_counted_and_not_remembered() {
    let desk = Desk::new("[{text: first answer}, {text: on the side, cost: 0.25}]").await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    let events = desk.events().await.len();
    assert_eq!(conversation.ask_aside("what now?").await.unwrap(), "on the side");
    let added: Vec<_> = desk.events().await.split_off(events);
    assert!(
        added
            .iter()
            .all(|event| matches!(event.body, EventBody::StateUpdate(_)))
    );
    let stats = conversation.inspect().await.unwrap().stats;
    assert_eq!(stats.total_cost().to_string(), "$0.25");
}

#[tokio::test]
async fn a_copy_of_the_whole_has_the_other_branches_too_and_stands_at_the_same_place() {
    let desk = Desk::new(TALK).await;
    let conversation = talked(&desk).await;
    let left = conversation.inspect().await.unwrap().leaf.unwrap();
    let first = desk.events().await;
    let said = first.iter().find(|event| event.source == Source::User).unwrap();
    conversation.navigate(Some(said.id.clone())).await.unwrap();
    let new = new_conversation();
    let copy = new.id;
    let all = Fork {
        at: None,
        keep_stats: true,
        title: None,
        request: None,
    };
    fork(desk.store.as_ref(), desk.id, new, all, &RealWorld)
        .await
        .unwrap();
    let state = load(desk.store.as_ref(), copy).await.unwrap();
    assert_eq!(state.leaf, Some(said.id.clone()));
    let copied = desk.store.read(copy, deft_types::Seq::FIRST, 100).await.unwrap();
    assert!(copied.iter().any(|(_, event)| event.id == left));
}
