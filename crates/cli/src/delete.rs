//! `deft delete`: a conversation, and what was made for it.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use deft_executor::Client;
use deft_store::{ConversationRecord, Owner, Store, StoreError};

use crate::args::Delete;
use crate::compose;
use crate::exit::{Exit, UsageError};
use crate::output::one_sentence;
use crate::settings::{Settings, Surroundings};
use crate::{workspace, worktree};

/// Conversations read at once in search of others in the same workspace.
const PAGE: usize = 200;

/// What is gone is gone: one letter must not do.
const SHORTEST_ID: usize = 4;

pub(crate) async fn delete(args: &Delete) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let store = compose::open_store(&settings)?;
    let mut out = std::io::stdout().lock();
    for id in &args.ids {
        if id.chars().filter(char::is_ascii_hexdigit).count() < SHORTEST_ID {
            let sentence =
                format!("'{id}' may be meant for anything: give {SHORTEST_ID} characters of the id");
            return Err(UsageError(sentence).into());
        }
        let record = compose::find(store.as_ref(), id).await?;
        let left = delete_one(&settings, store.as_ref(), &record, args.force).await?;
        writeln!(out, "Deleted {}.", record.id)?;
        if let Some(reason) = left {
            writeln!(
                out,
                "What was made for it in {} may be left there: {}.",
                record.workspace,
                one_sentence(&reason)
            )?;
        }
    }
    Ok(Exit::Finished)
}

/// The log goes last: as long as something is left of the workspace, the same command can be given again. With `force`
/// it goes anyway; tells why something is left.
async fn delete_one(
    settings: &Settings,
    store: &dyn Store,
    record: &ConversationRecord,
    force: bool,
) -> anyhow::Result<Option<anyhow::Error>> {
    let lease = match store.acquire(record.id, &Owner::this_process()).await {
        Err(error @ StoreError::Busy { .. }) => {
            return Err(error).context("the conversation is at work; stop it before you delete it");
        }
        acquired => acquired?,
    };
    let root = PathBuf::from(&record.workspace);
    end_executor(settings, record, &root).await;
    let mut left = None;
    if !is_used_by_others(store, record).await? {
        worktree::remove(settings, record.id).await?;
        let removed = workspace::unused::remove(&record.workspace, settings, record.id).await;
        left = removed.err();
    }
    if !force && let Some(reason) = left.take() {
        store.release(lease).await?;
        return Err(reason.context(
            "it was not deleted, because its workspace cannot be removed; --force deletes it and leaves that",
        ));
    }
    workspace::remove(settings, record.id)?;
    store.release(lease).await?;
    store.delete(record.id).await?;
    Ok(left)
}

/// Where there is nobody to be reached, nothing runs, or it ends itself.
async fn end_executor(settings: &Settings, record: &ConversationRecord, root: &Path) -> Option<()> {
    let (workspace, _) = compose::place(settings, record.id, root).ok()?;
    let stream = workspace.find().await?;
    Client::connect(stream).await.ok()?.shutdown().await;
    Some(())
}

/// Whether another conversation works in the same directory, which may be a copy that was made for this one.
async fn is_used_by_others(store: &dyn Store, record: &ConversationRecord) -> anyhow::Result<bool> {
    let mut cursor = None;
    loop {
        let page = store.list(cursor, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(false);
        };
        cursor = Some(last.cursor());
        let is_other =
            |other: &ConversationRecord| other.id != record.id && other.workspace == record.workspace;
        if Path::new(&record.workspace).is_absolute() && page.iter().any(is_other) {
            return Ok(true);
        }
    }
}
