//! A repository of the workspace: how it is found, and what its names stand for.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags, fstat};
use tempfile::TempDir;

use super::Git;
use super::program::{Answer, Place};
use crate::files::{Roots, real_path, shown};
use crate::request_error::RequestError;
use crate::work::blocking;

/// Repositories directly in a directory that are looked at.
const MAX_NESTED: usize = 64;

/// A repository, and the directory in it that was asked about.
pub(super) struct Repository<'a> {
    git: &'a Git,
    /// The directory of its files.
    pub(super) top: PathBuf,
    /// The directory that was asked about, without links.
    pub(super) directory: PathBuf,
    /// Whether it was found in a directory that was asked about, instead of around it.
    pub(super) nested: bool,
    filters: Vec<String>,
    /// Where an index is that is asked instead of the repository's.
    pub(super) index: Option<TempDir>,
}

impl Git {
    /// The repository that holds a directory.
    pub(super) async fn repository(&self, path: &Path) -> Result<Repository<'_>, RequestError> {
        let (roots, start) = (self.roots.clone(), path.to_owned());
        let located = blocking(move || {
            let directory = real_path(&roots.directory(&start)?)?;
            let top = top_of(&roots, &directory)?;
            Ok(top.map(|top| (top, directory)))
        });
        let (top, directory) = located
            .await?
            .ok_or_else(|| RequestError::NotARepository { path: shown(path) })?;
        let mut repository = Repository {
            git: self,
            top,
            directory,
            nested: false,
            filters: Vec::new(),
            index: None,
        };
        repository.check_place().await?;
        repository.filters = repository.filters().await?;
        Ok(repository)
    }

    /// The repository that holds a directory, and those directly in it.
    pub(super) async fn repositories(&self, path: &Path) -> Result<Vec<Repository<'_>>, RequestError> {
        let mut found = Vec::new();
        match self.repository(path).await {
            Ok(repository) => found.push(repository),
            Err(RequestError::NotARepository { .. }) => {}
            Err(error) => return Err(error),
        }
        let (roots, start) = (self.roots.clone(), path.to_owned());
        let nested = blocking(move || {
            let mut nested = BTreeSet::new();
            let directory = real_path(&roots.directory(&start)?)?;
            for entry in fs::read_dir(&directory)? {
                let entry = entry?;
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && has_git(&roots, &entry.path()) && nested.len() < MAX_NESTED {
                    nested.insert(entry.path());
                }
            }
            Ok(nested)
        });
        for path in nested.await? {
            // One that is broken or leads elsewhere must not hide the others.
            found.extend(self.repository(&path).await.map(|repository| Repository {
                nested: true,
                ..repository
            }));
        }
        Ok(found)
    }
}

/// The innermost directory at or above this one, but within the roots, that has a `.git`.
fn top_of(roots: &Roots, directory: &Path) -> Result<Option<PathBuf>, RequestError> {
    for above in directory.ancestors() {
        match roots.open(&above.join(".git"), OFlags::PATH) {
            Ok(_) => return Ok(Some(above.to_owned())),
            Err(RequestError::NotFound { .. }) => {}
            Err(RequestError::Outside { .. }) if !roots.contain(above) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

pub(super) fn has_git(roots: &Roots, directory: &Path) -> bool {
    let opened = roots.open(&directory.join(".git"), OFlags::PATH | OFlags::NOFOLLOW);
    let kind = opened.ok().and_then(|opened| fstat(&opened).ok());
    let kind = kind.map(|status| FileType::from_raw_mode(status.st_mode));
    matches!(kind, Some(FileType::Directory | FileType::RegularFile))
}

impl Repository<'_> {
    /// Runs git where it was asked about.
    pub(super) async fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Result<Answer, RequestError> {
        let place = Place {
            git_dir: &self.top.join(".git"),
            top: &self.top,
            directory: &self.directory,
            filters: &self.filters,
            index: self.index.as_ref().map(|index| index.path().join("index")),
        };
        let arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        self.git.program.run(&place, &arguments).await
    }

    /// The same where it must succeed.
    pub(super) async fn ask(&self, arguments: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, RequestError> {
        let answer = self.run(arguments).await?;
        if answer.succeeded {
            return Ok(answer.stdout);
        }
        Err(RequestError::Git {
            reason: answer.complaint,
        })
    }

    /// The same where "no" is an answer.
    async fn line(&self, arguments: &[&str]) -> Result<Option<String>, RequestError> {
        let answer = self.run(arguments).await?;
        let text = String::from_utf8_lossy(&answer.stdout).trim_end().to_owned();
        Ok(Some(text).filter(|text| answer.succeeded && !text.is_empty()))
    }

    /// The commit that a name stands for.
    pub(super) async fn commit(&self, name: &str) -> Result<Option<String>, RequestError> {
        let name = format!("{name}^{{commit}}");
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])
            .await
    }

    /// The same where there must be one.
    pub(super) async fn named(&self, revision: &str) -> Result<String, RequestError> {
        let unknown = || RequestError::UnknownRevision {
            revision: revision.to_owned(),
        };
        self.commit(revision).await?.ok_or_else(unknown)
    }

    pub(super) async fn branch(&self) -> Result<Option<String>, RequestError> {
        self.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await
    }

    /// The tree with nothing in it, in this repository's way to name things.
    pub(super) async fn empty_tree(&self) -> Result<String, RequestError> {
        let name = self.line(&["hash-object", "-t", "tree", "--stdin"]).await?;
        name.ok_or_else(|| RequestError::Git {
            reason: "it does not name the empty tree".to_owned(),
        })
    }

    /// What people compare their work with: the branch as it was pushed (unless all of it was), else where the work
    /// left the main branch, else the last commit, else nothing.
    pub(super) async fn base(&self) -> Result<String, RequestError> {
        let Some(head) = self.commit("HEAD").await? else {
            return self.empty_tree().await;
        };
        if let Some(branch) = self.branch().await?
            && let Some(pushed) = self.commit(&format!("refs/remotes/origin/{branch}")).await?
            && (pushed != head || !self.changes_since(&head).await?.is_empty())
        {
            return Ok(pushed);
        }
        let default = self
            .line(&["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"])
            .await?;
        let names = [
            "refs/remotes/origin/main".to_owned(),
            "refs/remotes/origin/master".to_owned(),
        ];
        for name in default.into_iter().chain(names) {
            if let Some(commit) = self.commit(&name).await? {
                return Ok(self.merge_base(&head, &commit).await?.unwrap_or(commit));
            }
        }
        for name in ["refs/heads/main", "refs/heads/master"] {
            if let Some(commit) = self.commit(name).await?
                && let Some(base) = self.merge_base(&head, &commit).await?
            {
                return Ok(base);
            }
        }
        Ok(head)
    }

    async fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, RequestError> {
        self.line(&["merge-base", one, other]).await
    }

    /// Refuses a repository whose data is elsewhere.
    async fn check_place(&self) -> Result<(), RequestError> {
        let asked = [
            "rev-parse",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
        ];
        let places = self.ask(&asked).await?;
        for place in String::from_utf8_lossy(&places).lines() {
            let real = fs::canonicalize(place).map_err(RequestError::io(place))?;
            if !self.git.roots.contain(&real) {
                return Err(RequestError::Outside {
                    path: place.to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The names of all filters that are set up.
    async fn filters(&self) -> Result<Vec<String>, RequestError> {
        let keys = self.ask(&["config", "--list", "--name-only", "-z"]).await?;
        let names: BTreeSet<String> = names(&keys)
            .filter_map(|key| {
                let key = key.to_str()?.strip_prefix("filter.")?;
                Some(key.rsplit_once('.')?.0.to_owned())
            })
            .collect();
        Ok(names.into_iter().collect())
    }
}

/// What a `-z` puts a zero after.
pub(super) fn names(bytes: &[u8]) -> impl Iterator<Item = OsString> {
    use std::os::unix::ffi::OsStrExt;
    let names = bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| OsStr::from_bytes(name).to_owned())
}
