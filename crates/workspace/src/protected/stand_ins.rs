//! What stands in the place of what must not be made, for as long as a sandbox runs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, open, openat, unlinkat};
use rustix::process::geteuid;

use super::Guard;
use crate::Policy;

/// How often a directory is opened that others close at the same time, and the pause between.
const MAX_TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(1);
const OWNER_WRITES: u32 = 0o200;
const ALL_RIGHTS: u32 = 0o7777;

/// Holds them in place. Whoever is the last to work in the workspace takes them away, also those of one that died.
#[derive(Debug)]
pub(crate) struct StandIns {
    root: PathBuf,
    /// Locked together by all that work here. Nobody inside can lock it for themselves alone.
    workspace: File,
    guards: BTreeMap<PathBuf, Guard>,
}

impl StandIns {
    pub(crate) fn put(root: &Path, guards: BTreeMap<PathBuf, Guard>) -> io::Result<Self> {
        let workspace = File::open(root)?;
        flock(&workspace, FlockOperation::LockShared)?;
        for (path, guard) in &guards {
            match guard {
                Guard::Placed(text) => place(root, path, text)?,
                // Made as mount points are needed.
                Guard::ReadOnly | Guard::Absent | Guard::Unmakable => {}
            }
        }
        let root = root.to_owned();
        Ok(Self {
            root,
            workspace,
            guards,
        })
    }

    pub(crate) fn guards(&self) -> &BTreeMap<PathBuf, Guard> {
        &self.guards
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        if flock(&self.workspace, FlockOperation::NonBlockingLockExclusive).is_err() {
            return; // to remove a mount point is to remove the mount, there too
        }
        for (path, guard) in &self.guards {
            let removed = |directory: &OwnedFd, name: &OsStr| match guard {
                // Whatever is not empty is no stand-in and stays.
                Guard::Absent => Ok(unlinkat(directory, name, AtFlags::REMOVEDIR)?),
                Guard::Placed(text) if !text.is_empty() && is_file_with(directory, name, text) => {
                    Ok(unlinkat(directory, name, AtFlags::empty())?)
                }
                Guard::Placed(_) | Guard::ReadOnly | Guard::Unmakable => Ok(()),
            };
            let _ = in_its_directory(&self.root, path, removed);
        }
    }
}

/// Takes away what sandboxes have left in a workspace that were killed, unless another one works there.
pub fn remove_stand_ins(policy: &Policy, root: &Path) -> io::Result<()> {
    let workspace = File::open(root)?;
    let guards = super::guards(policy, root);
    let root = root.to_owned();
    drop(StandIns {
        root,
        workspace,
        guards,
    });
    Ok(())
}

/// Makes a file unless something is there. It belongs to the owner of its directory: root leaves nothing of its own in
/// somebody's project.
pub(super) fn place(root: &Path, path: &Path, text: &str) -> io::Result<()> {
    let made = in_its_directory(root, path, |directory, name| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = File::from(openat(directory, name, flags, Mode::from_raw_mode(0o666))?);
        let owner = fstat(directory)?;
        let _ = fchown(&file, Some(owner.st_uid), Some(owner.st_gid)); // others than root make only their own
        Ok(file)
    });
    match made {
        Ok(mut file) => file.write_all(text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Changes what is in the directory of a path, also in one of our own to which its owner cannot write. That is as it was
/// afterwards, also where several do so at once: only who has found it closed closes it again. A lock would not do, for
/// whoever works inside could hold it for ever.
fn in_its_directory<T>(
    root: &Path,
    path: &Path,
    change: impl Fn(&OwnedFd, &OsStr) -> io::Result<T>,
) -> io::Result<T> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let directory = open_real(root, parent)?;
    let refused = match change(&directory, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        outcome => return outcome,
    };
    if fstat(&directory)?.st_uid != geteuid().as_raw() {
        return Err(refused);
    }
    let itself = format!("/proc/self/fd/{}", directory.as_raw_fd());
    for _ in 0..MAX_TRIES {
        let mode = fstat(&directory)?.st_mode & ALL_RIGHTS;
        let is_closed = mode & OWNER_WRITES == 0;
        if is_closed && fs::set_permissions(&itself, Permissions::from_mode(mode | OWNER_WRITES)).is_err() {
            break;
        }
        let outcome = change(&directory, name);
        if is_closed {
            let _ = fs::set_permissions(&itself, Permissions::from_mode(mode));
        }
        match outcome {
            // Another one has closed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
    Err(refused)
}

/// Opens a directory, name by name, below the workspace's or wherever else the user lets write. An agent of another sandbox
/// can put a link into the way at any moment, and what we do here nothing holds back.
fn open_real(root: &Path, directory: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top = if directory.starts_with(root) {
        root
    } else {
        Path::new("/")
    };
    let mut opened = open(top, flags - OFlags::NOFOLLOW, Mode::empty())?;
    for name in directory.strip_prefix(top).unwrap_or(directory) {
        opened = openat(opened, name, flags, Mode::empty())?;
    }
    Ok(opened)
}

fn is_file_with(directory: &OwnedFd, name: &OsStr, text: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(directory, name, flags, Mode::empty()) else {
        return false;
    };
    let mut found = Vec::new();
    let read = File::from(file)
        .take(text.len() as u64 + 1)
        .read_to_end(&mut found);
    read.is_ok() && found == text.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_as_closed_as_before_when_several_have_changed_it_at_once() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("closed");
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o555)).unwrap();
        let mode = || directory.metadata().unwrap().permissions().mode() & 0o777;
        // As for somebody who is not root.
        let change = |_: &OwnedFd, _: &OsStr| match mode() & OWNER_WRITES {
            0 => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        };
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        in_its_directory(place.path(), &directory.join("file"), change).unwrap();
                    }
                });
            }
        });
        assert_eq!(mode(), 0o555);
    }
}
