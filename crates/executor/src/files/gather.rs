//! The files that people write for agents, all at once: small texts from all over the workspace.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use deft_tools::careful_walk;
use ignore::{DirEntry, WalkBuilder};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::roots::{Roots, shown};
use crate::request_error::RequestError;

/// Entries that are looked at, in the whole workspace and in each folder.
const MAX_WALKED: usize = 100_000;
/// Files that are told of.
const MAX_FILES: usize = 5_000;
/// Bytes that are read of one file. Whoever reads it can tell that it is too long.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Bytes of all texts together; what comes after is only named.
const MAX_TEXT_BYTES: usize = 8 * 1024 * 1024;

/// What was gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatheredFiles {
    /// The files.
    pub files: Vec<GatheredFile>,
    /// The top of the repository that the workspace is a part of, if it is one and not the top itself.
    pub repository: Option<String>,
}

/// A file of the workspace, or of the repository that it is a part of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatheredFile {
    /// Its absolute path.
    pub path: String,
    /// What it says, where that was asked for and it is a text.
    pub text: Option<String>,
}

/// Files that have one of `names`, in any case, wherever version control has them; and all below `folders`, of which
/// those that end with one of `endings` are read. Where the workspace is a part of a repository, those count as well that
/// stand at its top.
pub(super) fn gather(
    roots: &Roots,
    names: &[String],
    folders: &[String],
    endings: &[String],
) -> Result<GatheredFiles, RequestError> {
    let workspace = roots.absolute("")?;
    let mut gathered = Gathered {
        seen: HashSet::new(),
        files: Vec::new(),
        room: MAX_TEXT_BYTES,
    };
    let is_named = |path: &PathBuf| {
        let name = path.file_name().map(shown).unwrap_or_default();
        names.iter().any(|wanted| wanted.eq_ignore_ascii_case(&name))
    };
    for path in files_below(&workspace, Ignored::LeftOut).filter(is_named) {
        gathered.take(roots, &path, Wanted::Text);
    }
    gathered.folders(roots, folders, endings)?;
    let top = repository_above(&workspace);
    if let Some(top) = &top {
        // Our policy decides whether we may read it, and nothing there leads out of it.
        let roots = Roots::new(vec![top.clone()]);
        let at_top = fs::read_dir(top).into_iter().flatten().filter_map(Result::ok);
        let mut at_top: Vec<_> = at_top.take(MAX_WALKED).map(|entry| entry.path()).collect();
        at_top.sort();
        for path in at_top.iter().filter(|path| is_named(path)) {
            gathered.take(&roots, path, Wanted::Text);
        }
        gathered.folders(&roots, folders, endings)?;
    }
    Ok(GatheredFiles {
        files: gathered.files,
        repository: top.as_deref().map(shown),
    })
}

/// The top of the repository that a directory is a part of. One that somebody else has put above it does not count, nor
/// a home directory: what is there is the user's own.
fn repository_above(directory: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(directory).ok()?;
    let top = real.ancestors().find(|above| above.join(".git").exists())?;
    let owner = |path: &Path| fs::metadata(path).map(|data| data.uid()).ok();
    let is_home = std::env::home_dir().is_some_and(|home| home == top);
    (top != real && !is_home && owner(top) == owner(&real)).then(|| top.to_owned())
}

/// Whether files count that version control ignores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ignored {
    Included,
    LeftOut,
}

/// What is wanted of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Name,
    Text,
}

/// Links are told of and not followed.
fn files_below(directory: &Path, ignored: Ignored) -> impl Iterator<Item = PathBuf> {
    let is_wanted = |entry: &DirEntry| entry.file_name() != ".git";
    let mut walk = match ignored {
        Ignored::LeftOut => careful_walk(directory, is_wanted),
        Ignored::Included => {
            let mut walk = WalkBuilder::new(directory);
            walk.standard_filters(false).filter_entry(is_wanted);
            walk
        }
    };
    walk.hidden(false).sort_by_file_name(std::cmp::Ord::cmp);
    walk.build()
        .take(MAX_WALKED)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()))
        .map(DirEntry::into_path)
}

struct Gathered {
    seen: HashSet<PathBuf>,
    files: Vec<GatheredFile>,
    /// How many bytes may still be read.
    room: usize,
}

impl Gathered {
    fn folders(&mut self, roots: &Roots, folders: &[String], endings: &[String]) -> Result<(), RequestError> {
        for folder in folders {
            let folder = roots.absolute(folder)?;
            if roots.open(&folder, OFlags::PATH).is_err() {
                continue; // missing, or a link that leads out
            }
            for path in files_below(&folder, Ignored::Included) {
                let name = shown(&path).to_lowercase();
                let wanted = if endings.iter().any(|ending| name.ends_with(ending)) {
                    Wanted::Text
                } else {
                    Wanted::Name
                };
                self.take(roots, &path, wanted);
            }
        }
        Ok(())
    }

    fn take(&mut self, roots: &Roots, path: &Path, wanted: Wanted) {
        if self.files.len() >= MAX_FILES || !self.seen.insert(path.to_owned()) {
            return;
        }
        // What a link leads to is opened as any file is: beneath the roots or not at all.
        let text = Some(path).filter(|_| wanted == Wanted::Text).and_then(|path| {
            let text = text_of(roots.file(path).ok()?)?;
            self.room = self.room.checked_sub(text.len())?;
            Some(text)
        });
        let path = shown(path);
        self.files.push(GatheredFile { path, text });
    }
}

fn text_of(file: fs::File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        // Cut in the middle of a character, perhaps.
        Err(error) if error.utf8_error().error_len().is_none() => {
            let end = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(end);
            String::from_utf8(bytes).ok()
        }
        Err(_) => None,
    }
}
