//! What was made for conversations that are deleted and could not be removed then, because its place was out of reach.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use deft_types::ConversationId;

use super::unused;
use crate::output::one_sentence;
use crate::settings::Settings;

/// Where that is noted, in the data directory: a file for each conversation, with the name of its workspace.
const NOTES: &str = "left";
/// How long it is tried. Who is away for longer does not come back.
const PATIENCE: Duration = Duration::from_hours(30 * 24);

/// Removes what was made for a conversation. As long as that has not happened it is noted.
pub(crate) async fn remove(kept: &str, settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    let note = notes(settings).join(id.to_string());
    let failed = || format!("cannot write {}", note.display());
    std::fs::create_dir_all(notes(settings)).with_context(failed)?;
    std::fs::write(&note, kept).with_context(failed)?;
    unused::remove(kept, settings, id).await?;
    std::fs::remove_file(&note).with_context(failed)
}

/// Tries again, for each that was noted; gives the ids of those of whom nothing is left.
pub(super) async fn collect(settings: &Settings) -> Vec<String> {
    let mut removed = Vec::new();
    for entry in std::fs::read_dir(notes(settings)).into_iter().flatten().flatten() {
        let note = entry.path();
        let Some(id) = entry.file_name().to_str().and_then(|id| id.parse().ok()) else {
            continue; // nothing of ours
        };
        let name = std::fs::read_to_string(&note).unwrap_or_default();
        match unused::remove(&name, settings, id).await {
            Ok(()) => removed.push(id.to_string()),
            Err(error) if !is_older(&note, PATIENCE) => {
                tracing::warn!(
                    reason = one_sentence(&error),
                    "the workspace of a deleted conversation stays"
                );
                continue;
            }
            Err(_) => {}
        }
        let _ = std::fs::remove_file(&note); // else it is tried once more, and nothing is there
    }
    removed
}

fn notes(settings: &Settings) -> PathBuf {
    settings.data_dir.value.join(NOTES)
}

fn is_older(note: &Path, age: Duration) -> bool {
    let written = note.metadata().and_then(|data| data.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|passed| passed > age))
}
