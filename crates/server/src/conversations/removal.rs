//! The end of a conversation.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deft_engine::ExecutorFate;
use deft_executor::Client;
use deft_store::Store;
use deft_types::ConversationId;

use super::{CLOSE_LIMIT, Conversations};
use crate::failure::Failure;
use crate::gateway;
use crate::resident::Farewell;

/// How long an executor may take to end.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long a container and the like may take to be removed or to fall asleep.
const PLACE_LIMIT: Duration = Duration::from_secs(90);

impl Conversations {
    /// Removes a conversation: its log, the executor with all it started, and what was made for it to work in.
    /// Directories stay.
    pub(crate) async fn delete(&self, id: ConversationId) -> Result<(), Failure> {
        let resident = self.resident(id).await?;
        let root = self.root(id).await?;
        if let Some(running) = resident.engine.get() {
            let close = running.conversation.close(ExecutorFate::End);
            let _ = tokio::time::timeout(CLOSE_LIMIT, close).await;
        } else {
            // Whoever else writes to it must not lose it under the hands.
            let lease = self.catalog.store.acquire(id, &self.owner).await?;
            let _ = tokio::time::timeout(END_LIMIT, self.end_executor(id)).await;
            self.catalog.store.release(lease).await?;
        }
        self.residents().remove(&id);
        resident.farewell.send_replace(Some(Farewell::Deleted));
        self.webhooks.deleting(id).await?;
        self.documents().clear(&gateway::folder(id)).await?;
        self.catalog.store.delete(id).await?;
        self.catalog.forget(id);
        // A copy of a repository may have others that work in it.
        if root.is_absolute() && self.allowance.is_used(&root).await? {
            self.forget_executor_or_warn(id).await;
            return Ok(());
        }
        // What cannot be removed now is tried again when orphans are collected.
        let removed = tokio::time::timeout(PLACE_LIMIT, self.composition.remove(id, &root)).await;
        if !matches!(removed, Ok(Ok(()))) {
            tracing::warn!(conversation = %id, ?removed, "the workspace of a deleted conversation stays");
        }
        self.forget_executor_or_warn(id).await;
        Ok(())
    }

    /// Removes what was kept for an executor of another Deft's conversation, and ends what runs of it. `all` has the
    /// conversations of every user.
    pub(crate) async fn forget_foreign(&self, id: ConversationId, all: &dyn Store) -> Result<(), Failure> {
        if all.conversation(id).await?.is_some() {
            return Err(Failure::refused(
                "It is a conversation of this server: delete that",
            ));
        }
        self.forget_executor(id).await.map_err(Failure::refused)
    }

    async fn forget_executor_or_warn(&self, id: ConversationId) {
        if let Err(reason) = self.forget_executor(id).await {
            tracing::warn!(conversation = %id, reason, "what was kept for a deleted conversation stays");
        }
    }

    async fn forget_executor(&self, id: ConversationId) -> Result<(), String> {
        let composition = Arc::clone(&self.composition);
        let forgotten = tokio::task::spawn_blocking(move || composition.forget(id)).await;
        forgotten.unwrap_or_else(|error| Err(error.to_string()))
    }

    /// Lets the workspace of a conversation sleep that was taken out of memory.
    pub(crate) async fn pause_workspace(&self, id: ConversationId) {
        if self.residents().contains_key(&id) {
            return; // somebody has opened it meanwhile
        }
        let Ok(root) = self.root(id).await else {
            return; // deleted meanwhile
        };
        let paused = tokio::time::timeout(PLACE_LIMIT, self.composition.pause(id, &root)).await;
        if !matches!(paused, Ok(Ok(()))) {
            tracing::warn!(conversation = %id, ?paused, "the workspace of an idle conversation stays awake");
        }
    }

    /// Where a conversation works, as it is opened.
    async fn root(&self, id: ConversationId) -> Result<PathBuf, Failure> {
        let record = self.catalog.store.conversation(id).await?;
        Ok(PathBuf::from(record.ok_or_else(Failure::not_found)?.workspace))
    }

    /// Ends the executor that a server of before may have left.
    async fn end_executor(&self, id: ConversationId) -> Option<()> {
        let root = self.root(id).await.ok()?;
        let place = self.composition.place(id, &root).ok()?;
        let stream = place.workspace.find().await?;
        Client::connect(stream).await.ok()?.shutdown().await;
        Some(())
    }
}
