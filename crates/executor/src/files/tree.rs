//! A walk over all that is beneath a directory, which follows no links.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

/// Directories in directories; each costs an open file while the walk is in it.
const MAX_DEPTH: usize = 128;

/// Something that a walk came to.
pub(super) struct Found<'a> {
    /// The directory it is in.
    pub(super) directory: BorrowedFd<'a>,
    /// Its name there.
    pub(super) name: &'a CStr,
    /// The path from where the walk began.
    pub(super) path: PathBuf,
    /// Of the thing itself, not of what a link leads to.
    pub(super) status: Stat,
}

impl Found<'_> {
    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.status.st_mode)
    }
}

/// How a walk goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Into this directory.
    Enter,
    /// Past it.
    Pass,
    /// Nowhere: enough was seen.
    Stop,
}

/// Walks in the order of names and comes to a directory before what is in it. What vanishes meanwhile is left out.
pub(super) fn walk<E: From<Errno>>(
    directory: &OwnedFd,
    visit: &mut impl FnMut(&Found<'_>) -> Result<Next, E>,
) -> Result<(), E> {
    walk_in(directory.as_fd(), Path::new(""), 0, visit).map(drop)
}

fn walk_in<E: From<Errno>>(
    directory: BorrowedFd<'_>,
    path: &Path,
    depth: usize,
    visit: &mut impl FnMut(&Found<'_>) -> Result<Next, E>,
) -> Result<Next, E> {
    if depth > MAX_DEPTH {
        return Err(Errno::NAMETOOLONG.into());
    }
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
    }
    names.sort_unstable();
    for name in &names {
        let Ok(status) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let found = Found {
            directory,
            name,
            path: path.join(OsStr::from_bytes(name.to_bytes())),
            status,
        };
        match visit(&found)? {
            Next::Enter if found.kind() == FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let Ok(inner) = openat(directory, name, flags, Mode::empty()) else {
                    continue;
                };
                if walk_in(inner.as_fd(), &found.path, depth + 1, visit)? == Next::Stop {
                    return Ok(Next::Stop);
                }
            }
            Next::Enter | Next::Pass => {}
            Next::Stop => return Ok(Next::Stop),
        }
    }
    Ok(Next::Pass)
}
