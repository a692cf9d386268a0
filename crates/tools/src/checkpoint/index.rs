//! The list of checkpoints, and what is thrown away when there are too many.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use deft_types::Timestamp;
use serde::{Deserialize, Serialize};

use super::hash::Hash;
use super::objects::{Objects, private};
use super::tree::{self, Entry, Tree};
use super::{Checkpoint, CheckpointError, CheckpointId, CheckpointLimits};

const FILE: &str = "index.json";
const UNREADABLE: &str = "index.damaged";

/// What is in the index file.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Index {
    /// The last number given.
    newest: u64,
    /// The bytes of all objects, as far as we know.
    pub(super) bytes: u64,
    /// The tree as the agent left it.
    pub(super) last: Option<Hash>,
    /// Oldest first.
    pub(super) records: Vec<Record>,
}

/// One checkpoint.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) checkpoint: Checkpoint,
    pub(super) tree: Hash,
}

impl Index {
    /// Reads the list. One that is damaged is put aside: a workspace without old checkpoints is better than one
    /// without new ones.
    pub(super) fn load(directory: &Path) -> Result<Self, CheckpointError> {
        private(directory).map_err(CheckpointError::ours(directory))?;
        let path = directory.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(CheckpointError::ours(directory)(error)),
        };
        serde_json::from_slice(&bytes).or_else(|_| {
            fs::rename(&path, directory.join(UNREADABLE)).map_err(CheckpointError::ours(directory))?;
            Ok(Self::default())
        })
    }

    /// Replaces the list in one step.
    pub(super) fn save(&self, directory: &Path) -> Result<(), CheckpointError> {
        let beside = directory.join("index.new");
        serde_json::to_vec(self)
            .map_err(io::Error::from)
            .and_then(|json| fs::write(&beside, json))
            .and_then(|()| fs::rename(&beside, directory.join(FILE)))
            .map_err(CheckpointError::ours(directory))
    }

    pub(super) fn find(&self, id: CheckpointId) -> Result<&Record, CheckpointError> {
        let found = self.records.iter().find(|record| record.checkpoint.id == id);
        found.ok_or(CheckpointError::Unknown { id })
    }

    /// Adds a checkpoint of the tree that was just recorded as the last one.
    pub(super) fn add(&mut self, label: String, taken_at: Timestamp, tree: Hash) -> CheckpointId {
        self.newest += 1;
        let id = CheckpointId(self.newest);
        self.records.push(Record {
            checkpoint: Checkpoint { id, label, taken_at },
            tree,
        });
        id
    }

    /// Drops the oldest checkpoints if there are too many, but never the newest; gives the contents that are still
    /// needed then.
    pub(super) fn shrink(&mut self, objects: &Objects, limits: &CheckpointLimits) -> Option<HashSet<Hash>> {
        if self.bytes <= limits.max_total_bytes && self.records.len() <= limits.max_checkpoints {
            return None;
        }
        // Some room is made, so that this is not done again at once.
        let (most_bytes, most) = (
            limits.max_total_bytes / 4 * 3,
            limits.max_checkpoints.div_ceil(4) * 3,
        );
        let mut kept = HashSet::new();
        let mut bytes = 0;
        if let Some(last) = self.last {
            bytes += mark(objects, last, &mut kept);
        }
        let mut keep = 0;
        for record in self.records.iter().rev() {
            let mut with = kept.clone();
            let grown = bytes + mark(objects, record.tree, &mut with);
            if keep > 0 && (grown > most_bytes || keep >= most) {
                break;
            }
            (kept, bytes, keep) = (with, grown, keep + 1);
        }
        self.records.drain(..self.records.len() - keep);
        Some(kept)
    }
}

/// Adds everything that a tree needs to what is kept; gives the bytes that it takes.
fn mark(objects: &Objects, hash: Hash, kept: &mut HashSet<Hash>) -> u64 {
    if !kept.insert(hash) {
        return 0;
    }
    let mut bytes = objects.size(hash).unwrap_or_default();
    for entry in load(objects, hash).unwrap_or_default().values() {
        if let Entry::File { hash, stamp, .. } = entry
            && kept.insert(*hash)
        {
            bytes += stamp.size;
        }
    }
    bytes
}

/// A tree that was kept.
pub(super) fn load(objects: &Objects, hash: Hash) -> Option<Tree> {
    tree::decode(&objects.get(hash)?)
}
