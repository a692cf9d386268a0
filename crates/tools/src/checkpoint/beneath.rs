//! Opens things below the workspace without ever following a link: a directory that is swapped for a link between
//! our look and our write must not lead us out of it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);

/// The workspace, opened.
pub(super) struct Root(OwnedFd);

impl Root {
    /// The workspace itself may be a link: it is what the user named.
    pub(super) fn open(workspace: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, workspace, DIRECTORY, Mode::empty())?))
    }

    /// A directory below the root; the root itself for an empty path.
    pub(super) fn directory(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let mut directory = openat(self.0.as_fd(), c".", DIRECTORY, Mode::empty())?;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            directory = openat(
                &directory,
                OsStr::from_bytes(part),
                DIRECTORY | OFlags::NOFOLLOW,
                Mode::empty(),
            )?;
        }
        Ok(directory)
    }

    /// The directory that holds a path.
    pub(super) fn parent(&self, path: &[u8]) -> io::Result<OwnedFd> {
        self.directory(split(path).0)
    }
}

/// A path's directory and its name in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &OsStr) {
    let (directory, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&b""[..], path),
    };
    (directory, OsStr::from_bytes(name))
}
