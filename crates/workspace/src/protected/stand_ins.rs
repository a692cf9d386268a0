//! What stands in the place of what must not be made, for as long as a sandbox runs.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

use super::Guard;
use crate::Policy;

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
/// afterwards.
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
    let mode = directory.metadata()?.mode();
    let writable = Permissions::from_mode(mode | 0o200);
    directory.set_permissions(writable).map_err(|_| refused)?;
    let outcome = change();
    let _ = directory.set_permissions(Permissions::from_mode(mode));
    outcome
}

fn is_file_with(path: &Path, text: &str) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
        && fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
}
