//! What files were before they were edited.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// How many edits of one file can be undone.
const EDITS_PER_FILE: usize = 10;
/// How many bytes of old files are kept in all; the oldest go first.
const TOTAL_BYTES: usize = 128 * 1024 * 1024;

/// A file before an edit.
#[derive(Debug, PartialEq)]
pub(super) enum Before {
    Absent,
    Bytes(Vec<u8>),
}

impl Before {
    fn size(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// The edits that can be undone, oldest first.
#[derive(Debug, Default)]
pub(super) struct History(VecDeque<(PathBuf, Before)>);

impl History {
    /// Remembers a file (by its canonical path) before an edit.
    pub(super) fn push(&mut self, path: PathBuf, before: Before) {
        let same_file = |entry: &(PathBuf, Before)| entry.0 == path;
        if self.0.iter().filter(|entry| same_file(entry)).count() >= EDITS_PER_FILE
            && let Some(oldest) = self.0.iter().position(same_file)
        {
            self.0.remove(oldest);
        }
        self.0.push_back((path, before));
        let mut total: usize = self.0.iter().map(|(_, before)| before.size()).sum();
        while total > TOTAL_BYTES
            && let Some((_, oldest)) = self.0.pop_front()
        {
            total -= oldest.size();
        }
    }

    /// The file before its last edit.
    pub(super) fn last(&self, path: &Path) -> Option<&Before> {
        self.0
            .iter()
            .rfind(|entry| entry.0 == path)
            .map(|(_, before)| before)
    }

    /// Forgets the last edit of a file.
    pub(super) fn forget_last(&mut self, path: &Path) {
        if let Some(at) = self.0.iter().rposition(|entry| entry.0 == path) {
            self.0.remove(at);
        }
    }
}
