//! Removing directories in which an agent could make whatever it liked.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmod, fstat, openat, rmdir, unlinkat};
use rustix::io::Errno;

const OWNER_MAY_ALL: u32 = 0o700;
const OPENED: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What is left to be removed in a directory in which another one is being emptied.
struct Level {
    /// Which directory it is: it could be moved meanwhile, and the way up would lead elsewhere.
    device: u64,
    inode: u64,
    emptied: CString,
    waiting: Vec<CString>,
}

/// Removes a directory and all that is in it, if it is there. No link is followed. What others remove meanwhile is removed.
///
/// The standard library's way goes as deep into the stack as directories lie in each other, and an agent can bring down who
/// takes it. And it stops at a directory that its owner cannot write to, of which Go's cache of modules is full.
pub fn remove_tree(directory: &Path) -> io::Result<()> {
    let Some(mut here) = unless_gone(open_wide(CWD, directory.as_os_str().as_bytes()))? else {
        return Ok(());
    };
    let mut waiting = remove_files(&here)?;
    let mut above: Vec<Level> = Vec::new();
    loop {
        if let Some(name) = waiting.pop() {
            let Some(inner) = unless_gone(open_wide(&here, name.to_bytes()))? else {
                continue;
            };
            let status = fstat(&here)?;
            above.push(Level {
                device: status.st_dev,
                inode: status.st_ino,
                emptied: name,
                waiting,
            });
            here = inner;
            waiting = remove_files(&here)?;
        } else if let Some(level) = above.pop() {
            here = openat(&here, "..", OPENED, Mode::empty())?;
            let status = fstat(&here)?;
            if (status.st_dev, status.st_ino) != (level.device, level.inode) {
                return Err(io::Error::other("it was moved meanwhile"));
            }
            unless_gone(unlinkat(&here, level.emptied, AtFlags::REMOVEDIR))?;
            waiting = level.waiting;
        } else {
            return unless_gone(rmdir(directory)).map(|_| ());
        }
    }
}

fn unless_gone<T>(done: Result<T, Errno>) -> io::Result<Option<T>> {
    match done {
        Err(Errno::NOENT) => Ok(None),
        done => Ok(Some(done?)),
    }
}

/// Opens a directory, for its owner too.
fn open_wide(place: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let found = openat(place, name, OPENED | OFlags::PATH, Mode::empty())?;
    if fstat(&found)?.st_mode & OWNER_MAY_ALL != OWNER_MAY_ALL {
        let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
        chmod(itself, Mode::RWXU)?;
    }
    openat(found, ".", OPENED, Mode::empty())
}

/// Removes what is no directory; gives what is.
fn remove_files(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut directories = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        match unlinkat(directory, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => directories.push(name.to_owned()),
            Err(Errno::NOENT) => {}
            outcome => outcome?,
        }
    }
    Ok(directories)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::mkdirat;
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

    use super::*;

    #[test]
    fn directories_that_lie_very_deep_in_each_other_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        fs::create_dir_all(top.join("beside/it")).unwrap();
        let mut deepest = openat(CWD, &top, OPENED, Mode::empty()).unwrap();
        for _ in 0..2_000 {
            mkdirat(&deepest, "d", Mode::RWXU).unwrap();
            deepest = openat(&deepest, "d", OPENED, Mode::empty()).unwrap();
        }
        let removed = {
            let top = top.clone();
            std::thread::Builder::new()
                .stack_size(128 * 1024)
                .spawn(move || remove_tree(&top))
        };
        removed.unwrap().join().unwrap().unwrap();
        assert!(top.symlink_metadata().is_err());
    }

    #[test]
    fn directories_that_are_closed_to_their_owner_are_removed_and_links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("top/go/pkg/mod")).unwrap();
        fs::create_dir_all(path("outside")).unwrap();
        fs::write(path("outside/file"), "").unwrap();
        fs::write(path("top/go/pkg/mod/file"), "").unwrap();
        symlink(path("outside"), path("top/go/link")).unwrap();
        for (closed, mode) in [("go/pkg/mod", 0o555), ("go/pkg", 0), ("go", 0o500), ("", 0o300)] {
            set_permissions(path("top").join(closed), Permissions::from_mode(mode)).unwrap();
        }
        let top = path("top");
        // As for somebody who is not root: a thread has capabilities of its own.
        let removed = std::thread::spawn(move || {
            let none = CapabilitySet::empty();
            let none = CapabilitySets {
                effective: none,
                permitted: none,
                inheritable: none,
            };
            set_capabilities(None, none).unwrap();
            remove_tree(&top)
        });
        removed.join().unwrap().unwrap();
        assert!(path("top").symlink_metadata().is_err());
        assert!(path("outside/file").exists());
    }

    #[test]
    fn what_others_remove_meanwhile_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        for number in 0..2_000 {
            fs::create_dir_all(top.join(format!("{number}/inner"))).unwrap();
            fs::write(top.join(format!("{number}/inner/file")), "").unwrap();
        }
        std::thread::scope(|scope| {
            let remove = || scope.spawn(|| remove_tree(&top));
            let both = [remove(), remove()];
            for one in both {
                one.join().unwrap().unwrap();
            }
        });
        assert!(top.symlink_metadata().is_err());
        remove_tree(&top).unwrap();
    }
}
