//! What a user may use, asked before it is used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::StatusCode;
use deft_engine::Purse;
use deft_store::Store;
use deft_types::{Money, UserId};
use tokio::sync::{Mutex, MutexGuard};

use crate::accounts::Quota;
use crate::failure::Failure;
use crate::security::Directory;

/// Limits that hold for one user; none for whoever owns the server.
pub(crate) struct Allowance {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) user: Option<UserId>,
    /// Where they may work. None: anywhere.
    pub(crate) folders: Option<Vec<PathBuf>>,
    /// What all their conversations draw on.
    pub(crate) purse: Purse,
    pub(crate) beginning: Mutex<()>,
}

impl Allowance {
    /// Whether another conversation may be begun in a directory. What is given is held until it is: two at once must
    /// not both take the last place.
    pub(crate) async fn begin(&self, workspace: &Path) -> Result<Option<MutexGuard<'_, ()>>, Failure> {
        let Some((user, quota)) = self.quota() else {
            return Ok(None);
        };
        let turn = self.beginning.lock().await;
        let usage = self.store.usage(user).await?;
        if quota
            .conversations
            .is_some_and(|most| usage.conversations >= most)
        {
            return Err(exhausted("conversations: delete one, or ask an admin for more"));
        }
        if quota.workspaces.is_some_and(|most| usage.workspaces >= most) && !self.is_used(workspace).await? {
            return Err(exhausted(
                "workspaces: work in one of those that you have, or ask an admin for more",
            ));
        }
        Ok(Some(turn))
    }

    /// Puts into the purse what may still be spent, and refuses to go on where that is nothing.
    pub(crate) async fn left(&self) -> Result<(), Failure> {
        let left = match self.quota() {
            Some((
                user,
                Quota {
                    spend: Some(most), ..
                },
            )) => Some((most - self.store.usage(user).await?.cost).max(Money::ZERO)),
            _ => None,
        };
        self.purse.set_money(left);
        match left {
            Some(Money::ZERO) => Err(exhausted("spending: ask an admin for more")),
            _ => Ok(()),
        }
    }

    /// A directory that a client names, if it may be worked in: with nothing in its path that leads elsewhere.
    pub(crate) fn place(&self, root: PathBuf) -> Result<PathBuf, Failure> {
        let Some(folders) = &self.folders else {
            return Ok(root);
        };
        let place = resolved(&root);
        if folders.iter().any(|folder| place.starts_with(resolved(folder))) {
            return Ok(place);
        }
        let own = folders
            .first()
            .map(|folder| folder.display().to_string())
            .unwrap_or_default();
        Err(Failure::new(
            StatusCode::FORBIDDEN,
            format!("You may not work in this directory; yours is {own}"),
        ))
    }

    /// Whether workspaces of other kinds may be used: they reach what whoever runs the server can.
    pub(crate) fn elsewhere(&self) -> Result<(), Failure> {
        match &self.folders {
            None => Ok(()),
            Some(_) => Err(Failure::new(
                StatusCode::FORBIDDEN,
                "Only admins may work in containers and on other machines; name a directory of yours"
                    .to_owned(),
            )),
        }
    }

    fn quota(&self) -> Option<(UserId, Quota)> {
        let user = self.directory.user(self.user?)?;
        Some((user.id, user.quota))
    }

    /// Whether one of their conversations works there.
    pub(crate) async fn is_used(&self, workspace: &Path) -> Result<bool, Failure> {
        let search = deft_store::Search {
            owner: self.user,
            ..deft_store::Search::default()
        };
        let own = self.store.search(search, MAX_LOOKED_AT).await?;
        Ok(own.iter().any(|record| Path::new(&record.workspace) == workspace))
    }
}

/// Conversations that are looked through for a workspace.
const MAX_LOOKED_AT: usize = 1000;

fn exhausted(what: &str) -> Failure {
    Failure::new(StatusCode::FORBIDDEN, format!("Your quota is used up for {what}"))
}

/// A path without links in the part of it that exists, and without a way back in the rest.
fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut known = path;
    loop {
        if let Ok(real) = known.canonicalize() {
            return rest.iter().rev().fold(real, |path, part| path.join(part));
        }
        match (known.parent(), known.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                known = parent;
            }
            // `..` behind something that does not exist: nowhere.
            _ => return PathBuf::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_ways_back_are_seen_through() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("own")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("own/link")).unwrap();
        assert_eq!(resolved(&root.join("own/new/deep")), root.join("own/new/deep"));
        assert_eq!(resolved(&root.join("own/link/x")), Path::new("/etc/x"));
        assert_eq!(resolved(&root.join("own/../other")), root.join("other"));
        assert_eq!(resolved(&root.join("own/new/../../other")), PathBuf::new());
    }
}
