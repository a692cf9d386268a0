//! What happened to commands, in the store: a day in a folder, so that days that are too old are found at once.

use std::sync::Arc;

use deft_store::{Store, StoreError};
use deft_types::{BashEvent, ConversationId};

use super::history::{id, timestamp};

const FOLDER: &str = "bash";
/// Where commands are that belong to no conversation.
const NO_CONVERSATION: &str = "none";
/// Days that are kept, today among them.
const KEPT_DAYS: i64 = 30;
/// Letters of a date.
const DATE: usize = "2026-11-15".len();

/// The events of one place.
pub(crate) struct Kept {
    store: Arc<dyn Store>,
    place: String,
}

impl Kept {
    /// Those of a conversation, or those that belong to none.
    pub(crate) fn new(store: Arc<dyn Store>, scope: Option<ConversationId>) -> Self {
        let place = scope.map_or_else(|| NO_CONVERSATION.to_owned(), |id| id.0.simple().to_string());
        Self { store, place }
    }

    pub(crate) async fn add(&self, event: &BashEvent) -> Result<(), StoreError> {
        let text = serde_json::to_string(event).map_err(|error| StoreError::Io(error.to_string()))?;
        self.store
            .swap_document(self.key(event), None, Some(text))
            .await
            .map(drop)
    }

    pub(crate) async fn remove(&self, event: &BashEvent) -> Result<(), StoreError> {
        let key = self.key(event);
        let there = self.store.document(&key).await?;
        self.store.swap_document(key, there, None).await.map(drop)
    }

    /// All that is kept, the oldest first.
    pub(crate) async fn load(&self) -> Result<Vec<BashEvent>, StoreError> {
        let mut events = Vec::new();
        for ago in (0..KEPT_DAYS).rev() {
            let folder = format!("{FOLDER}/{}/{}/", day(ago), self.place);
            let found = self.store.documents(&folder).await?;
            events.extend(
                found
                    .iter()
                    .filter_map(|(_, text)| serde_json::from_str(text).ok()),
            );
        }
        Ok(events)
    }

    fn key(&self, event: &BashEvent) -> String {
        let (date, time) = timestamp(event).split_at_checked(DATE).unwrap_or_default();
        format!("{FOLDER}/{date}/{}/{time}-{}", self.place, id(event))
    }
}

/// Takes away what is too old: the events of the month before what is kept, for it is done every day.
pub(super) async fn tidy(store: &dyn Store) -> Result<(), StoreError> {
    for ago in KEPT_DAYS..KEPT_DAYS + 31 {
        for (key, text) in store.documents(&format!("{FOLDER}/{}/", day(ago))).await? {
            store.swap_document(key, Some(text), None).await?;
        }
    }
    Ok(())
}

/// The date so many days ago.
fn day(ago: i64) -> String {
    let moment = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(ago.saturating_mul(24));
    moment.strftime("%Y-%m-%d").to_string()
}
