//! Copies a package to its place.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use deft_skills::Files as _;

use crate::skills::Disk;

/// What one package may hold.
const MAX_FILES: usize = 1000;
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The folders of skills in a folder.
pub(super) fn homes_of_skills(folder: &Path) -> Vec<PathBuf> {
    let listed = Disk.tracked(&folder.display().to_string());
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
pub(super) fn put(from: &Path, to: &Path) -> anyhow::Result<()> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent)?;
    let unfinished = tempfile::tempdir_in(parent)?;
    let copy = unfinished.path().join("package");
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
