//! `deft skills install`: copies skills into the user's own directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use deft_skills::{Files as _, validate};
use tokio::process::Command;

use super::Disk;

/// How long fetching a repository may take.
const CLONE_LIMIT: Duration = Duration::from_secs(120);
/// What one skill may hold.
const MAX_FILES: usize = 1000;
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// What becomes of a skill that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    Kept,
    Replaced,
}

/// Copies every skill that is in a folder or a repository below `target`; gives their names.
pub(crate) async fn install(
    source: &str,
    current_dir: &Path,
    target: &Path,
    existing: Existing,
) -> anyhow::Result<Vec<String>> {
    let fetched = tempfile::tempdir().context("cannot make a temporary directory")?;
    let folder = match address(source) {
        Some(url) => clone(&url, fetched.path()).await?,
        None => current_dir.join(source),
    };
    let homes = homes(&folder);
    if homes.is_empty() {
        bail!("there is no SKILL.md in {source}, nor in a folder of it");
    }
    let mut names = Vec::new();
    for home in &homes {
        let problems = validate(&Disk, &home.display().to_string());
        if let Some(problem) = problems.iter().find(|problem| problem.fault.is_fatal()) {
            bail!("nothing more was installed: {problem}");
        }
        let name = home.file_name().unwrap_or_default();
        let place = target.join(name);
        if existing == Existing::Kept && place.exists() {
            bail!("{} is there already; add --force to replace it", place.display());
        }
        put(home, &place).with_context(|| format!("cannot install {}", place.display()))?;
        names.push(name.to_string_lossy().into_owned());
    }
    Ok(names)
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

async fn clone(url: &str, into: &Path) -> anyhow::Result<PathBuf> {
    let name = url
        .trim_end_matches('/')
        .rsplit(['/', ':'])
        .next()
        .unwrap_or_default();
    let folder = into.join(name.trim_end_matches(".git"));
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--depth", "1", "--no-tags", "--", url])
        .arg(&folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let cloned = tokio::time::timeout(CLONE_LIMIT, git.output()).await;
    let output = cloned
        .with_context(|| format!("{url} took longer than {} seconds", CLONE_LIMIT.as_secs()))?
        .context("git cannot be run; install it, or name a folder")?;
    if !output.status.success() {
        bail!(
            "git cannot fetch {url}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(folder)
}

/// The folders of skills.
fn homes(folder: &Path) -> Vec<PathBuf> {
    let listed = Disk.list(&folder.display().to_string());
    let mut homes: Vec<_> = listed
        .iter()
        .map(Path::new)
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
        })
        .filter_map(Path::parent)
        .map(Path::to_owned)
        .collect();
    homes.sort();
    // What lies in a skill belongs to it.
    homes.dedup_by(|inner, outer| inner.starts_with(outer));
    homes
}

/// Puts a whole folder in the place of what is there.
fn put(from: &Path, to: &Path) -> anyhow::Result<()> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent)?;
    let unfinished = tempfile::tempdir_in(parent)?;
    let copy = unfinished.path().join("skill");
    copy_folder(from, &copy, &mut (0, 0))?;
    if to.exists() {
        fs::rename(to, unfinished.path().join("before"))?;
    }
    fs::rename(copy, to)?;
    Ok(())
}

/// Copies plain files; links could lead anywhere.
fn copy_folder(from: &Path, to: &Path, copied: &mut (usize, u64)) -> anyhow::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() && entry.file_name() != ".git" {
            copy_folder(&entry.path(), &target, copied)?;
        } else if kind.is_file() {
            copied.0 += 1;
            copied.1 += fs::copy(entry.path(), target)?;
            if copied.0 > MAX_FILES || copied.1 > MAX_BYTES {
                bail!("it has more than {MAX_FILES} files or {MAX_BYTES} bytes");
            }
        }
    }
    Ok(())
}
