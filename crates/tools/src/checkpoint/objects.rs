//! Contents of files, each kept once under its hash.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::ioctl_ficlone;

use super::hash::Hash;
use super::rows::Rows;

/// Larger contents are files of their own, which can share their blocks with those of the workspace.
const MAX_ROW_BYTES: usize = 256 * 1024;

/// Small contents in a database, large ones in a directory. A file there may be half written after a crash, so none is
/// trusted unread.
pub(super) struct Objects {
    directory: PathBuf,
    rows: Rows,
}

impl Objects {
    /// Beneath a directory for the checkpoints alone. Touches nothing yet.
    pub(super) fn new(beneath: &Path) -> Self {
        Self {
            directory: beneath.join("objects"),
            rows: Rows::new(beneath.join("contents.sqlite")),
        }
    }

    /// Keeps a content until [`Objects::commit`] makes it last; gives how many bytes that added. `same` is a file that is
    /// known to hold just that: where the file system can, its blocks are shared instead of written again.
    pub(super) fn put(&self, hash: Hash, bytes: &[u8], same: Option<&File>) -> io::Result<u64> {
        if bytes.len() <= MAX_ROW_BYTES {
            return self.rows.put(hash, bytes);
        }
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

    /// Keeps a tree, however large it is: where the rows are lost, none is left to say that files are known.
    pub(super) fn put_tree(&self, hash: Hash, bytes: &[u8]) -> io::Result<u64> {
        self.rows.put(hash, bytes)
    }

    /// Makes what was put last. Fails if something could not be read meanwhile, so that nobody goes by its absence.
    pub(super) fn commit(&self) -> io::Result<()> {
        self.rows.commit()
    }

    /// For whoever looks anew at what is there, see [`Objects::commit`].
    pub(super) fn forget_failures(&self) {
        self.rows.forget_failures();
    }

    /// A content, if it is there and undamaged. Earlier versions kept small ones as files, too.
    pub(super) fn get(&self, hash: Hash) -> Option<Vec<u8>> {
        let kept = self.rows.get(hash).or_else(|| fs::read(self.path(hash)).ok());
        kept.filter(|bytes| Hash::of(bytes) == hash)
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
        let file = || fs::metadata(self.path(hash)).ok().map(|data| data.len());
        self.rows.size(hash).or_else(file)
    }

    /// Deletes everything but these; gives the bytes that are left.
    pub(super) fn keep_only(&self, kept: &HashSet<Hash>) -> io::Result<u64> {
        let mut left = self.rows.keep_only(kept)?;
        let shards = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(left),
            shards => shards?,
        };
        for shard in shards {
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
        bytes.len() > MAX_ROW_BYTES && same.is_some_and(|same| ioctl_ficlone(&*file, same).is_ok());
    if is_shared { Ok(()) } else { file.write_all(bytes) }
}
