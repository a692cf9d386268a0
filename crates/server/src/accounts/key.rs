//! A key of a user.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, SystemTime};

use deft_types::{Secret, UserId};
use ring::digest;
use serde::{Deserialize, Serialize};

use crate::vault::{self, VaultError};

/// What every key begins with, so that people and scanners of leaked secrets know one when they see it.
const PREFIX: &str = "deft_";
/// Characters of the part that is no secret.
const ID_LENGTH: usize = 12;

/// What a key is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyScope {
    /// To look at conversations and settings.
    Read,
    /// To begin, steer and change them, and to use files.
    Write,
    /// To be shown secrets in clear.
    Secrets,
}

impl fmt::Display for KeyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Secrets => "secrets",
        })
    }
}

/// A key, without what opens the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Names it; no secret.
    pub id: String,
    /// Whose it is.
    pub user: UserId,
    /// What its user calls it.
    pub label: String,
    /// What it is good for.
    pub scopes: BTreeSet<KeyScope>,
    /// Since when it is there.
    pub created_at: SystemTime,
    /// Until when it opens anything.
    pub expires_at: Option<SystemTime>,
    /// SHA-256 of its text: that has 256 random bits, so it cannot be guessed from this.
    hash: String,
}

impl ApiKey {
    pub(super) fn new(
        user: UserId,
        label: &str,
        scopes: BTreeSet<KeyScope>,
        lifetime: Option<Duration>,
    ) -> Result<(Self, Secret<String>), VaultError> {
        let id: String = vault::new_client_key()?.chars().take(ID_LENGTH).collect();
        let text = format!("{PREFIX}{id}_{}", vault::new_client_key()?);
        let created_at = SystemTime::now();
        let key = Self {
            user,
            label: label.to_owned(),
            scopes,
            created_at,
            expires_at: lifetime.and_then(|lifetime| created_at.checked_add(lifetime)),
            hash: hash(&text),
            id,
        };
        Ok((key, Secret::new(text)))
    }

    /// Whether it has had its time.
    pub fn is_expired(&self, now: SystemTime) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// The id in a key's text, if it is one of ours.
pub(crate) fn id_in(text: &str) -> Option<&str> {
    let (id, _) = text.strip_prefix(PREFIX)?.split_once('_')?;
    (id.len() == ID_LENGTH).then_some(id)
}

/// Whether a text is this key's. How long that takes tells only about hashes, which nobody can choose.
pub(crate) fn fits(key: &ApiKey, text: &str) -> bool {
    key.hash == hash(text)
}

/// What is kept of a text with so many random bits that it cannot be guessed from this.
pub(crate) fn hash(text: &str) -> String {
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
