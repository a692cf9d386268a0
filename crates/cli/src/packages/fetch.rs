//! Fetches what is to be installed: a folder of this machine, or a git repository.

use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use deft_server::{PackageError, PackageSource};
use tempfile::TempDir;
use tokio::process::Command;

use super::refused;
use crate::output::one_sentence;

/// What was fetched.
pub(super) struct Fetched {
    pub(super) folder: PathBuf,
    /// The commit of the repository.
    pub(super) commit: Option<String>,
    /// Where the repository is until all is copied.
    _kept: Option<TempDir>,
}

pub(super) async fn fetch(
    from: &PackageSource,
    current_dir: &Path,
    limit: Duration,
) -> Result<Fetched, PackageError> {
    let (folder, commit, kept) = match address(&from.source) {
        Some(url) => {
            let kept = tempfile::tempdir().context("cannot make a temporary directory");
            let kept = kept.map_err(refused)?;
            let folder = kept.path().join(name_of(&url));
            let fetching = repository(&url, from.reference.as_deref().unwrap_or("HEAD"), &folder);
            let fetched = tokio::time::timeout(limit, fetching).await.map_err(|_| {
                PackageError::TooSlow(format!("{url} took longer than {} seconds", limit.as_secs()))
            })?;
            let commit = fetched.map_err(|error| PackageError::Unreachable(one_sentence(&error)))?;
            (folder, Some(commit), Some(kept))
        }
        None => (current_dir.join(&from.source), None, None),
    };
    let folder = match &from.repo_path {
        Some(path) => beneath(&folder, path).map_err(refused)?,
        None => folder,
    };
    if !folder.is_dir() {
        let sentence = format!("{} is no folder", from.repo_path.as_ref().unwrap_or(&from.source));
        return Err(PackageError::Refused(sentence));
    }
    Ok(Fetched {
        folder,
        commit,
        _kept: kept,
    })
}

/// What `git` calls the source, if it is no folder.
fn address(source: &str) -> Option<String> {
    if let Some(repository) = source.strip_prefix("github:") {
        return Some(format!("https://github.com/{repository}"));
    }
    let is_remote = ["https://", "ssh://", "git@", "file://"]
        .iter()
        .any(|start| source.starts_with(start));
    is_remote.then(|| source.to_owned())
}

/// The last part of an address, which is the name of a package that has no folder of its own.
fn name_of(url: &str) -> &str {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next();
    last.unwrap_or_default().trim_end_matches(".git")
}

/// Takes one commit of a repository into a new folder; gives its id.
async fn repository(url: &str, reference: &str, folder: &Path) -> anyhow::Result<String> {
    let place = folder.as_os_str();
    git(
        Path::new("/"),
        &["init".as_ref(), "--quiet".as_ref(), "--".as_ref(), place],
        url,
    )
    .await?;
    let run = async |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
        git(folder, &arguments, url).await
    };
    run(&[
        "fetch",
        "--quiet",
        "--depth",
        "1",
        "--no-tags",
        "--",
        url,
        reference,
    ])
    .await?;
    run(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]).await?;
    Ok(run(&["rev-parse", "HEAD"]).await?.trim().to_owned())
}

async fn git(directory: &Path, arguments: &[&std::ffi::OsStr], url: &str) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.args(arguments)
        .current_dir(directory)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = git.output().await;
    let output = output.context("git cannot be run; install it, or name a folder")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        bail!("git cannot fetch {url}: {}", why.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A folder of what was fetched, and of nothing else, whatever the path and the links in it say.
fn beneath(folder: &Path, path: &str) -> anyhow::Result<PathBuf> {
    let is_plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let full = folder.join(path).canonicalize().ok();
    let full = full.filter(|full| is_plain && folder.canonicalize().is_ok_and(|top| full.starts_with(top)));
    full.with_context(|| format!("there is no folder {path:?} in it"))
}
