//! Copies of repositories whose conversations are gone.

use std::path::Path;
use std::time::Duration;

use deft_store::Store;
use deft_types::ConversationId;

use super::{Copy, note, notes, remove};
use crate::settings::Settings;

/// What is younger is left alone: its conversation may just be being made.
const ORPHAN_AGE: Duration = Duration::from_mins(10);
/// Conversations that are looked at together.
const PAGE: usize = 500;

/// Brings what is left in them home and removes them; gives their ids. One that another conversation works in stays.
pub(crate) async fn collect(settings: &Settings, store: &dyn Store) -> anyhow::Result<Vec<String>> {
    let mut removed = Vec::new();
    for id in remembered(settings)? {
        let is_old = std::fs::metadata(note(settings, id))
            .and_then(|found| found.modified())
            .is_ok_and(|made| made.elapsed().is_ok_and(|age| age > ORPHAN_AGE));
        if !is_old || store.conversation(id).await?.is_some() {
            continue;
        }
        let Some(copy) = Copy::of(settings, id)? else {
            continue;
        };
        if !is_used(store, &copy.place).await? {
            remove(settings, id).await?;
            removed.push(id.hex());
        }
    }
    Ok(removed)
}

fn remembered(settings: &Settings) -> anyhow::Result<Vec<ConversationId>> {
    let entries = match std::fs::read_dir(notes(settings)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let id_of = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.ok()?.file_name();
        name.to_str()?.strip_suffix(".json")?.parse().ok()
    };
    Ok(entries.filter_map(id_of).collect())
}

async fn is_used(store: &dyn Store, place: &Path) -> anyhow::Result<bool> {
    let mut behind = None;
    loop {
        let page = store.list(behind, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(false);
        };
        if page.iter().any(|record| Path::new(&record.workspace) == place) {
            return Ok(true);
        }
        behind = Some(last.cursor());
    }
}
