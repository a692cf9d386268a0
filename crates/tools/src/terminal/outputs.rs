//! The files that long outputs are kept in.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How many are kept; the oldest go first.
const FILE_COUNT_LIMIT: usize = 32;

/// The outputs of one workspace, also those that an earlier process has left.
#[derive(Debug)]
pub(super) struct Outputs {
    directory: PathBuf,
    /// The oldest first.
    files: Mutex<VecDeque<PathBuf>>,
}

impl Outputs {
    /// Finds what is there already.
    pub(super) fn in_directory(directory: PathBuf) -> Self {
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        Self {
            directory,
            files: Mutex::new(files.into_iter().map(|(_, path)| path).collect()),
        }
    }

    /// Where they are.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps one more, and removes those that are too many then.
    pub(super) async fn keep(&self, file: PathBuf) {
        let surplus: Vec<PathBuf> = {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.push_back(file);
            let surplus = files.len().saturating_sub(FILE_COUNT_LIMIT);
            files.drain(..surplus).collect()
        };
        for file in surplus {
            // Somebody else may have removed it.
            let _ = tokio::fs::remove_file(file).await;
        }
    }
}
