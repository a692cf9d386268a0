//! A user: who they are and what they may use.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use deft_types::{Money, UserId};
use serde::{Deserialize, Serialize};

use super::error::AccountError;
use super::key::KeyScope;

const MAX_NAME: usize = 32;

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything, everywhere on the machine that the server may use.
    Admin,
    /// Conversations and settings of their own, in folders of their own.
    Member,
    /// Only look.
    Viewer,
}

impl Role {
    /// What a key of such a user may be good for.
    pub fn scopes(self) -> BTreeSet<KeyScope> {
        let all = [KeyScope::Read, KeyScope::Write, KeyScope::Secrets];
        let count = match self {
            Self::Admin | Self::Member => all.len(),
            Self::Viewer => 1,
        };
        all.into_iter().take(count).collect()
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Member => "member",
            Self::Viewer => "viewer",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Their id, which never changes.
    pub id: UserId,
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Whether what belongs to nobody is theirs.
    #[serde(default)]
    pub owns_the_store: bool,
    /// Their address: who shows that it is theirs may sign in as them.
    #[serde(default)]
    pub email: Option<String>,
    /// A viewer looks at what this user has.
    #[serde(default)]
    pub sees: Option<UserId>,
    /// Directories where a member may work, besides their own.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// What they may use.
    #[serde(default)]
    pub quota: Quota,
    /// Whether their keys open nothing for now.
    #[serde(default)]
    pub disabled: bool,
    /// Since when they are here.
    pub created_at: SystemTime,
}

/// A user to add.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// Their name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Their address: who shows that it is theirs may sign in as them.
    pub email: Option<String>,
    /// Whom a viewer looks at, by name.
    pub sees: Option<String>,
    /// Directories where a member may work, besides their own.
    pub folders: Vec<PathBuf>,
    /// What they may use.
    pub quota: Quota,
}

/// What a user may use at most. None: as much as they like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// Conversations that they have at once.
    #[serde(default)]
    pub conversations: Option<u64>,
    /// Workspaces that these are in.
    #[serde(default)]
    pub workspaces: Option<u64>,
    /// What these may cost.
    #[serde(default)]
    pub spend: Option<Money>,
}

pub(super) fn check_name(name: &str) -> Result<(), AccountError> {
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    if begins_well && name.len() <= MAX_NAME && name.chars().all(is_good) {
        Ok(())
    } else {
        Err(AccountError::BadName(name.to_owned()))
    }
}
