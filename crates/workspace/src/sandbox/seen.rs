//! Whether what was mounted is what had been looked at.
//!
//! bubblewrap is told names. Whoever works in the same workspace meanwhile, in a sandbox of their own, can put a link in the
//! place of a directory behind our look and take it away again behind bubblewrap's: what it leads to would then be mounted
//! in the workspace. Or the mount comes to lie where the link leads: over what hides a secret.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxAttributes, StatxFlags, fstat, fstatvfs,
    open, openat2, statx,
};
use serde::{Deserialize, Serialize};

/// A file or directory of a workspace, by its name and by what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Any bytes, as names of files are.
    path: OsString,
    device: u64,
    inode: u64,
    /// Whether it is not to be changed.
    read_only: bool,
}

impl Seen {
    /// What is there now. No link is followed below the workspace's directory, nor is that one.
    pub(super) fn at(path: &Path, root: &Path, read_only: bool) -> io::Result<Self> {
        let status = fstat(open_real(path, root)?)?;
        Ok(Self {
            path: path.as_os_str().to_owned(),
            device: status.st_dev,
            inode: status.st_ino,
            read_only,
        })
    }

    /// An error if it is not there any more, or not as a mount of its own.
    pub(super) fn check(&self, root: &Path) -> io::Result<()> {
        let found = self.find(root)?;
        let attributes = statx(&found, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?.stx_attributes;
        let is_kept = !self.read_only || fstatvfs(&found)?.f_flag.contains(StatVfsMountFlags::RDONLY);
        if attributes.contains(StatxAttributes::MOUNT_ROOT) && is_kept {
            Ok(())
        } else {
            Err(self.replaced())
        }
    }

    fn find(&self, root: &Path) -> io::Result<OwnedFd> {
        let found = open_real(Path::new(&self.path), root)?;
        let status = fstat(&found)?;
        if (status.st_dev, status.st_ino) == (self.device, self.inode) {
            Ok(found)
        } else {
            Err(self.replaced())
        }
    }

    fn replaced(&self) -> io::Error {
        let path = Path::new(&self.path);
        io::Error::other(format!("{} was replaced meanwhile, try again", path.display()))
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
        let seen = seen.map(|path| Seen::at(&path, root, false).unwrap());
        for seen in &seen {
            seen.find(root).unwrap();
            assert!(seen.check(root).is_err(), "it is not mounted");
        }
        fs::rename(root.join("a"), root.join("old")).unwrap();
        symlink("other", root.join("a")).unwrap();
        assert!(seen[1].find(root).is_err());
        assert!(seen[2].find(root).is_err());
        assert!(Seen::at(&root.join("a/b"), root, false).is_err());
        fs::remove_file(root.join("a")).unwrap();
        fs::rename(root.join("other"), root.join("a")).unwrap();
        let replaced = seen[2].find(root).unwrap_err().to_string();
        assert!(replaced.contains("try again"), "{replaced}");
    }
}
