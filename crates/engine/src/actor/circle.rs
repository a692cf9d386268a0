//! What is done about an agent that goes in circles.

use deft_store::StoreError;
use deft_types::{Classification, ConversationErrorEvent, FailureKind, Message, MessageEvent, Role, Source};
use serde_json::json;

use super::Actor;
use crate::status::Trigger;
use crate::stuck::BEFORE_CIRCLE;
use crate::turn::Draft;

impl Actor {
    /// Tells the agent of the circle that it is in.
    pub(super) async fn nudge(&mut self, what: &str) -> Result<(), StoreError> {
        let text = format!("{what}\nDoing it again will change nothing. Find out why, or try another way.");
        let nudge = MessageEvent::new(Message::text(Role::User, text));
        self.record(vec![Draft::new(Source::Environment, nudge)]).await
    }

    /// Stops it, and says what it can be helped with.
    pub(super) async fn stick(&mut self, what: &str) -> Result<(), StoreError> {
        let way_back = self.state.recent.before_circle();
        let extra = way_back.map(|event| (BEFORE_CIRCLE.to_owned(), json!(event)));
        let before = way_back.map_or_else(
            || "to an earlier event".to_owned(),
            |event| format!("to before the circle, event {event}"),
        );
        let detail = format!(
            "The agent goes in circles. {what}\nContinue: run again, or say what to do instead. Rewind: go back \
             {before}. Stop: leave it as it is."
        );
        let event = ConversationErrorEvent {
            code: "AgentStuckInLoop".to_owned(),
            detail,
            classification: Some(Classification::of(FailureKind::AgentAction)),
            extra: extra.into_iter().collect(),
        };
        let mut drafts: Vec<_> = self.status_after(Trigger::Stick).into_iter().collect();
        drafts.push(Draft::new(Source::Environment, event));
        self.record(drafts).await
    }
}
