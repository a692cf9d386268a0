//! The content of one file, read or written as a stream of any length.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use uuid::Uuid;

use super::roots::{Entry, Roots, shown};
use crate::frame::Reply;
use crate::request_error::RequestError;
use crate::stream::{CHUNK_BYTES, Pipe};
use crate::work::blocking;

/// How long the next piece of a file may take to come.
const STALL_LIMIT: Duration = Duration::from_secs(600);

/// Streams a file.
pub(super) async fn read(
    roots: Arc<Roots>,
    path: PathBuf,
    offset: u64,
    limit: Option<u64>,
    pipe: &Pipe<Reply>,
) -> Result<u64, RequestError> {
    let io = RequestError::io(&shown(&path));
    let mut file = File::from_std(blocking(move || roots.file(&path)).await?);
    file.seek(std::io::SeekFrom::Start(offset)).await.map_err(&io)?;
    let mut rest = file.take(limit.unwrap_or(u64::MAX));
    let mut sent = 0;
    loop {
        let mut piece = BytesMut::with_capacity(CHUNK_BYTES);
        let length = rest.read_buf(&mut piece).await.map_err(&io)?;
        if length == 0 {
            return Ok(sent);
        }
        sent += length as u64;
        pipe.send(piece.freeze()).await.map_err(|_| RequestError::Lost)?;
    }
}

/// Makes or replaces a file. It is in place when all of it is there, and not before.
pub(super) async fn write(
    roots: Arc<Roots>,
    path: PathBuf,
    mode: Option<u32>,
    pipe: &mut Pipe<Reply>,
) -> Result<u64, RequestError> {
    let io = RequestError::io(&shown(&path));
    let (unfinished, file) = blocking(move || Unfinished::begin(&roots, path, mode)).await?;
    let mut file = File::from_std(file);
    let mut written = 0;
    while let Some(piece) = next_piece(pipe).await? {
        file.write_all(&piece).await.map_err(&io)?;
        written += piece.len() as u64;
    }
    file.flush().await.map_err(&io)?;
    blocking(move || unfinished.finish()).await?;
    Ok(written)
}

/// The next piece of what a client sends, `None` at the end.
pub(super) async fn next_piece(pipe: &mut Pipe<Reply>) -> Result<Option<bytes::Bytes>, RequestError> {
    let piece = tokio::time::timeout(STALL_LIMIT, pipe.receive()).await;
    piece
        .map_err(|_| RequestError::Lost)?
        .map_err(|_| RequestError::Lost)
}

/// A file that is being written, under another name. Dropping it removes it.
struct Unfinished {
    path: PathBuf,
    place: Entry,
    temporary: OsString,
}

impl Unfinished {
    fn begin(roots: &Roots, path: PathBuf, mode: Option<u32>) -> Result<(Self, std::fs::File), RequestError> {
        let place = roots.entry(&path)?;
        let mode = match statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => mode,
            Err(errno) => return Err(RequestError::at(&shown(&path))(errno)),
            Ok(status) => match FileType::from_raw_mode(status.st_mode) {
                FileType::RegularFile => mode.or(Some(status.st_mode)),
                FileType::Directory => return Err(RequestError::IsDirectory { path: shown(&path) }),
                _ => return Err(RequestError::Special { path: shown(&path) }),
            },
        };
        let unfinished = Self {
            path,
            place,
            temporary: temporary_name(),
        };
        let file = unfinished
            .create(mode)
            .map_err(RequestError::at(&shown(&unfinished.path)))?;
        Ok((unfinished, file.into()))
    }

    fn create(&self, mode: Option<u32>) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let usual = Mode::from_raw_mode(0o666); // less what the umask takes away
        let file = openat(&self.place.directory, &self.temporary, flags, usual)?;
        if let Some(mode) = mode {
            fchmod(&file, permissions(mode))?;
        }
        Ok(file)
    }

    fn finish(self) -> Result<(), RequestError> {
        let directory = &self.place.directory;
        renameat(directory, &self.temporary, directory, &self.place.name)
            .map_err(RequestError::at(&shown(&self.path)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After `finish` there is nothing of that name.
        let _ = unlinkat(&self.place.directory, &self.temporary, AtFlags::empty());
    }
}

/// A name that nobody can have made before.
pub(super) fn temporary_name() -> OsString {
    format!(".deft-{}.part", Uuid::new_v4().simple()).into()
}

/// Without the bits that make a program run as somebody else.
pub(super) fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o777)
}
