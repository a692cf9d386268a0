//! What is there.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::roots::{Roots, real_path, shown};
use super::tree::{self, Next};
use super::{Entry, EntryKind, EntryPage, Page};
use crate::request_error::RequestError;

/// Entries of a page.
const MAX_LISTED: usize = 1000;
/// Names that a search looks at before it ends with what it has.
const MAX_SEARCHED: usize = 500_000;

pub(super) fn stat(roots: &Roots, path: &Path) -> Result<Entry, RequestError> {
    let opened = roots.open(path, OFlags::PATH)?;
    let status = fstat(&opened).map_err(RequestError::at(&shown(path)))?;
    let real = real_path(&opened)?;
    Ok(entry(shown(real.file_name().unwrap_or_default()), &real, &status))
}

pub(super) fn list(roots: &Roots, path: &Path, page: &Page) -> Result<EntryPage, RequestError> {
    let at = RequestError::at(&shown(path));
    let directory = roots.listable(path)?;
    let from = page.from.clone().map(place);
    let mut names = Vec::new();
    for listed in Dir::read_from(&directory).map_err(&at)? {
        let listed = listed.map_err(&at)?;
        let name = listed.file_name();
        let text = name.to_string_lossy();
        let wanted = page.hidden || !text.starts_with('.');
        if wanted && text != "." && text != ".." {
            let place = place(text.into_owned());
            if from.as_ref().is_none_or(|from| place >= *from) {
                names.push((place, name.to_owned()));
            }
        }
    }
    names.sort_unstable();
    let device = fstat(&directory).map_err(&at)?.st_dev;
    let (limit, mut entries) = (limit(page), Vec::new());
    for ((_, text), name) in names {
        // What has vanished since is left out.
        let Ok(status) = statat(directory.as_fd(), &name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        if page.only.is_some_and(|only| only != kind(&status)) {
            continue;
        }
        if is_stand_in(directory.as_fd(), &name, &status, device) {
            continue;
        }
        if entries.len() == limit {
            let next = Some(text);
            return Ok(EntryPage { entries, next });
        }
        let full = path.join(OsStr::from_bytes(name.to_bytes()));
        entries.push(entry(text, &full, &status));
    }
    Ok(EntryPage { entries, next: None })
}

/// In a sandbox an empty directory of another file system stands in the place of what must not be made. It is no part of
/// the workspace.
fn is_stand_in(above: BorrowedFd<'_>, name: &CStr, status: &Stat, device: u64) -> bool {
    status.st_dev != device && is_empty_directory(above, name)
}

fn is_empty_directory(above: BorrowedFd<'_>, name: &CStr) -> bool {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let listed = openat(above, name, flags, Mode::empty()).and_then(Dir::new);
    let is_name = |listed: rustix::io::Result<DirEntry>| {
        listed.is_ok_and(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
    };
    listed.is_ok_and(|mut listed| !listed.any(is_name))
}

/// What names are sorted by: small and capital letters alike, and then as they are.
fn place(name: String) -> (String, String) {
    (name.to_lowercase(), name)
}

pub(super) fn search(roots: &Roots, path: &Path, name: &str, page: &Page) -> Result<EntryPage, RequestError> {
    let directory = roots.listable(path)?;
    let at = RequestError::at(&shown(path));
    let device = fstat(&directory).map_err(&at)?.st_dev;
    let (wanted, limit) = (name.to_lowercase(), limit(page));
    let (mut entries, mut seen) = (Vec::new(), 0);
    let searched = tree::walk(&directory, &mut |found| {
        seen += 1;
        if entries.len() == limit || seen > MAX_SEARCHED {
            return Ok(Next::Stop);
        }
        let text = found.name.to_string_lossy();
        if !page.hidden && text.starts_with('.') {
            return Ok(Next::Pass);
        }
        if is_stand_in(found.directory, found.name, &found.status, device) {
            return Ok(Next::Pass);
        }
        let kind_fits = page.only.is_none_or(|only| only == kind(&found.status));
        if kind_fits && text.to_lowercase().contains(&wanted) {
            entries.push(entry(shown(&found.path), &path.join(&found.path), &found.status));
        }
        let deep = found.path.components().count() >= tree::MAX_DEPTH;
        Ok::<_, Errno>(if deep { Next::Pass } else { Next::Enter })
    });
    searched.map_err(at)?;
    Ok(EntryPage { entries, next: None })
}

fn limit(page: &Page) -> usize {
    if page.limit == 0 {
        MAX_LISTED
    } else {
        page.limit.min(MAX_LISTED)
    }
}

fn entry(name: String, path: &Path, status: &Stat) -> Entry {
    Entry {
        name,
        path: shown(path),
        kind: kind(status),
        size: status.st_size.try_into().unwrap_or(0),
        modified_ms: status.st_mtime * 1000 + status.st_mtime_nsec.cast_signed() / 1_000_000,
        mode: status.st_mode & 0o7777,
    }
}

fn kind(status: &Stat) -> EntryKind {
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}
