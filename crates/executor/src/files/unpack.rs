//! Unpacks an archive that nobody has to trust.
//!
//! Everything goes to a directory beside its place first and is moved into place when all of it was found to be
//! harmless, so a refused archive leaves nothing.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use flate2::read::MultiGzDecoder;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::fs::{fchmod, mkdirat, openat, renameat, statat, symlinkat};
use rustix::io::Errno;
use tar::{Entry, EntryType};
use tokio::sync::mpsc;

use super::archive::{MAX_ENTRIES, QUEUED_PIECES, stays_inside};
use super::roots::{Roots, shown, through_fd};
use super::transfer::{next_piece, permissions, temporary_name};
use crate::frame::Reply;
use crate::request_error::RequestError;
use crate::stream::Pipe;

/// Directories in directories.
const MAX_DEPTH: usize = 128;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Unpacks what is streamed; gives the number of bytes.
pub(super) async fn unpack(
    roots: Arc<Roots>,
    path: PathBuf,
    max_bytes: u64,
    pipe: &mut Pipe<Reply>,
) -> Result<u64, RequestError> {
    let (sender, pieces) = mpsc::channel(QUEUED_PIECES);
    let unpacking = tokio::task::spawn_blocking(move || {
        let target = roots.make_directory(&path)?;
        let staging = Staging::make(target)?;
        let reader = PieceReader {
            pieces,
            rest: Bytes::new(),
            ended: false,
        };
        let bytes = staging.fill(reader, max_bytes)?;
        staging.move_into_place()?;
        Ok(bytes)
    });
    loop {
        let piece = next_piece(pipe).await?;
        let ended = piece.is_none();
        // When nobody takes it the archive was refused, which is what the thread says.
        if sender.send(piece).await.is_err() || ended {
            break;
        }
    }
    unpacking.await.map_err(RequestError::failed)?
}

fn refuse(reason: impl Into<String>) -> RequestError {
    RequestError::Archive {
        reason: reason.into(),
    }
}

/// The directory that is filled before anything is in place. Dropping it removes it.
struct Staging {
    target: OwnedFd,
    name: OsString,
    directory: OwnedFd,
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(through_fd(&self.target).join(&self.name));
    }
}

impl Staging {
    fn make(target: OwnedFd) -> Result<Self, RequestError> {
        let name = temporary_name();
        mkdirat(&target, &name, Mode::from_raw_mode(0o700))?;
        let directory = openat(&target, &name, DIRECTORY, Mode::empty())?;
        Ok(Self {
            target,
            name,
            directory,
        })
    }

    fn fill(&self, reader: PieceReader, max_bytes: u64) -> Result<u64, RequestError> {
        let mut archive = tar::Archive::new(MultiGzDecoder::new(reader));
        let (mut bytes, mut seen) = (0_u64, HashSet::new());
        let unreadable = |error: io::Error| refuse(format!("it cannot be read: {error}"));
        for entry in archive.entries().map_err(unreadable)? {
            let mut entry = entry.map_err(unreadable)?;
            bytes = bytes.saturating_add(entry.size());
            if bytes > max_bytes {
                return Err(refuse(format!("it unpacks to more than {max_bytes} bytes")));
            }
            let path = relative(&entry.path().map_err(unreadable)?)?;
            if seen.len() >= MAX_ENTRIES {
                return Err(refuse(format!("it has more than {MAX_ENTRIES} entries")));
            }
            let is_directory = entry.header().entry_type() == EntryType::Directory;
            if !seen.insert(path.clone()) && !is_directory {
                return Err(refuse(format!("{} is in it twice", shown(&path))));
            }
            self.add(&mut entry, &path)?;
        }
        let mut rest = archive.into_inner().into_inner();
        io::copy(&mut rest, &mut io::sink()).map_err(unreadable)?;
        Ok(bytes)
    }

    fn add(&self, entry: &mut Entry<'_, impl Read>, path: &Path) -> Result<(), RequestError> {
        match entry.header().entry_type() {
            EntryType::XGlobalHeader => Ok(()),
            EntryType::Directory => self.directory(path).map(drop),
            EntryType::Regular | EntryType::Continuous => {
                let (directory, name) = self.place(path)?;
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(directory, name, flags, Mode::from_raw_mode(0o600)).map_err(at(path))?;
                let mode = entry.header().mode().unwrap_or(0o644);
                fchmod(&file, permissions(mode))?;
                let copied = io::copy(entry, &mut File::from(file));
                copied
                    .map(drop)
                    .map_err(|error| refuse(format!("{}: {error}", shown(path))))
            }
            EntryType::Symlink => {
                let target = entry.link_name().ok().flatten().unwrap_or_default();
                if target.as_os_str().is_empty() || !stays_inside(path, &target) {
                    return Err(refuse(format!("{} is a link that leads out of it", shown(path))));
                }
                let (directory, name) = self.place(path)?;
                symlinkat(&*target, directory, name).map_err(at(path))
            }
            _ => Err(refuse(format!(
                "{} is neither file, directory nor link",
                shown(path)
            ))),
        }
    }

    fn place<'a>(&self, path: &'a Path) -> Result<(OwnedFd, &'a OsStr), RequestError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(refuse("an entry has no name"));
        };
        Ok((self.directory(parent)?, name))
    }

    /// Makes directories, and goes through none that is a link.
    fn directory(&self, path: &Path) -> Result<OwnedFd, RequestError> {
        let mut directory = rustix::io::dup(&self.directory)?;
        for name in path {
            match mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(at(path)(errno)),
            }
            directory = openat(&directory, name, DIRECTORY, Mode::empty()).map_err(at(path))?;
        }
        Ok(directory)
    }

    fn move_into_place(self) -> Result<(), RequestError> {
        // All conflicts are found before the first file is moved.
        merge(self.directory.as_fd(), self.target.as_fd(), Pass::Check)?;
        merge(self.directory.as_fd(), self.target.as_fd(), Pass::Move)
    }
}

fn at(path: &Path) -> impl Fn(Errno) -> RequestError {
    move |errno| match errno {
        Errno::LOOP | Errno::NOTDIR => refuse(format!("{} goes through a link or a file", shown(path))),
        Errno::EXIST => refuse(format!("{} is in it twice", shown(path))),
        _ => refuse(format!("{}: {errno}", shown(path))),
    }
}

/// The path of an entry, which must stay beneath.
fn relative(path: &Path) -> Result<PathBuf, RequestError> {
    let mut relative = PathBuf::new();
    for (depth, component) in path.components().enumerate() {
        match component {
            Component::Normal(name) if depth < MAX_DEPTH => relative.push(name),
            Component::CurDir => {}
            _ => {
                return Err(refuse(format!(
                    "the path {} leads out of it or is too deep",
                    shown(path)
                )));
            }
        }
    }
    Ok(relative)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Check,
    Move,
}

/// Moves what is in one directory to another. Files are replaced, directories joined.
fn merge(from: BorrowedFd<'_>, to: BorrowedFd<'_>, pass: Pass) -> Result<(), RequestError> {
    let kind = |directory: BorrowedFd<'_>, name: &OsStr| {
        let status = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(status.st_mode))
    };
    let mut names = Vec::new();
    for entry in Dir::read_from(from)? {
        names.push(OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned());
    }
    for name in names.iter().filter(|name| *name != "." && *name != "..") {
        let (new, old) = (kind(from, name), kind(to, name));
        match (new == Some(FileType::Directory), old) {
            (true, Some(FileType::Directory)) => {
                let inner = openat(from, name, DIRECTORY, Mode::empty())?;
                let outer = openat(to, name, DIRECTORY, Mode::empty()).map_err(at(Path::new(name)))?;
                merge(inner.as_fd(), outer.as_fd(), pass)?;
            }
            (true, Some(_)) | (false, Some(FileType::Directory)) => {
                return Err(refuse(format!(
                    "{} is there already, as something else than in it",
                    shown(name)
                )));
            }
            (_, _) if pass == Pass::Check => {}
            (_, _) => renameat(from, name, to, name).map_err(RequestError::at(&shown(name)))?,
        }
    }
    Ok(())
}

/// Reads the pieces of a stream. A stream that was cut is an error, not an end.
struct PieceReader {
    pieces: mpsc::Receiver<Option<Bytes>>,
    rest: Bytes,
    ended: bool,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.ended {
            match self.pieces.blocking_recv().ok_or(io::ErrorKind::UnexpectedEof)? {
                Some(piece) => self.rest = piece,
                None => self.ended = true,
            }
        }
        let length = self.rest.len().min(buffer.len());
        self.rest.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
