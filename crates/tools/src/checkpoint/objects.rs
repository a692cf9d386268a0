//! Contents of files, each kept once under its hash.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use rustix::fs::ioctl_ficlone;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Smaller contents are not worth the call that shares their blocks.
const MIN_SHARED_BYTES: usize = 256 * 1024;

/// The SHA-256 of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hash([u8; 32]);

impl Hash {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
        Self(hash)
    }

    pub(super) fn parse(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a hash"))
    }
}

/// The directory of contents. A file there may be half written after a crash, so none is trusted unread.
pub(super) struct Objects {
    directory: PathBuf,
}

impl Objects {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Keeps a content; gives how many bytes that added. `same` is a file that is known to hold just that: where the
    /// file system can, its blocks are shared instead of written again.
    pub(super) fn put(&self, hash: Hash, bytes: &[u8], same: Option<&File>) -> io::Result<u64> {
        let path = self.path(hash);
        let create = || {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600).open(&path)
        };
        let (mut file, added) = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private(path.parent().unwrap_or(&self.directory))?;
                (create()?, bytes.len())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::read(&path).is_ok_and(|known| known == bytes) {
                    return Ok(0);
                }
                (OpenOptions::new().write(true).truncate(true).open(&path)?, 0)
            }
            opened => (opened?, bytes.len()),
        };
        fill(&mut file, bytes, same)?;
        Ok(u64::try_from(added).unwrap_or(u64::MAX))
    }

    /// A content, if it is there and undamaged.
    pub(super) fn get(&self, hash: Hash) -> Option<Vec<u8>> {
        fs::read(self.path(hash))
            .ok()
            .filter(|bytes| Hash::of(bytes) == hash)
    }

    /// Writes a content into a new file.
    pub(super) fn copy_to(&self, hash: Hash, file: &mut File) -> io::Result<()> {
        let bytes = self
            .get(hash)
            .ok_or_else(|| io::Error::other("its copy is missing or damaged"))?;
        fill(file, &bytes, File::open(self.path(hash)).ok().as_ref())
    }

    /// How large a content is, if there is one.
    pub(super) fn size(&self, hash: Hash) -> Option<u64> {
        fs::metadata(self.path(hash)).ok().map(|data| data.len())
    }

    /// Deletes everything but these; gives the bytes that are left.
    pub(super) fn keep_only(&self, kept: &HashSet<Hash>) -> io::Result<u64> {
        let mut left = 0;
        for shard in fs::read_dir(&self.directory)? {
            let shard = shard?;
            for object in fs::read_dir(shard.path())? {
                let object = object?;
                let hex =
                    [shard.file_name(), object.file_name()].map(|part| part.to_string_lossy().into_owned());
                if Hash::parse(&hex.concat()).is_some_and(|hash| kept.contains(&hash)) {
                    left += object.metadata()?.len();
                } else {
                    fs::remove_file(object.path())?;
                }
            }
        }
        Ok(left)
    }

    fn path(&self, hash: Hash) -> PathBuf {
        let hex = hash.to_string();
        let (shard, rest) = hex.split_at(2);
        self.directory.join(shard).join(rest)
    }
}

/// Makes a directory for us alone.
pub(super) fn private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Fills an empty file, sharing the blocks of one that holds the same where that can be had.
fn fill(file: &mut File, bytes: &[u8], same: Option<&File>) -> io::Result<()> {
    let is_shared =
        bytes.len() >= MIN_SHARED_BYTES && same.is_some_and(|same| ioctl_ficlone(&*file, same).is_ok());
    if is_shared { Ok(()) } else { file.write_all(bytes) }
}
