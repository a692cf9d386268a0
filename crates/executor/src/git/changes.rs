//! Which files differ.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::repository::{Repository, names};
use super::{Change, ChangeStatus, Git};
use crate::files::shown;
use crate::request_error::RequestError;

impl Git {
    /// What differs from a commit in a directory and in repositories directly in it, sorted by path.
    pub(super) async fn changes(
        &self,
        path: &Path,
        revision: Option<&str>,
    ) -> Result<Vec<Change>, RequestError> {
        let mut all = BTreeMap::new();
        for repository in self.repositories(path).await? {
            let base = match revision {
                Some(revision) if repository.nested => match repository.commit(revision).await? {
                    Some(commit) => commit,
                    None => continue, // it is the outer repository's
                },
                Some(revision) => repository.named(revision).await?,
                None => repository.base().await?,
            };
            let name = repository.directory.file_name().filter(|_| repository.nested);
            let prefix = Path::new(name.unwrap_or_default());
            let changes = repository.changes_since(&base).await?;
            all.extend(
                changes
                    .into_iter()
                    .map(|(path, status)| (prefix.join(path).into(), status)),
            );
        }
        Ok(listed(all))
    }

    /// What a commit changed, compared with the first of those before it.
    pub(super) async fn commit_changes(
        &self,
        path: &Path,
        revision: &str,
    ) -> Result<Vec<Change>, RequestError> {
        let repository = self.repository(path).await?;
        let commit = repository.named(revision).await?;
        let before = repository.before(&commit).await?;
        let arguments = [
            "diff-tree",
            "-r",
            "-z",
            "--name-status",
            "--no-renames",
            &before,
            &commit,
        ];
        Ok(listed(statuses(&repository.ask(&arguments).await?)))
    }
}

impl Repository<'_> {
    /// The first parent of a commit, or the empty tree.
    pub(super) async fn before(&self, commit: &str) -> Result<String, RequestError> {
        match self.commit(&format!("{commit}^1")).await? {
            Some(before) => Ok(before),
            None => self.empty_tree().await,
        }
    }

    /// What differs now, by path from the directory that was asked about.
    pub(super) async fn changes_since(
        &self,
        base: &str,
    ) -> Result<BTreeMap<OsString, ChangeStatus>, RequestError> {
        let tracked = [
            "diff",
            "--name-status",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
            "--relative",
            base,
            "--",
        ];
        let mut changes = statuses(&self.ask(&tracked).await?);
        let untracked = ["ls-files", "--others", "--exclude-standard", "-z"];
        for name in names(&self.ask(&untracked).await?) {
            // A directory stands for a repository in it, which is asked for itself.
            if !name.as_encoded_bytes().ends_with(b"/") {
                changes.insert(name, ChangeStatus::Added);
            }
        }
        Ok(changes)
    }
}

/// Reads `M\0path\0A\0path\0`.
fn statuses(output: &[u8]) -> BTreeMap<OsString, ChangeStatus> {
    let mut fields = names(output);
    let mut changes = BTreeMap::new();
    while let (Some(letter), Some(path)) = (fields.next(), fields.next()) {
        let status = match letter.as_encoded_bytes().first() {
            Some(b'A') => ChangeStatus::Added,
            Some(b'D') => ChangeStatus::Deleted,
            _ => ChangeStatus::Updated, // other content, another kind, or a conflict
        };
        changes.insert(path, status);
    }
    changes
}

fn listed(changes: BTreeMap<OsString, ChangeStatus>) -> Vec<Change> {
    let listed = changes.into_iter().map(|(path, status)| Change {
        status,
        path: shown(path),
    });
    listed.collect()
}
