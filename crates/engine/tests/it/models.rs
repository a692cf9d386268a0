//! Agents that use other models than the one they run on.

use std::path::PathBuf;
use std::sync::Arc;

use deft_engine::{Conversation, Models};
use deft_llm::{Model, ModelSettings, OpenModelError};
use deft_types::{EventBody, Status, text_of};

use crate::desk::{Desk, assert_paired};

/// Scripts by name.
struct Scripts(PathBuf);

impl Models for Scripts {
    fn names(&self) -> Vec<String> {
        vec!["oracle".to_owned(), "strong".to_owned()]
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        let script = format!("script:{}/{name}.yaml", self.0.display());
        deft_llm::open(&script, &ModelSettings::default())
    }
}

async fn opened(desk: &Desk) -> Conversation {
    let directory = desk.executors.work.clone();
    std::fs::write(
        directory.join("oracle.yaml"),
        "[{text: look at the log, cost: 0.5}]",
    )
    .unwrap();
    std::fs::write(
        directory.join("strong.yaml"),
        "[{repeat: 9, text: the strong one}]",
    )
    .unwrap();
    let mut parts = desk.parts(Desk::limits()).await;
    parts.models = Some(Arc::new(Scripts(directory)));
    Conversation::open(parts).await.unwrap()
}

#[tokio::test]
async fn advice_is_given_and_its_cost_counted() {
    let desk =
        Desk::new("[{tool_calls: [{name: ask_oracle, arguments: {question: why}}]}, {text: done}]").await;
    let conversation = opened(&desk).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    assert_paired(&events);
    let advice = events.iter().find_map(|event| match &event.body {
        EventBody::Observation(result) => Some(text_of(&result.observation.content())),
        _ => None,
    });
    assert_eq!(advice.as_deref(), Some("look at the log"));
    let stats = desk.rebuilt().await.stats;
    assert_eq!(
        stats.usage_to_metrics["oracle"].accumulated_cost.to_string(),
        "$0.50"
    );
}

#[tokio::test]
async fn an_agent_can_go_on_with_another_model_and_an_unknown_one_changes_nothing() {
    let script = r#"
- tool_calls: [{name: switch_llm, arguments: {profile_name: nobody, reason: try}}]
- tool_calls: [{name: switch_llm, arguments: {profile_name: strong, reason: hard}}]
- text: never said
"#;
    let desk = Desk::new(script).await;
    let conversation = opened(&desk).await;
    assert_eq!(desk.run(&conversation).await.status, Status::Finished);
    let state = desk.rebuilt().await;
    assert_eq!(state.answer.as_deref(), Some("the strong one"));
    assert_eq!(state.model.as_deref(), Some("strong"));
    assert_eq!(conversation.inspect().await.unwrap(), state);
}
