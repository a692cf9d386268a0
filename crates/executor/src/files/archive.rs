//! A directory as a `tar.gz`.
//!
//! It holds files, directories and those links that stay inside, all by relative names; what our own unpacking
//! would refuse is left out.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{FileType, Mode, OFlags, fstat, openat, readlinkat};
use tar::{EntryType, Header};
use tokio::sync::mpsc;

use super::pattern;
use super::roots::{Roots, shown};
use super::tree::{self, Found, Next};
use crate::frame::Reply;
use crate::request_error::RequestError;
use crate::stream::{CHUNK_BYTES, Pipe};

/// Entries of an archive.
pub(super) const MAX_ENTRIES: usize = 1_000_000;
/// Bytes that are packed. Also what keeps a file that is mostly holes from filling the other end's disk.
const MAX_PACKED_BYTES: u64 = 64 * 1024 * 1024 * 1024;
/// Pieces between the thread that packs or unpacks and the connection.
pub(super) const QUEUED_PIECES: usize = 2;

/// Streams an archive; gives the number of bytes that were packed.
pub(super) async fn pack(
    roots: Arc<Roots>,
    path: PathBuf,
    exclude: Vec<String>,
    pipe: &Pipe<Reply>,
) -> Result<u64, RequestError> {
    let (sender, mut pieces) = mpsc::channel(QUEUED_PIECES);
    // Without anybody to take its pieces it ends by itself.
    let packing = tokio::task::spawn_blocking(move || {
        let mut packer = Packer {
            tar: tar::Builder::new(GzEncoder::new(PieceWriter::new(sender), Compression::fast())),
            exclude,
            entries: 0,
            bytes: 0,
        };
        let directory = roots.listable(&path)?;
        tree::walk(&directory, &mut |found| packer.add(found))?;
        packer.tar.into_inner()?.finish()?.flush()?;
        Ok(packer.bytes)
    });
    while let Some(piece) = pieces.recv().await {
        pipe.send(piece).await.map_err(|_| RequestError::Lost)?;
    }
    packing.await.map_err(RequestError::failed)?
}

struct Packer {
    tar: tar::Builder<GzEncoder<PieceWriter>>,
    exclude: Vec<String>,
    entries: usize,
    bytes: u64,
}

impl Packer {
    fn add(&mut self, found: &Found<'_>) -> Result<Next, RequestError> {
        if self
            .exclude
            .iter()
            .any(|pattern| pattern::names(pattern, &found.path))
        {
            return Ok(Next::Pass);
        }
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            let what = "entries in an archive".to_owned();
            return Err(RequestError::Busy {
                what,
                limit: MAX_ENTRIES,
            });
        }
        let mut header = Header::new_gnu();
        header.set_mode(found.status.st_mode & 0o777);
        header.set_mtime(found.status.st_mtime.try_into().unwrap_or(0));
        header.set_size(0);
        match found.kind() {
            FileType::Directory => {
                header.set_entry_type(EntryType::Directory);
                self.tar.append_data(&mut header, &found.path, io::empty())?;
            }
            FileType::Symlink => {
                let target = readlinkat(found.directory, found.name, Vec::new())?;
                let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                if stays_inside(&found.path, target) {
                    header.set_entry_type(EntryType::Symlink);
                    self.tar.append_link(&mut header, &found.path, target)?;
                }
            }
            FileType::RegularFile => self.add_file(header, found)?,
            _ => {}
        }
        Ok(Next::Enter)
    }

    fn add_file(&mut self, mut header: Header, found: &Found<'_>) -> Result<(), RequestError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(found.directory, found.name, flags, Mode::empty())
            .map_err(RequestError::at(&shown(&found.path)))?;
        let status = fstat(&file)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Ok(()); // it has become something else
        }
        let size = status.st_size.try_into().unwrap_or(0);
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > MAX_PACKED_BYTES {
            return Err(RequestError::TooLarge {
                what: format!("the directory, with {},", shown(&found.path)),
                limit: MAX_PACKED_BYTES,
            });
        }
        header.set_size(size);
        // A file that shrinks or grows while it is read must not spoil what comes after it.
        let content = File::from(file).chain(io::repeat(0)).take(size);
        Ok(self.tar.append_data(&mut header, &found.path, content)?)
    }
}

/// Whether a link at `path` can lead out of the tree that `path` is relative to. Going up is only allowed at the
/// beginning, where the way goes through directories and not through other links.
pub(super) fn stays_inside(path: &Path, target: &Path) -> bool {
    let (mut depth, mut began) = (path.components().count() - 1, false);
    target.components().all(|component| match component {
        Component::ParentDir => {
            let up = !began && depth > 0;
            depth = depth.saturating_sub(1);
            up
        }
        Component::Normal(_) => {
            began = true;
            true
        }
        Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    })
}

/// Hands on what is written, in pieces.
struct PieceWriter {
    pieces: mpsc::Sender<Bytes>,
    buffer: BytesMut,
}

impl PieceWriter {
    fn new(pieces: mpsc::Sender<Bytes>) -> Self {
        Self {
            pieces,
            buffer: BytesMut::with_capacity(CHUNK_BYTES),
        }
    }
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(CHUNK_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..length]);
        if self.buffer.len() == CHUNK_BYTES {
            self.flush()?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.buffer, BytesMut::with_capacity(CHUNK_BYTES));
        let sent = self.pieces.blocking_send(piece.freeze());
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_goes_up_only_at_its_beginning_and_never_out() {
        for (path, target, expected) in [
            ("link", "file", true),
            ("a/b/link", "../../file", true),
            ("a/b/link", "../../../file", false),
            ("link", "..", false),
            ("link", "/etc/passwd", false),
            // With `d` a link to `.`, this would be the directory above.
            ("link", "d/..", false),
            ("a/link", "./../file", true),
        ] {
            assert_eq!(
                stays_inside(Path::new(path), Path::new(target)),
                expected,
                "{path} -> {target}"
            );
        }
    }
}
