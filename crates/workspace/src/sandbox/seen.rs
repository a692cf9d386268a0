//! Whether what was mounted is what had been looked at.
//!
//! bubblewrap is told names. Whoever works in the same workspace meanwhile, in a sandbox of their own, can put a link in the
//! place of a directory behind our look and take it away again behind bubblewrap's: what it leads to would then be mounted
//! in the workspace.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, open, openat2};
use serde::{Deserialize, Serialize};

/// A file or directory of a workspace, by its name and by what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Any bytes, as names of files are.
    path: OsString,
    device: u64,
    inode: u64,
}

impl Seen {
    /// What is there now. No link is followed below the workspace's directory, nor is that one.
    pub(super) fn at(path: &Path, root: &Path) -> io::Result<Self> {
        let status = fstat(open_real(path, root)?)?;
        Ok(Self {
            path: path.as_os_str().to_owned(),
            device: status.st_dev,
            inode: status.st_ino,
        })
    }

    /// An error if it is not there any more.
    pub(super) fn check(&self, root: &Path) -> io::Result<()> {
        let path = Path::new(&self.path);
        if Self::at(path, root)? == *self {
            return Ok(());
        }
        let what = format!("{} was replaced meanwhile, try again", path.display());
        Err(io::Error::other(what))
    }
}

fn open_real(path: &Path, root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let top = open(root, flags | OFlags::DIRECTORY, Mode::empty())?;
    match path.strip_prefix(root) {
        Ok(below) if below.as_os_str().is_empty() => Ok(top),
        Ok(below) => {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            Ok(openat2(top, below, flags, Mode::empty(), resolve)?)
        }
        Err(_) => Ok(open(path, flags, Mode::empty())?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_was_replaced_or_lies_behind_a_link_is_not_what_was_seen() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("other/b")).unwrap();
        let seen = [root.to_owned(), root.join("a"), root.join("a/b")];
        let seen = seen.map(|path| Seen::at(&path, root).unwrap());
        for seen in &seen {
            seen.check(root).unwrap();
        }
        fs::rename(root.join("a"), root.join("old")).unwrap();
        symlink("other", root.join("a")).unwrap();
        assert!(seen[1].check(root).is_err());
        assert!(seen[2].check(root).is_err());
        assert!(Seen::at(&root.join("a/b"), root).is_err());
        fs::remove_file(root.join("a")).unwrap();
        fs::rename(root.join("other"), root.join("a")).unwrap();
        let replaced = seen[2].check(root).unwrap_err().to_string();
        assert!(replaced.contains("try again"), "{replaced}");
    }
}
