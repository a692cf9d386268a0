//! Conversations that grow longer than their model can read.

use std::sync::Arc;

use deft_engine::{Condenser, Conversation, Memory};
use deft_llm::{Delta, FinishReason, Model, ModelError, ModelProfile, Request};
use deft_types::{EventBody, Status, Tokens};
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use crate::desk::{Desk, assert_paired, budget, say, settled};

/// Steps with long outputs, then an answer.
const LONG_TASK: &str = r#"
- {repeat: 30, tool_calls: [{name: terminal, arguments: {command: "yes word | head -3000; : {{n}}"}}]}
- {text: done}
"#;

fn condensations(events: &[deft_types::Event]) -> usize {
    let condensed = |event: &&deft_types::Event| matches!(event.body, EventBody::Condensation(_));
    events.iter().filter(condensed).count()
}

fn is_masked(events: &[deft_types::Event]) -> bool {
    let masks = |event: &deft_types::Event| matches!(&event.body, EventBody::StateUpdate(update) if update.key == "masked_results");
    events.iter().any(masks)
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
    assert!(is_masked(&events) || condensations(&events) > 0);
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

/// The texts of what the model was asked last.
fn last_request(desk: &Desk) -> Vec<String> {
    let requests = desk.model.requests.lock().unwrap();
    let messages = requests.last().unwrap().messages.iter();
    messages.map(|message| message.plain_text()).collect()
}

#[tokio::test]
async fn a_result_that_crosses_the_limit_is_read_before_anything_of_it_goes() {
    let script = r#"
- {repeat: 4, tool_calls: [{name: terminal, arguments: {command: "seq 1 1500; : {{n}}"}}]}
- {tool_calls: [{name: terminal, arguments: {command: "echo begins; seq 10001 15000; echo ends"}}]}
- {text: done}
"#;
    let desk = Desk::with_window(script, 12_000).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let asked = last_request(&desk);
    let newest = asked.iter().find(|text| text.starts_with("begins"));
    assert!(newest.unwrap().contains("ends"), "{newest:?}");
    let events = desk.events().await;
    assert!(
        is_masked(&events) || condensations(&events) > 0,
        "the limit is not crossed"
    );
    assert_paired(&events);
}

#[tokio::test]
async fn a_result_that_alone_is_too_long_is_shortened_when_the_model_refuses_it() {
    let script = r#"
- {tool_calls: [{name: terminal, arguments: {command: "echo begins; seq 10001 14000; echo ends"}}]}
- {error: {kind: context_window_exceeded}}
- {text: done}
"#;
    let desk = Desk::new(script).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let asked = last_request(&desk);
    let newest = asked.iter().find(|text| text.starts_with("begins")).unwrap();
    assert!(newest.contains("left out") && newest.contains("ends"), "{newest}");
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn a_request_that_is_refused_after_all_the_room_that_was_made_is_still_made_shorter() {
    let long = r#"{name: terminal, arguments: {command: "echo begins; seq 10001 15000; echo ends"}}"#;
    let script = format!(
        "[{{repeat: 4, tool_calls: [{{name: terminal, arguments: {{command: 'seq 1 1500; : {{{{n}}}}'}}}}]}}, \
         {{tool_calls: [{long}, {long}, {long}]}}, {{text: all of it}}, {{error: {{kind: context_window_exceeded}}}}, \
         {{text: done}}]"
    );
    let desk = Desk::with_window(&script, 12_000).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    assert!(is_masked(&events) && condensations(&events) > 0);
    let asked = last_request(&desk);
    let newest: Vec<_> = asked.iter().filter(|text| text.starts_with("begins")).collect();
    assert_eq!(newest.len(), 3, "{asked:?}");
    assert!(newest.iter().all(|text| text.contains("left out")), "{newest:?}");
}

#[tokio::test]
async fn every_condenser_makes_room_where_the_model_finds_a_request_too_long() {
    let script = "[{repeat: 8, tool_calls: [{name: think, arguments: {thought: 'step {{n}}'}}]}, \
                   {error: {kind: context_window_exceeded}}, {text: done}]";
    for name in ["mask", "mask_browser", "recent", "amortized", "window"] {
        let desk = Desk::new(script).await;
        let mut parts = desk.parts(Desk::limits()).await;
        parts.memory.condenser = name.parse().unwrap();
        let conversation = Conversation::open(parts).await.unwrap();
        assert_eq!(desk.run(&conversation).await.status, Status::Finished, "{name}");
        assert_eq!(condensations(&desk.events().await), 1, "{name}");
    }
}

/// Says the same whatever it is asked, or fails.
struct Summariser(ModelProfile, Result<String, ModelError>);

impl Model for Summariser {
    fn profile(&self) -> &ModelProfile {
        &self.0
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let said = self.1.clone().map(Delta::Text);
        stream::iter([said, Ok(Delta::Finished(FinishReason::Stop))]).boxed()
    }
}

/// Steps with nothing to mask, more than a window of 8,000 tokens can hold.
fn many_thoughts() -> String {
    let thought = "and so on, as thoughts go, ".repeat(20);
    format!(
        "[{{repeat: 150, tool_calls: [{{name: think, arguments: {{thought: '{{{{n}}}} {thought}'}}}}]}}, {{text: done}}]"
    )
}

async fn summarised_by(desk: &Desk, said: Result<String, ModelError>) -> Conversation {
    let mut parts = desk
        .parts(deft_engine::Limits {
            max_steps: 500,
            ..Desk::limits()
        })
        .await;
    let profile = ModelProfile {
        context_window: Some(Tokens(100_000)),
        ..ModelProfile::unknown("summariser")
    };
    parts.memory = Memory {
        condenser: Condenser::default(),
        model: Some(Arc::new(Summariser(profile, said))),
    };
    Conversation::open(parts).await.unwrap()
}

#[tokio::test]
async fn a_summary_that_is_too_long_is_cut_and_there_is_room_afterwards() {
    let desk = Desk::with_window(&many_thoughts(), 8_000).await;
    let long = format!("it began {} it ended", "and went on ".repeat(20_000));
    let conversation = summarised_by(&desk, Ok(long)).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    let number = condensations(&events);
    assert!((1..75).contains(&number), "{number} times room was made");
    let summary = events.iter().find_map(|event| match &event.body {
        EventBody::Condensation(condensation) => condensation.summary.clone(),
        _ => None,
    });
    let summary = summary.unwrap();
    let ends: Vec<_> = summary.lines().collect();
    assert!(
        ends[0].starts_with("it began") && ends[2].ends_with("it ended"),
        "{ends:?}"
    );
    assert!(summary.len() < 100_000, "{}", summary.len());
}

#[tokio::test]
async fn where_nobody_can_summarise_what_was_called_reaches_the_next_request() {
    let failure = ModelError::Overloaded {
        retry_after: None,
        detail: "busy".to_owned(),
    };
    let desk = Desk::with_window(&many_thoughts(), 8_000).await;
    let conversation = summarised_by(&desk, Err(failure)).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let said = last_request(&desk);
    let stand_in = said
        .iter()
        .find(|text| text.contains("no summary of them could be made"));
    assert!(stand_in.unwrap().contains("- You called think"), "{said:?}");
}

#[tokio::test]
async fn room_is_made_without_a_model_when_the_budget_is_spent() {
    let desk = Desk::new("[{text: first, cost: 0.6}, {text: second, cost: 0.6}, {text: third}]").await;
    let conversation = desk.open_with(budget(1.0)).await;
    desk.run(&conversation).await;
    desk.run(&conversation).await;
    conversation.condense().await.unwrap();
    assert_eq!(desk.model.asked(), 2);
    let events = desk.events().await;
    let summary = events.iter().find_map(|event| match &event.body {
        EventBody::Condensation(condensation) => condensation.summary.clone(),
        _ => None,
    });
    assert!(summary.unwrap().contains("no summary of them could be made"));
}

#[tokio::test]
async fn a_wish_for_room_that_there_is_not_is_granted_and_forgotten() {
    let desk = Desk::new("[{text: first}, {text: second}, {text: third}]").await;
    let conversation = desk.open().await;
    desk.run(&conversation).await;
    conversation.condense().await.unwrap();
    desk.run(&conversation).await;
    let events = desk.events().await;
    assert_eq!(condensations(&events), 0, "nobody asked for that any more");
    assert_eq!(desk.model.asked(), 2);
    assert_eq!(conversation.inspect().await.unwrap(), desk.rebuilt().await);
}

#[tokio::test]
async fn who_wants_no_condenser_is_answered_all_the_same_when_the_model_can_read_no_more() {
    let steps = "{repeat: 6, tool_calls: [{name: think, arguments: {thought: 'step {{n}}'}}]}";
    for refusal in ["context_window_exceeded", "malformed_history"] {
        let desk = Desk::new(&format!(
            "[{steps}, {{error: {{kind: {refusal}}}}}, {{text: done}}]"
        ))
        .await;
        let mut parts = desk.parts(Desk::limits()).await;
        parts.memory.condenser = Condenser::Pipeline(Vec::new());
        let conversation = Conversation::open(parts).await.unwrap();
        assert_eq!(
            desk.run(&conversation).await.status,
            Status::Finished,
            "{refusal}"
        );
        assert_eq!(condensations(&desk.events().await), 1, "{refusal}");
    }
}

#[tokio::test]
async fn a_history_that_the_server_does_not_accept_is_made_another_and_the_run_goes_on() {
    let steps = "{repeat: 6, tool_calls: [{name: think, arguments: {thought: 'step {{n}}'}}]}";
    let refused = "{error: {kind: malformed_history}}";
    let desk = Desk::new(&format!("[{steps}, {refused}, {{text: done}}]")).await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    assert_eq!(condensations(&desk.events().await), 1);

    // Where it never helps, the run ends after a few tries and says why.
    let desk = Desk::new(&format!(
        "[{steps}, {refused}, {refused}, {refused}, {refused}, {refused}, {{text: done}}]"
    ))
    .await;
    let conversation = desk.open().await;
    assert_eq!(desk.run(&conversation).await.status, Status::Error);
    let events = desk.events().await;
    let code = events.iter().rev().find_map(|event| match &event.body {
        EventBody::ConversationError(error) => Some(error.code.clone()),
        _ => None,
    });
    assert_eq!(code.as_deref(), Some("LLMMalformedConversationHistoryError"));
    assert_eq!(condensations(&events), 2);
}
