//! Agents that use other models than the one they run on.

use std::path::PathBuf;
use std::sync::Arc;

use deft_engine::{Conversation, Models};
use deft_llm::{
    Delta, FinishReason, Model, ModelError, ModelProfile, ModelSettings, OpenModelError, Request,
};
use deft_types::{Content, EventBody, EventId, ImageContent, Message, Role, Status, text_of};
use futures::stream::{self, BoxStream, StreamExt as _};
use uuid::Uuid;

use crate::desk::{Desk, assert_paired, settled};

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

/// A model that can see, and says the address of what it was shown.
struct Eyes(ModelProfile);

impl Model for Eyes {
    fn profile(&self) -> &ModelProfile {
        &self.0
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let mut shown = request.messages.iter().flat_map(|message| &message.content);
        let shown = shown.find_map(|content| match content {
            Content::Image(image) => image.image_urls.first().cloned(),
            Content::Text(_) => None,
        });
        let text = format!("I see {}", shown.unwrap_or_default());
        stream::iter([Ok(Delta::Text(text)), Ok(Delta::Finished(FinishReason::Stop))]).boxed()
    }
}

/// One that cannot.
struct Blind(Arc<dyn Model>, ModelProfile);

impl Model for Blind {
    fn profile(&self) -> &ModelProfile {
        &self.1
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        self.0.stream(request)
    }
}

struct Seeing(ModelProfile);

impl Models for Seeing {
    fn names(&self) -> Vec<String> {
        vec!["eyes".to_owned()]
    }

    fn open(&self, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(Arc::new(Eyes(self.0.clone())))
    }
}

#[tokio::test]
async fn an_agent_that_cannot_see_has_an_image_of_the_user_looked_at() {
    let script = r#"
- tool_calls: [{name: inspect_image_with_vision, arguments: {image_index: 1, question: what is it}}]
- tool_calls: [{name: inspect_image_with_vision, arguments: {image_index: 2, question: what is it}}]
- text: done
"#;
    let desk = Desk::new(script).await;
    let mut parts = desk.parts(Desk::limits()).await;
    let mut profile = parts.model.profile().clone();
    profile.capabilities.vision = false;
    parts.model = Arc::new(Blind(parts.model, profile.clone()));
    profile.capabilities.vision = true;
    parts.models = Some(Arc::new(Seeing(profile)));
    let conversation = Conversation::open(parts).await.unwrap();
    let images = ["data:image/png;base64,AAAA", "data:image/png;base64,BBBB"].map(str::to_owned);
    let images = Content::Image(ImageContent {
        image_urls: images.to_vec(),
        ..ImageContent::default()
    });
    let message = Message::new(Role::User, vec![Content::text("look"), images]);
    conversation
        .send(EventId::from(Uuid::new_v4()), message)
        .await
        .unwrap();
    conversation.run().await.unwrap();
    assert_eq!(settled(&conversation).await.status, Status::Finished);
    let events = desk.events().await;
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::Observation(result) => Some(text_of(&result.observation.content())),
            _ => None,
        })
        .collect();
    assert_eq!(told[0], "I see data:image/png;base64,BBBB");
    assert!(told[1].contains("there is no image 2"), "{told:?}");
}
