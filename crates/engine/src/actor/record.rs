//! Everything that happens is stored here, and then taken into the state.

use deft_store::StoreError;
use deft_types::{Classification, ConversationErrorEvent, Event, EventBody, Extra, Seq, Source, Timestamp};

use super::{Actor, LogEnd, budget};
use crate::conversation::load;
use crate::hidden::without_secrets;
use crate::state;
use crate::status::{self, Trigger};
use crate::turn::Draft;
use crate::world::Point;

impl Actor {
    /// Stores events, then takes them into the state. On an error nothing has changed, as far as anybody knows.
    pub(crate) async fn record(&mut self, drafts: Vec<Draft>) -> Result<(), StoreError> {
        if drafts.is_empty() {
            return Ok(());
        }
        if let Some(error) = &self.log_end.doubt {
            return Err(error.clone());
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
        match self.store.append(&self.lease, events.clone()).await {
            Ok(stored) => self.log_end.next = Some(stored.end),
            Err(error) => self.look_for(&events, error).await?,
        }
        self.world.reached(Point::AfterAppend);
        let before = budget::used(&self.state.stats);
        for event in &events {
            if self.begins_turn(event) {
                self.purse.begin_run();
                self.noted.begin_turn();
            }
            self.state.apply(event);
        }
        self.tell_purse(before);
        self.publish_progress(None);
        Ok(())
    }

    /// A store may fail after it has stored something: then that is in the log, and counts.
    async fn look_for(&mut self, events: &[Event], error: StoreError) -> Result<(), StoreError> {
        let refused = matches!(
            error,
            StoreError::Fenced(_) | StoreError::Duplicate { .. } | StoreError::NotFound(_)
        );
        let Some(first) = events.first().filter(|_| !refused) else {
            return Err(error);
        };
        let found = self.store.position(self.lease.conversation(), &first.id).await;
        match (found, self.log_end.next) {
            (Ok(Some(seq)), Some(end)) if seq >= end => {
                self.log_end.next = Some(Seq(seq.0 + events.len() as u64));
                Ok(())
            }
            (Ok(None), _) | (Ok(Some(_)), Some(_)) => Err(error), // under this id something was stored before
            (Ok(Some(_)), None) | (Err(_), _) => {
                self.log_end.doubt = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Takes the state from the log where nobody knew whether something was stored; until that is done, nothing more is.
    pub(super) async fn settle_doubt(&mut self) {
        if self.log_end.doubt.is_none() {
            return;
        }
        match load(self.store.as_ref(), self.lease.conversation()).await {
            Ok(state) => {
                let before = budget::used(&self.state.stats);
                (self.state, self.log_end) = (state, LogEnd::default());
                self.tell_purse(before);
                let fault = self.progress.borrow().fault.clone();
                self.publish_progress(fault);
            }
            Err(error) => tracing::warn!(%error, "the store does not tell what it has"),
        }
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
        let drafts = self.failed(code, detail, kind);
        self.record(drafts).await
    }

    /// What is to be stored of a run that fails.
    pub(super) fn failed(&self, code: &str, detail: String, kind: Classification) -> Vec<Draft> {
        let event = ConversationErrorEvent {
            code: code.to_owned(),
            detail,
            classification: Some(kind),
            extra: Extra::new(),
        };
        let mut drafts: Vec<_> = self.status_after(Trigger::Fail).into_iter().collect();
        drafts.push(Draft::new(Source::Environment, event));
        drafts
    }
}
