//! The end of a conversation.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deft_engine::ExecutorFate;
use deft_executor::Client;
use deft_types::ConversationId;

use super::{CLOSE_LIMIT, Conversations};
use crate::failure::Failure;
use crate::resident::Farewell;

/// How long an executor may take to end.
const END_LIMIT: Duration = Duration::from_secs(5);

impl Conversations {
    /// Removes a conversation: its log, and the executor with all it started. Its workspace stays.
    pub(crate) async fn delete(&self, id: ConversationId) -> Result<(), Failure> {
        let resident = self.resident(id).await?;
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
        self.catalog.store.delete(id).await?;
        self.catalog.forget(id);
        let composition = Arc::clone(&self.composition);
        let forgotten = tokio::task::spawn_blocking(move || composition.forget(id)).await;
        if !matches!(forgotten, Ok(Ok(()))) {
            tracing::warn!(conversation = %id, ?forgotten, "what was kept for a deleted conversation stays");
        }
        Ok(())
    }

    /// Ends the executor that a server of before may have left.
    async fn end_executor(&self, id: ConversationId) -> Option<()> {
        let record = self.catalog.store.conversation(id).await.ok()??;
        let place = self
            .composition
            .place(id, &PathBuf::from(record.workspace))
            .ok()?;
        let stream = place.workspace.find().await?;
        Client::connect(stream).await.ok()?.shutdown().await;
        Some(())
    }
}
