//! Writes a file so that nobody sees half of it, and so that it stays the file it was.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{getegid, geteuid};
use uuid::Uuid;

/// Writes a file, with its parent directories if it is new. Links are followed and stay links; mode and owner
/// of an existing file stay.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::canonicalize(path) {
        Ok(target) => {
            let data = fs::metadata(&target)?;
            if can_be_replaced(&data) {
                replace(&target, &data, bytes)
            } else {
                fs::write(&target, bytes)
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            create(path, bytes)
        }
        Err(error) => Err(error),
    }
}

/// Writes a file that is not there yet. If that fails there is none: half of one would be taken for it.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = fs::write(path, bytes);
    if written.is_err() {
        let _ = fs::remove_file(path); // already failing; the first error is the one to tell
    }
    written
}

/// Whether another file may take its name: not if it has other names too, or an owner we cannot give it.
fn can_be_replaced(data: &Metadata) -> bool {
    data.nlink() == 1 && data.uid() == geteuid().as_raw() && data.gid() == getegid().as_raw()
}

fn replace(target: &Path, data: &Metadata, bytes: &[u8]) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = target.with_file_name(format!(".{name:.100}.{}.tmp", Uuid::new_v4().simple()));
    let mut file = match OpenOptions::new().write(true).create_new(true).open(&beside) {
        Ok(file) => file,
        // A directory we may not write to can still hold a file we may write to.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            return fs::write(target, bytes);
        }
        Err(error) => return Err(error),
    };
    let moved = write_all(&mut file, data, bytes).and_then(|()| fs::rename(&beside, target));
    if moved.is_err() {
        // Already failing; the first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    moved
}

fn write_all(file: &mut File, data: &Metadata, bytes: &[u8]) -> io::Result<()> {
    file.set_permissions(data.permissions())?;
    file.write_all(bytes)
}
