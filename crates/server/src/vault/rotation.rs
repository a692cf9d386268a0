//! Another key for a vault: everything is sealed anew, and the key before is needed no more.
//!
//! At every moment the keys that are written down open everything that is stored, so a crash costs nothing: the next
//! rotation goes on where this one was. A server that runs meanwhile sees the new key before it seals anything more.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use deft_store::{Kept, Rewrite, Store, StoreError};
use deft_types::UserId;
use serde_json::Value;
use uuid::Uuid;

use super::key::Key;
use super::place::{KeyHome, Line, VaultKeys};
use super::{VaultError, private_file};
use crate::catalog;

/// How long what was sealed with the key before may take to reach the store.
const ON_THE_WAY: Duration = Duration::from_secs(2);
/// How often everything is looked through at most.
const MAX_PASSES: usize = 30;

/// Why a vault keeps its key.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    /// A key cannot be read or kept.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The store fails. What was begun can be finished later.
    #[error("the secrets could not be sealed anew: {0}; try again")]
    Store(#[from] StoreError),
    /// Two would each drop the other's key.
    #[error("another rotation is under way; let it finish")]
    UnderWay,
    /// A server has not heard of the new key.
    #[error(
        "something goes on sealing secrets with the key before; restart the server with the new key and try again"
    )]
    StillInUse,
}

/// Gives a vault a new key, in `home`; or the one that a variable names. How many texts were sealed anew.
pub async fn rotate_key(store: &dyn Store, keys: &VaultKeys, home: KeyHome) -> Result<usize, RotationError> {
    let _turn = lock(keys)?;
    let before = if keys.is_given() {
        keys.lines()?
    } else {
        let mut lines = keys.lines()?;
        if lines.len() == 1 {
            lines.insert(0, Line::random(home)?);
            keys.write(&lines)?;
        }
        lines.split_off(1) // more than one were there: an earlier rotation was not finished
    };
    let sealed = seal_anew(store, keys.read()?).await?;
    store.sync().await?; // the key before must outlive whatever only it opens
    if keys.is_given() {
        keys.remove_file()?;
    } else {
        let first = keys.lines()?.into_iter().take(1).collect::<Vec<_>>();
        keys.write(&first)?;
    }
    for line in before {
        if let Err(error) = line.forget() {
            tracing::warn!(%error, "the key before is not needed any more, and could not be removed");
        }
    }
    Ok(sealed)
}

/// Only one at a time: each would drop the other's key.
fn lock(keys: &VaultKeys) -> Result<File, RotationError> {
    let path = keys.file().with_extension("lock");
    let unusable = |error: std::io::Error| private_file::unusable(&path, &error);
    let file = File::create(&path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(RotationError::UnderWay),
        Err(std::fs::TryLockError::Error(error)) => Err(unusable(error).into()),
    }
}

/// Seals everything with the first key, until nothing is found that was sealed with another.
async fn seal_anew(store: &dyn Store, keys: Vec<Key>) -> Result<usize, RotationError> {
    let mut sealed = 0;
    let ring = Arc::new(keys);
    for _ in 0..MAX_PASSES {
        tokio::time::sleep(ON_THE_WAY).await;
        let ring = Arc::clone(&ring);
        let edit: Rewrite = Arc::new(move |kept| sealed_anew(&ring, kept));
        match store.rewrite(edit).await? {
            0 => return Ok(sealed),
            count => sealed += count,
        }
    }
    Err(RotationError::StillInUse)
}

/// The text with what it holds sealed by the first key. None: it is already, or holds nothing that was sealed.
fn sealed_anew(ring: &[Key], kept: Kept<'_>) -> Option<String> {
    let (first, others) = ring.split_first()?;
    let reseal = |place: &str, sealed: &str| {
        let text = others.iter().find_map(|key| key.open(place, sealed))?;
        first.seal(place, &text).ok()
    };
    match kept {
        Kept::Document { key, text } => reseal(place_of(key), text),
        Kept::Settings { conversation, text } => {
            let mut settings: Value = serde_json::from_str(text).ok()?;
            let request = settings.get_mut(catalog::field::REQUEST)?;
            *request = reseal(&conversation.hex(), request.as_str()?)?.into();
            Some(settings.to_string())
        }
    }
}

/// What a document is sealed for: its key as its user knows it.
fn place_of(key: &str) -> &str {
    let of_user = key.strip_prefix("users/").and_then(|rest| rest.split_once('/'));
    match of_user {
        Some((user, own)) if Uuid::parse_str(user).is_ok_and(|id| UserId(id).hex() == user) => own,
        _ => key,
    }
}
