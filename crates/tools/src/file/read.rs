//! Reads files of a bearable size, and says why not where it does not.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::text::Text;

/// How large a file may be to be viewed or edited, in megabytes.
const FILE_LIMIT_MB: u64 = 10;

/// Why a file was not read or written. It is as it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{0} does not exist. Check the path.")]
    Missing(PathBuf),
    #[error("{0} is a directory, which can only be viewed.")]
    Directory(PathBuf),
    #[error("{0} is neither a file nor a directory, and is left alone.")]
    Special(PathBuf),
    #[error(
        "{path} is too large: {size:.1} MB, and at most {limit} MB can be viewed or edited here. Use the terminal (sed, head, tail)."
    )]
    TooLarge { path: PathBuf, size: f64, limit: u64 },
    #[error("{0} is a binary file, which cannot be viewed or edited here.")]
    Binary(PathBuf),
    #[error("Could not {doing} {path}: {source}.")]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl FileError {
    /// Says what was tried with which file.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// It has more bytes than a limit in megabytes.
    pub(crate) fn too_large(path: &Path, bytes: u64, limit: u64) -> Self {
        #[allow(clippy::cast_precision_loss)] // a rounded number for a sentence
        let size = bytes as f64 / 1024.0 / 1024.0;
        Self::TooLarge {
            path: path.to_owned(),
            size,
            limit,
        }
    }
}

/// The bytes of a text file, and the text they spell.
pub(crate) fn read_text(path: &Path) -> Result<(Vec<u8>, Text), FileError> {
    if existing(path)?.is_dir() {
        return Err(FileError::Directory(path.to_owned()));
    }
    let bytes = read_bytes(path)?;
    let text = Text::decode(&bytes).ok_or_else(|| FileError::Binary(path.to_owned()))?;
    Ok((bytes, text))
}

/// The bytes of a file.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    let data = existing(path)?;
    if !data.is_file() {
        return Err(FileError::Special(path.to_owned()));
    }
    let limit = FILE_LIMIT_MB * 1024 * 1024;
    if data.len() > limit {
        return Err(FileError::too_large(path, data.len(), FILE_LIMIT_MB));
    }
    // The system's own files say nothing of their length, and some would keep us waiting for more.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
    let mut bytes = Vec::with_capacity(usize::try_from(data.len()).unwrap_or_default() + 1);
    file.and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(FileError::io("read", path))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::too_large(path, bytes.len() as u64, FILE_LIMIT_MB));
    }
    Ok(bytes)
}

/// What the system knows of a file or directory that is there.
pub(crate) fn existing(path: &Path) -> Result<Metadata, FileError> {
    fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FileError::Missing(path.to_owned()),
        _ => FileError::io("read", path)(error),
    })
}
