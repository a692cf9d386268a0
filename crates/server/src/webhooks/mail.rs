//! What is kept of webhooks: how far each was told of each conversation, what is to be sent besides the log, and
//! what could not be delivered.

use std::sync::Arc;

use deft_store::KeyOrder;
use deft_types::{ConversationId, Seq};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::catalog::Catalog;
use crate::documents::Documents;
use crate::failure::Failure;

/// Requests that are carried over at once.
const CARRIED_AT_ONCE: usize = 100;

/// One request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Letter {
    /// The same whenever it is sent again, so that a receiver can tell.
    pub(super) id: String,
    pub(super) conversation: ConversationId,
    /// Behind the base address.
    pub(super) path: String,
    pub(super) body: String,
}

/// A request that was given up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DeadLetter {
    pub(super) letter: Letter,
    pub(super) reason: String,
    pub(super) attempts: u32,
    pub(super) at: String,
}

/// How far a webhook was told of a conversation, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The next event to tell.
    pub(super) next: Seq,
    text: String,
}

impl Cursor {
    fn at(next: Seq) -> Self {
        Self {
            next,
            text: next.0.to_string(),
        }
    }

    fn read(text: String) -> Self {
        Self {
            next: Seq(text.parse().unwrap_or(0)),
            text,
        }
    }
}

/// See the module.
pub(super) struct Mail {
    pub(super) catalog: Arc<Catalog>,
    pub(super) documents: Documents,
}

impl Mail {
    pub(super) fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            documents: Documents::new(Arc::clone(&catalog)),
            catalog,
        }
    }

    /// How far a webhook was told; none where it does not hear of the conversation.
    pub(super) async fn cursor(&self, hook: &str, id: ConversationId) -> Result<Option<Cursor>, Failure> {
        let text = self.catalog.store.document(&cursor_key(hook, id)).await?;
        Ok(text.map(Cursor::read))
    }

    /// Lets a webhook hear of a conversation from here on, if it does not yet.
    pub(super) async fn begin(&self, hook: &str, id: ConversationId, next: Seq) -> Result<(), Failure> {
        let begun = Some(Cursor::at(next).text);
        let key = cursor_key(hook, id);
        self.catalog.store.swap_document(key, None, begun).await?;
        Ok(())
    }

    /// It was told of everything before this.
    pub(super) async fn advance(
        &self,
        hook: &str,
        id: ConversationId,
        from: Cursor,
        to: Seq,
    ) -> Result<(), Failure> {
        let (from, to) = (Some(from.text), Some(Cursor::at(to).text));
        let key = cursor_key(hook, id);
        self.catalog.store.swap_document(key, from, to).await?;
        Ok(())
    }

    /// It hears no more of a conversation.
    pub(super) async fn end(&self, hook: &str, id: ConversationId) -> Result<(), Failure> {
        if let Some(cursor) = self.cursor(hook, id).await? {
            let key = cursor_key(hook, id);
            self.catalog
                .store
                .swap_document(key, Some(cursor.text), None)
                .await?;
        }
        Ok(())
    }

    /// How far a webhook was told of each conversation.
    pub(super) async fn cursors(&self, hook: &str) -> Result<Vec<(ConversationId, Cursor)>, Failure> {
        let prefix = format!("webhooks/{hook}/cursor/");
        let found = self.catalog.store.documents(&prefix).await?;
        let read =
            |(key, text): (String, String)| Some((key[prefix.len()..].parse().ok()?, Cursor::read(text)));
        Ok(found.into_iter().filter_map(read).collect())
    }

    /// Keeps a request to be sent, behind those that wait.
    pub(super) async fn post(&self, hook: &str, letter: &Letter) -> Result<(), Failure> {
        let number = Uuid::now_v7().simple();
        let key = format!("webhooks/{hook}/outbox/{}/{number}", letter.conversation.hex());
        self.documents.put(&key, &json!(letter)).await
    }

    /// The first request that waits, and where it is kept.
    pub(super) async fn first(
        &self,
        hook: &str,
        id: ConversationId,
    ) -> Result<Option<(String, Letter)>, Failure> {
        let folder = format!("webhooks/{hook}/outbox/{}/", id.hex());
        let first = self.page(&folder, None, KeyOrder::Ascending, 1).await?;
        Ok(first.into_iter().next())
    }

    /// The conversations of which requests wait.
    pub(super) async fn senders(&self, hook: &str) -> Result<Vec<ConversationId>, Failure> {
        let prefix = format!("webhooks/{hook}/outbox/");
        let (mut senders, mut beyond) = (Vec::new(), None::<String>);
        loop {
            let store = &self.catalog.store;
            let next = store.documents_page(&prefix, beyond.as_deref(), KeyOrder::Ascending, 1);
            let Some((key, _)) = next.await?.pop() else {
                return Ok(senders);
            };
            let sender = key[prefix.len()..].split('/').next().unwrap_or_default();
            senders.extend(sender.parse::<ConversationId>());
            beyond = Some(format!("{prefix}{sender}/~")); // behind all of this one's
        }
    }

    /// Forgets what is kept there.
    pub(super) async fn remove(&self, key: &str) -> Result<(), Failure> {
        self.documents.take(key).await?;
        Ok(())
    }

    /// Puts a request aside.
    pub(super) async fn bury(&self, hook: &str, dead: &DeadLetter) -> Result<(), Failure> {
        let key = format!("{}{}", graves(hook), Uuid::now_v7().simple());
        self.documents.put(&key, &json!(dead)).await
    }

    /// Some of what was put aside, beyond a key in their order, and where it is kept.
    pub(super) async fn dead(
        &self,
        hook: &str,
        beyond: Option<&str>,
        order: KeyOrder,
        limit: usize,
    ) -> Result<Vec<(String, DeadLetter)>, Failure> {
        self.page(&graves(hook), beyond, order, limit).await
    }

    /// How much was put aside.
    pub(super) async fn count_dead(&self, hook: &str) -> Result<u64, Failure> {
        self.documents.count(&graves(hook)).await
    }

    /// Forgets what was put aside.
    pub(super) async fn forget_dead(&self, hook: &str) -> Result<(), Failure> {
        self.documents.clear(&graves(hook)).await
    }

    /// Gives all that one webhook is still to be told, and what could not be delivered, to another.
    pub(super) async fn carry_over(&self, from: &str, to: &str) -> Result<(), Failure> {
        for (id, cursor) in self.cursors(from).await? {
            self.begin(to, id, cursor.next).await?;
        }
        for folder in ["outbox", "dead"] {
            let (from, to) = (
                format!("webhooks/{from}/{folder}/"),
                format!("webhooks/{to}/{folder}/"),
            );
            let mut beyond = None::<String>;
            loop {
                let page =
                    self.documents
                        .page(&from, beyond.as_deref(), KeyOrder::Ascending, CARRIED_AT_ONCE);
                let page = page.await?;
                let Some((last, _)) = page.last() else { break };
                beyond = Some(last.clone());
                for (name, value) in &page {
                    self.documents.put(&format!("{to}{name}"), value).await?;
                }
            }
        }
        Ok(())
    }

    /// Forgets everything of a webhook.
    pub(super) async fn forget(&self, hook: &str) -> Result<(), Failure> {
        self.documents.clear(&format!("webhooks/{hook}/")).await
    }

    async fn page<T: for<'de> Deserialize<'de>>(
        &self,
        folder: &str,
        beyond: Option<&str>,
        order: KeyOrder,
        limit: usize,
    ) -> Result<Vec<(String, T)>, Failure> {
        let beyond = beyond.and_then(|key| key.strip_prefix(folder));
        let found = self.documents.page(folder, beyond, order, limit).await?;
        let read = |(name, value)| Some((format!("{folder}{name}"), serde_json::from_value(value).ok()?));
        Ok(found.into_iter().filter_map(read).collect())
    }
}

fn graves(hook: &str) -> String {
    format!("webhooks/{hook}/dead/")
}

fn cursor_key(hook: &str, id: ConversationId) -> String {
    format!("webhooks/{hook}/cursor/{}", id.hex())
}
