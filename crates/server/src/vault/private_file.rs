//! Files that are for the user alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use deft_types::Secret;

use super::VaultError;

/// Bits of a file's mode that let others in.
const OTHERS: u32 = 0o077;

/// Characters that a key has at least.
const SHORTEST: usize = 16;

/// The content of a private file.
pub(crate) struct PrivateFile {
    pub(crate) value: Secret<String>,
    pub(crate) origin: Origin,
}

/// Where the content of a private file comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was there.
    Found,
    /// It was made just now.
    Made,
}

/// Reads a file that is for the user alone, or makes it. It is there whole or not at all: half a key opens nothing,
/// and an empty one would open everything.
pub(crate) fn private_file(
    path: &Path,
    make: impl FnOnce() -> Result<String, VaultError>,
) -> Result<PrivateFile, VaultError> {
    let found = |value| PrivateFile {
        value,
        origin: Origin::Found,
    };
    if fs::symlink_metadata(path).is_ok() {
        return read(path).map(found);
    }
    let text = make()?;
    match put(path, &text) {
        Ok(()) => Ok(PrivateFile {
            value: Secret::new(text),
            origin: Origin::Made,
        }),
        // Another process has made it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path).map(found),
        Err(error) => Err(unusable(path, &error)),
    }
}

/// Puts a whole file where there is none.
fn put(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(std::process::id().to_string());
    let _ = fs::remove_file(&beside); // of an earlier try
    let put = || {
        write(&mut create(&beside)?, text)?;
        match fs::hard_link(&beside, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&beside, path), // there are none
            linked => linked,
        }
    };
    let put = put();
    let _ = fs::remove_file(&beside); // it was one name too many, or is no use
    put?;
    sync_directory(path)
}

/// Reads a file, if it is for the user alone.
pub(super) fn read(path: &Path) -> Result<Secret<String>, VaultError> {
    let found = fs::symlink_metadata(path).map_err(|error| unusable(path, &error))?;
    if !found.is_file() || found.mode() & OTHERS != 0 {
        return Err(VaultError::KeyFile {
            path: path.to_owned(),
            reason: "it must be a plain file that only you can read; run: chmod 600 on it".to_owned(),
        });
    }
    let text = fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
    let text = text.trim();
    if text.len() < SHORTEST {
        return Err(VaultError::KeyFile {
            path: path.to_owned(),
            reason: format!(
                "it is empty or holds fewer than {SHORTEST} characters, which is no key; put back the right one (a session key may also be removed: a new one is made)"
            ),
        });
    }
    Ok(Secret::new(text.to_owned()))
}

/// Puts a whole new file in the place of one. Whatever happens meanwhile, one of the two is there.
pub(super) fn replace(path: &Path, text: &Secret<String>) -> Result<(), VaultError> {
    let beside = path.with_extension("new");
    let replaced = || -> io::Result<()> {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {} // what an earlier try left behind
        }
        write(&mut create(&beside)?, text.expose())?;
        fs::rename(&beside, path)?;
        sync_directory(path)
    };
    replaced().map_err(|error| unusable(path, &error))
}

/// Makes what was done to the names in a file's directory survive a power cut.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn write(file: &mut File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

pub(super) fn unusable(path: &Path, error: &io::Error) -> VaultError {
    VaultError::KeyFile {
        path: path.to_owned(),
        reason: format!("{error}; check its permissions"),
    }
}
