//! Everything that happens is stored here, and then taken into the state.

use deft_store::StoreError;
use deft_types::{Classification, ConversationErrorEvent, Event, EventBody, Extra, Source, Timestamp};

use super::{Actor, budget};
use crate::hidden::without_secrets;
use crate::state;
use crate::status::{self, Trigger};
use crate::turn::Draft;
use crate::world::Point;

impl Actor {
    /// Stores events, then takes them into the state. On an error nothing has changed.
    pub(crate) async fn record(&mut self, drafts: Vec<Draft>) -> Result<(), StoreError> {
        if drafts.is_empty() {
            return Ok(());
        }
        let mask = self.secrets.mask();
        let drafts = self.logged_calls(&mask).into_iter().chain(drafts);
        let mut leaf = self.state.leaf.clone();
        let mut events = Vec::new();
        for draft in drafts {
            let id = draft.id.unwrap_or_else(|| self.world.new_id().into());
            let timestamp = Timestamp::at(self.world.now());
            let parent_id = leaf.clone();
            if !matches!(draft.body, EventBody::StateUpdate(_)) {
                leaf = Some(id.clone());
            }
            let event = Event {
                id,
                timestamp,
                source: draft.source,
                parent_id,
                body: draft.body,
            };
            events.push(without_secrets(event, &mask));
        }
        self.world.reached(Point::BeforeAppend);
        self.store.append(&self.lease, events.clone()).await?;
        self.world.reached(Point::AfterAppend);
        let before = budget::used(&self.state.stats);
        for event in &events {
            self.state.apply(event);
        }
        self.tell_above(before);
        self.publish_progress(None);
        Ok(())
    }

    /// The event that the status is another, if it is.
    pub(crate) fn status_after(&self, trigger: Trigger) -> Option<Draft> {
        let next = status::after(self.state.status, trigger)?;
        Some(Draft::new(Source::Environment, state::status(next)))
    }

    /// The run failed: the status says so, and the event behind it why.
    pub(crate) async fn fail(
        &mut self,
        code: &str,
        detail: String,
        kind: Classification,
    ) -> Result<(), StoreError> {
        let event = ConversationErrorEvent {
            code: code.to_owned(),
            detail,
            classification: Some(kind),
            extra: Extra::new(),
        };
        let mut drafts: Vec<_> = self.status_after(Trigger::Fail).into_iter().collect();
        drafts.push(Draft::new(Source::Environment, event));
        self.record(drafts).await
    }
}
