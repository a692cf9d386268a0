//! Removes what was begun for an agent that could not be started.

use deft_executor::Client;
use deft_store::{ConversationRecord, Store};
use deft_workspace::{WorkspaceName, remove_tree};

use super::own_branch::Copy;
use crate::settings::Settings;
use crate::workspace;

/// Removes its conversation, its executor, and its copy of the repository.
pub(super) async fn remove(
    settings: &Settings,
    store: &dyn Store,
    record: &ConversationRecord,
) -> anyhow::Result<()> {
    let place = workspace::open(&record.workspace, settings, record.id)?;
    if let Some(stream) = place.workspace.find().await
        && let Ok(client) = Client::connect(stream).await
    {
        client.shutdown().await;
    }
    workspace::remove(settings, record.id)?;
    if Copy::is_place_of(&record.workspace, record.id) {
        let name: WorkspaceName = record.workspace.parse()?;
        remove_tree(&name.root())?;
    }
    Ok(store.delete(record.id).await?)
}
