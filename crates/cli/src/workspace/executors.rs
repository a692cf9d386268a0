//! What is kept for executors that nobody comes back to: those of deleted conversations, of other Defts that had their
//! workspace here, and of a process that was killed.

use std::fs::DirEntry;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use deft_executor::daemon::SOCKET;
use deft_store::Store;
use deft_types::ConversationId;
use deft_workspace::{end_left_behind, remove_tree};
use uuid::Uuid;

use super::{EXECUTORS, pool};
use crate::settings::Settings;

/// Another Deft may come back to a conversation whose files are here, and want to go back in them: who stays away for longer
/// does not. Those that it deletes it has forgotten itself.
const ABANDONED: Duration = Duration::from_hours(30 * 24);

/// Removes what nobody has used for long and is not of a conversation that is in the store; gives the ids.
pub(super) async fn collect(settings: &Settings, store: &dyn Store) -> anyhow::Result<Vec<String>> {
    let ready = pool::noted(settings);
    let mut removed = Vec::new();
    let entries = std::fs::read_dir(settings.data_dir.value.join(EXECUTORS));
    for entry in entries.into_iter().flatten().flatten() {
        let Some(id) = conversation(&entry) else {
            continue;
        };
        let is_wanted = ready.contains(&id.to_string()) || store.conversation(id).await?.is_some();
        if !is_wanted && is_abandoned(&entry) && !is_running(&entry.path()) {
            let path = entry.path();
            end_left_behind(&path);
            match remove_tree(&path) {
                Ok(()) => removed.push(id.to_string()),
                Err(error) => tracing::warn!(path = %path.display(), %error, "what is kept for nobody stays"),
            }
        }
    }
    Ok(removed)
}

fn conversation(entry: &DirEntry) -> Option<ConversationId> {
    let name = entry.file_name();
    let hex = name.to_str()?.split('-').next()?;
    Uuid::parse_str(hex).ok().map(ConversationId)
}

fn is_abandoned(entry: &DirEntry) -> bool {
    let changed = entry.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|passed| passed >= ABANDONED))
}

fn is_running(directory: &Path) -> bool {
    let sockets = [directory.join(SOCKET), directory.join("in").join(SOCKET)];
    sockets.iter().any(|socket| UnixStream::connect(socket).is_ok())
}
