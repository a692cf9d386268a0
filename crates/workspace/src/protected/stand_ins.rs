//! What stands in the place of what must not be made, for as long as a sandbox runs.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::geteuid;

use super::Guard;
use crate::Policy;

/// How often a directory is opened that others close at the same time, and the pause between.
const MAX_TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(1);
const OWNER_WRITES: u32 = 0o200;

/// Holds them in place. Whoever is the last to work in the workspace takes them away, also those of one that died.
#[derive(Debug)]
pub(crate) struct StandIns {
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
                Guard::Placed(text) => place(path, text)?,
                // Made as mount points are needed.
                Guard::ReadOnly | Guard::Absent | Guard::Unmakable => {}
            }
        }
        Ok(Self { workspace, guards })
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
            let _ = match guard {
                // Whatever is not empty is no stand-in and stays.
                Guard::Absent => in_its_directory(path, || fs::remove_dir(path)),
                Guard::Placed(text) if !text.is_empty() && is_file_with(path, text) => {
                    in_its_directory(path, || fs::remove_file(path))
                }
                Guard::Placed(_) | Guard::ReadOnly | Guard::Unmakable => Ok(()),
            };
        }
    }
}

/// Takes away what sandboxes have left in a workspace that were killed, unless another one works there.
pub fn remove_stand_ins(policy: &Policy, root: &Path) -> io::Result<()> {
    let workspace = File::open(root)?;
    let guards = super::guards(policy, root);
    drop(StandIns { workspace, guards });
    Ok(())
}

/// Makes a file unless something is there. It belongs to the owner of its directory: root leaves nothing of its own in
/// somebody's project.
pub(super) fn place(path: &Path, text: &str) -> io::Result<()> {
    match in_its_directory(path, || File::create_new(path)) {
        Ok(mut file) => {
            if let Some(owner) = path.parent().and_then(|parent| parent.metadata().ok()) {
                let _ = fchown(&file, Some(owner.uid()), Some(owner.gid())); // others than root make only their own
            }
            file.write_all(text.as_bytes())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Changes what is in the directory of a path, also in one of our own to which its owner cannot write. That is as it was
/// afterwards, also where several do so at once: only who has found it closed closes it again. A lock would not do, for
/// whoever works inside could hold it for ever.
fn in_its_directory<T>(path: &Path, change: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let refused = match change() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        outcome => return outcome,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = path
        .parent()
        .map(|directory| open(directory, flags, Mode::empty()));
    let Some(Ok(directory)) = directory.map(|opened| opened.map(File::from)) else {
        return Err(refused);
    };
    if directory.metadata()?.uid() != geteuid().as_raw() {
        return Err(refused);
    }
    for _ in 0..MAX_TRIES {
        let mode = directory.metadata()?.mode();
        let is_closed = mode & OWNER_WRITES == 0;
        if is_closed {
            let writable = Permissions::from_mode(mode | OWNER_WRITES);
            if directory.set_permissions(writable).is_err() {
                break;
            }
        }
        let outcome = change();
        if is_closed {
            let _ = directory.set_permissions(Permissions::from_mode(mode));
        }
        match outcome {
            // Another one has closed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
    Err(refused)
}

fn is_file_with(path: &Path, text: &str) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
        && fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
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
        let mode = || directory.metadata().unwrap().mode() & 0o777;
        // As for somebody who is not root.
        let change = || match mode() & OWNER_WRITES {
            0 => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Ok(()),
        };
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        in_its_directory(&directory.join("file"), change).unwrap();
                    }
                });
            }
        });
        assert_eq!(mode(), 0o555);
    }
}
