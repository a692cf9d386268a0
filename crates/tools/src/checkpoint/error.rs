//! Why there is no checkpoint, or no way back to one.

use std::io;
use std::path::{Path, PathBuf};

use super::CheckpointId;

/// Paths that an error names.
const MAX_NAMED_PATHS: usize = 10;

/// Why there is no checkpoint, or no way back to one.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There are too many files. Name the directories that are made by programs in an ignore file.
    #[error(
        "the workspace has more than {limit} files and directories, so no checkpoint was taken; name what programs make \
         in a .gitignore or .ignore file"
    )]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// There is no such checkpoint. List them.
    #[error(
        "there is no checkpoint {id}: it was never taken, it was the oldest and made room for others, or the conversation \
         came from a backup, which has no checkpoints"
    )]
    Unknown {
        /// The one that was asked for.
        id: CheckpointId,
    },
    /// Files were changed by somebody else. Look at them, then allow it or leave it.
    #[error("{}; nothing was restored. Look at what would change, and restore by force to replace them: a checkpoint that has them is taken first", edited(.paths))]
    Edited {
        /// The files.
        paths: Vec<String>,
    },
    /// Copies are gone or damaged. Choose another checkpoint.
    #[error(
        "checkpoint {id} cannot be restored, because copies of files are missing or damaged; choose another one"
    )]
    Damaged {
        /// The checkpoint.
        id: CheckpointId,
    },
    /// The directory of the checkpoints cannot be used.
    #[error("cannot use {} for checkpoints: {source}; see to it that there is room and that you may write there", .path.display())]
    Ours {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system refused something.
    #[error("could not {doing}: {source}; try again when the reason is gone")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl CheckpointError {
    pub(super) fn io(doing: &'static str, source: io::Error) -> Self {
        Self::Io { doing, source }
    }

    pub(super) fn ours(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Ours {
            path: path.to_owned(),
            source,
        }
    }
}

fn edited(paths: &[String]) -> String {
    let named = paths.iter().take(MAX_NAMED_PATHS).cloned().collect::<Vec<_>>();
    let more = match paths.len().saturating_sub(MAX_NAMED_PATHS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("changed by somebody else meanwhile: {}{more}", named.join(", "))
}
