//! Conversations that grow longer than their model can read.

use deft_types::{EventBody, Status};

use crate::desk::{Desk, assert_paired, say, settled};

/// Steps with long outputs, then an answer.
const LONG_TASK: &str = r#"
- {repeat: 30, tool_calls: [{name: terminal, arguments: {command: "yes word | head -3000; : {{n}}"}}]}
- {text: done}
"#;

fn condensations(events: &[deft_types::Event]) -> usize {
    let condensed = |event: &&deft_types::Event| matches!(event.body, EventBody::Condensation(_));
    events.iter().filter(condensed).count()
}

#[tokio::test]
async fn a_task_longer_than_the_window_is_finished_and_no_request_is_longer_than_it() {
    let desk = Desk::with_window(LONG_TASK, 30_000).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_paired(&desk.events().await);
    // As the scripted model counts: four characters are a token.
    let tokens = |request: &deft_llm::Request| -> usize {
        let text = |message: &std::sync::Arc<deft_types::Message>| message.plain_text().len();
        request.messages.iter().map(text).sum::<usize>() / 4
    };
    let longest = desk.model.requests.lock().unwrap().iter().map(tokens).max();
    assert!((15_000..30_000).contains(&longest.unwrap()), "{longest:?}");
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn a_request_that_the_model_finds_too_long_is_made_shorter_and_sent_again() {
    let script = r#"
- {tool_calls: [{name: terminal, arguments: {command: "seq 1 3000"}}]}
- {tool_calls: [{name: terminal, arguments: {command: "seq 1 3000"}}]}
- {tool_calls: [{name: terminal, arguments: {command: "seq 1 3000"}}]}
- {error: {kind: context_window_exceeded}}
- {text: done}
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    let masked = events
        .iter()
        .any(|event| matches!(&event.body, EventBody::StateUpdate(update) if update.key == "masked_results"));
    assert!(masked || condensations(&events) > 0);
}

#[tokio::test]
async fn room_can_be_asked_for_at_any_time() {
    let desk = Desk::new("[{text: first}, {text: the summary}, {text: second}]").await;
    let conversation = desk.open().await;
    for _ in 0..2 {
        say(&conversation, "go on").await;
        conversation.run().await.unwrap();
        settled(&conversation).await;
    }
    conversation.condense().await.unwrap();
    let events = desk.events().await;
    assert_eq!(condensations(&events), 1);
    assert!(matches!(events.last().unwrap().body, EventBody::Condensation(_)));
    conversation.condense().await.unwrap(); // nothing left to forget, and no error
    say(&conversation, "and again").await;
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
}
