//! Files of the workspace, for people and servers: every path is looked up beneath the roots.

mod archive;
mod beneath;
mod gather;
mod listing;
mod pattern;
mod roots;
mod transfer;
mod tree;
mod unpack;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use gather::{GatheredFile, GatheredFiles};
pub use pattern::is_left_out;
pub(crate) use roots::{Roots, real_path, shown, through_fd};

use crate::frame::Reply;
use crate::request_error::RequestError;
use crate::stream::Pipe;
use crate::work::{blocking, value};

/// What can be asked about files. Paths are absolute or relative to the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FileRequest {
    /// What is there? Answered with an [`Entry`].
    Stat {
        /// The path. A link is followed.
        path: String,
    },
    /// The content, as a stream. Answered with the number of bytes.
    Read {
        /// The file.
        path: String,
        /// Where to begin.
        offset: u64,
        /// How many bytes at most.
        limit: Option<u64>,
    },
    /// Make or replace a file with what is streamed. Answered with the number of bytes.
    Write {
        /// The file. Missing directories are made.
        path: String,
        /// Its permissions. Without, a file that is replaced keeps its own.
        mode: Option<u32>,
    },
    /// Make a directory and those on the way to it.
    MakeDirectory {
        /// The directory.
        path: String,
    },
    /// What is in a directory? Answered with an [`EntryPage`].
    List {
        /// The directory.
        path: String,
        /// Which part of it.
        page: Page,
    },
    /// What beneath a directory has this in its name? Answered with an [`EntryPage`] that has no next page.
    Search {
        /// The directory.
        path: String,
        /// A part of the name, in any case.
        name: String,
        /// Which of them.
        page: Page,
    },
    /// Small texts from all over the workspace. Answered with [`GatheredFiles`].
    Gather {
        /// Names of files that are read wherever they are, unless version control ignores them.
        names: Vec<String>,
        /// Folders below which every file is told of.
        folders: Vec<String>,
        /// How the names of those end that are read.
        endings: Vec<String>,
    },
    /// A directory as a `tar.gz`, as a stream. Answered with the number of bytes that were packed.
    Archive {
        /// The directory.
        path: String,
        /// Names, or paths in the directory, to leave out. `*` stands for any characters but `/`.
        exclude: Vec<String>,
    },
    /// Unpack a streamed `tar.gz` into a directory: all of it or nothing. Answered with the number of bytes unpacked.
    Unpack {
        /// The directory, made if it is missing.
        path: String,
        /// Refuse what unpacks to more.
        max_bytes: u64,
    },
}

/// Which entries to list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Only this name and those behind it: the `next` of the page before.
    pub from: Option<String>,
    /// How many at most; 1,000 at the very most, which is also what 0 means.
    pub limit: usize,
    /// Only these.
    pub only: Option<EntryKind>,
    /// Names that begin with a dot, too.
    pub hidden: bool,
}

/// Something in a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The name; in a search, the path from where the search began.
    pub name: String,
    /// The absolute path.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Bytes in it.
    pub size: u64,
    /// When it was changed, in milliseconds since 1970.
    pub modified_ms: i64,
    /// Its permissions.
    pub mode: u32,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a device or a socket, which cannot be used.
    Special,
}

/// A part of a directory, sorted by name, whatever the case of its letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// The first name of the next page.
    pub next: Option<String>,
}

/// Answers requests about files.
pub(crate) struct Files {
    roots: Arc<Roots>,
}

impl Files {
    pub(crate) fn new(roots: Arc<Roots>) -> Self {
        Self { roots }
    }

    pub(crate) async fn perform(
        &self,
        request: FileRequest,
        pipe: &mut Pipe<Reply>,
    ) -> Result<Value, RequestError> {
        let roots = self.roots.clone();
        match request {
            FileRequest::Stat { path } => {
                value(blocking(move || listing::stat(&roots, &roots.absolute(&path)?)).await?)
            }
            FileRequest::Read { path, offset, limit } => {
                let path = roots.absolute(&path)?;
                value(transfer::read(roots, path, offset, limit, pipe).await?)
            }
            FileRequest::Write { path, mode } => {
                let path = roots.absolute(&path)?;
                value(transfer::write(roots, path, mode, pipe).await?)
            }
            FileRequest::MakeDirectory { path } => {
                let make = move || roots.make_directory(&roots.absolute(&path)?).map(drop);
                value(blocking(make).await?)
            }
            FileRequest::List { path, page } => {
                value(blocking(move || listing::list(&roots, &roots.absolute(&path)?, &page)).await?)
            }
            FileRequest::Search { path, name, page } => {
                let search = move || listing::search(&roots, &roots.absolute(&path)?, &name, &page);
                value(blocking(search).await?)
            }
            FileRequest::Gather {
                names,
                folders,
                endings,
            } => value(blocking(move || gather::gather(&roots, &names, &folders, &endings)).await?),
            FileRequest::Archive { path, exclude } => {
                let path = roots.absolute(&path)?;
                value(archive::pack(roots, path, exclude, pipe).await?)
            }
            FileRequest::Unpack { path, max_bytes } => {
                let path = roots.absolute(&path)?;
                value(unpack::unpack(roots, path, max_bytes, pipe).await?)
            }
        }
    }
}
