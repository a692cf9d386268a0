//! Titles in the words of a model.

use std::sync::Arc;

use deft_engine::{Conversation, Supervision};
use deft_llm::{Model, ModelSettings};
use deft_types::{Money, Status};

use crate::desk::{Desk, budget, say, settled};

const TALK: &str = "[{text: hello, cost: 0.5, repeat: 9}]";

/// A conversation whose titles are given by another script.
async fn opened(desk: &Desk, script: &str) -> Conversation {
    let file = desk.executors.work.join("titles.yaml");
    std::fs::write(&file, script).unwrap();
    let model: Arc<dyn Model> =
        deft_llm::open(&format!("script:{}", file.display()), &ModelSettings::default()).unwrap();
    let mut parts = desk.parts(budget(10.0)).await;
    parts.supervision = Supervision {
        titles: Some(model),
        ..Supervision::default()
    };
    Conversation::open(parts).await.unwrap()
}

async fn index(desk: &Desk) -> Option<String> {
    desk.store.conversation(desk.id).await.unwrap().unwrap().title
}

async fn titled(conversation: &Conversation) -> String {
    loop {
        if let Some(title) = conversation.inspect().await.unwrap().title {
            return title;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_title_is_given_once_counted_and_in_the_index() {
    let desk = Desk::new(TALK).await;
    let conversation = opened(
        &desk,
        "[{text: '\"Greet the user\"', cost: 0.25}, {text: Another, repeat: 9}]",
    )
    .await;
    say(&conversation, "please\nsay hello").await;
    assert_eq!(titled(&conversation).await, "Greet the user");
    assert_eq!(index(&desk).await.as_deref(), Some("Greet the user"));
    desk.run(&conversation).await;
    let state = conversation.inspect().await.unwrap();
    assert_eq!(
        state.title.as_deref(),
        Some("Greet the user"),
        "it is asked for once"
    );
    let counted = state.stats.usage_to_metrics["title"].accumulated_cost;
    assert_eq!(counted, Money::try_from(0.25).unwrap());
    assert_eq!(state.stats.total_cost(), Money::try_from(0.75).unwrap());
    assert_eq!(state, desk.rebuilt().await);
}

#[tokio::test]
async fn whoever_cannot_give_a_title_holds_nobody_up() {
    for script in ["[{stall: true}]", "[{error: {status: 500}}]", "[{text: '…'}]"] {
        let desk = Desk::new(TALK).await;
        let conversation = opened(&desk, script).await;
        assert_eq!(desk.run(&conversation).await.status, Status::Finished, "{script}");
        assert_eq!(
            index(&desk).await.as_deref(),
            Some("do it"),
            "{script}: the first words"
        );
    }
}

#[tokio::test]
async fn a_title_that_somebody_gave_stays() {
    let desk = Desk::new(TALK).await;
    let conversation = opened(&desk, "[{text: From the model, delay_ms: 300, cost: 0.25}]").await;
    say(&conversation, "do it").await;
    conversation.label(Some("Mine".to_owned()), None).await.unwrap();
    let counted = |state: &deft_engine::State| state.stats.usage_to_metrics.contains_key("title");
    while !counted(&conversation.inspect().await.unwrap()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(titled(&conversation).await, "Mine");
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    assert_eq!(index(&desk).await.as_deref(), Some("Mine"));
}

#[tokio::test]
async fn a_title_is_asked_for_in_the_words_of_whoever_began_the_conversation() {
    let desk = Desk::new("[{text: Pequod, repeat: 9}]").await;
    let mut parts = desk.parts(Desk::limits()).await;
    parts.supervision = Supervision {
        titles: Some(desk.model.clone()),
        title_prompt: Some("Call it after a ship.".to_owned()),
        ..Supervision::default()
    };
    let conversation = Conversation::open(parts).await.unwrap();
    say(&conversation, "hunt the whale").await;
    assert_eq!(titled(&conversation).await, "Pequod");
    let asked = desk.model.requests.lock().unwrap()[0].messages[0].plain_text();
    assert!(
        asked.contains("Call it after a ship.") && !asked.contains("six words"),
        "{asked}"
    );
}
