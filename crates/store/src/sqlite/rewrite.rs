//! The statements that put other texts in the place of kept ones.

use deft_types::ConversationId;
use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::store::Kept;

/// Goes through everything that is kept beside the logs. How many texts are others now.
pub(super) fn rewrite(
    connection: &Connection,
    edit: &(dyn Fn(Kept<'_>) -> Option<String> + Send + Sync),
) -> Result<usize, StoreError> {
    Ok(documents(connection, edit)? + settings(connection, edit)?)
}

fn documents(
    connection: &Connection,
    edit: &(dyn Fn(Kept<'_>) -> Option<String> + Send + Sync),
) -> Result<usize, StoreError> {
    let mut changed = Vec::new();
    let mut select = connection.prepare("SELECT key, text FROM documents")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (key, text): (String, String) = (row.get(0)?, row.get(1)?);
        let after = edit(Kept::Document {
            key: &key,
            text: &text,
        });
        changed.extend(after.map(|after| (key, after)));
    }
    let mut update = connection.prepare("UPDATE documents SET text = ?2 WHERE key = ?1")?;
    for (key, text) in &changed {
        update.execute(params![key, text])?;
    }
    Ok(changed.len())
}

fn settings(
    connection: &Connection,
    edit: &(dyn Fn(Kept<'_>) -> Option<String> + Send + Sync),
) -> Result<usize, StoreError> {
    let mut changed = Vec::new();
    let mut select = connection.prepare(
        "SELECT conversation, id, settings FROM settings JOIN conversations ON key = conversation",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (key, id, text): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Ok(conversation) = id.parse::<ConversationId>() else {
            continue; // nobody can ask for it
        };
        let after = edit(Kept::Settings {
            conversation,
            text: &text,
        });
        changed.extend(after.map(|after| (key, after)));
    }
    let mut update = connection.prepare("UPDATE settings SET settings = ?2 WHERE conversation = ?1")?;
    for (key, text) in &changed {
        update.execute(params![key, text])?;
    }
    Ok(changed.len())
}
