//! Checkpoints: what the workspace was like before a turn, so that it can be so again.
//!
//! Nothing here knows of version control; what the user's repository holds is neither read nor changed. A checkpoint
//! is a tree of paths ([`tree`]) whose contents are kept once under their hash ([`objects`]; the small ones, which are
//! nearly all, as [`rows`]), in a directory outside the workspace. Taking one is a walk ([`walk`]) over what the ignore
//! files leave ([`rules`]); only files whose stamp changed are read ([`snapshot`]). Restoring compares trees ([`plan`])
//! and then moves file by file ([`restore`]).
//!
//! What differs from the tree that was recorded last was changed by somebody else than the agent, so call
//! [`Checkpoints::settle`] when the agent has done its work.

mod beneath;
mod change;
mod compare;
mod error;
mod hash;
mod index;
mod objects;
mod plan;
mod restore;
mod rows;
mod rules;
mod snapshot;
mod stamp;
mod tree;
mod walk;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use deft_types::Timestamp;
use serde::{Deserialize, Serialize};

use beneath::Root;
pub use change::{Change, Effect, Failure, Overwrite, Restored};
pub use compare::{Comparison, Difference};
pub use error::CheckpointError;
use hash::Hash;
use index::Index;
use objects::Objects;
use plan::Plan;
use restore::Restore;
use snapshot::{Camera, Snapshot};
pub use tree::NotKept;
use tree::{Entry, Tree};

/// Characters of a label that are kept.
const MAX_LABEL_CHARS: usize = 200;

/// A checkpoint's number: 1 for the first one of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointId(pub u64);

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment to which the workspace can go back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its number.
    pub id: CheckpointId,
    /// What it was taken for.
    pub label: String,
    /// When.
    pub taken_at: Timestamp,
}

/// How much is kept.
#[derive(Clone, Debug)]
pub struct CheckpointLimits {
    /// A larger file is not kept.
    pub max_file_bytes: u64,
    /// What all contents together may take; the oldest checkpoints go first. One checkpoint takes half of it at most.
    pub max_total_bytes: u64,
    /// Of a workspace with more files and directories no checkpoint is taken.
    pub max_entries: usize,
    /// Beyond it the oldest checkpoints go.
    pub max_checkpoints: usize,
}

impl Default for CheckpointLimits {
    fn default() -> Self {
        Self {
            max_file_bytes: 10_000_000,
            max_total_bytes: 1 << 30,
            max_entries: 200_000,
            max_checkpoints: 500,
        }
    }
}

/// The checkpoints of one workspace. Every method may take as long as the disk does: call them where that is fine.
pub struct Checkpoints {
    workspace: PathBuf,
    directory: PathBuf,
    objects: Objects,
    limits: CheckpointLimits,
    /// The list and the last tree, once somebody has asked.
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    index: Index,
    last: Tree,
}

impl Checkpoints {
    /// The checkpoints of a workspace, kept in a directory that belongs to them alone. Touches nothing yet.
    pub fn new(workspace: PathBuf, directory: PathBuf, limits: CheckpointLimits) -> Self {
        Self {
            objects: Objects::new(&directory),
            workspace,
            directory,
            limits,
            kept: Mutex::new(None),
        }
    }

    /// Records what the workspace is like now, before it is changed.
    pub fn take(&self, label: &str) -> Result<CheckpointId, CheckpointError> {
        self.with(|kept| {
            let snapshot = self.camera(&self.root()?).shoot(&kept.last)?;
            let id = self.add(kept, snapshot, label)?;
            self.tidy(kept)?;
            Ok(id)
        })
    }

    /// Records what the agent left, so that later edits are known as somebody else's.
    pub fn settle(&self) -> Result<(), CheckpointError> {
        self.with(|kept| {
            let snapshot = self.camera(&self.root()?).shoot(&kept.last)?;
            self.keep(kept, snapshot)?;
            self.tidy(kept)
        })
    }

    /// All checkpoints, oldest first.
    pub fn list(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        self.with(|kept| {
            let records = kept.index.records.iter();
            Ok(records.map(|record| record.checkpoint.clone()).collect())
        })
    }

    /// What restoring would change.
    pub fn preview(&self, id: CheckpointId) -> Result<Vec<Change>, CheckpointError> {
        self.with(|kept| {
            let then = self.tree(kept, id)?;
            let root = self.root()?;
            let (plan, _) = self.plan(kept, &root, &then)?;
            Ok(plan::changes(&plan))
        })
    }

    /// How the workspace differs from what it was.
    pub fn compare(&self, id: CheckpointId) -> Result<Comparison, CheckpointError> {
        self.with(|kept| {
            let then = self.tree(kept, id)?;
            let root = self.root()?;
            let (plan, _) = self.plan(kept, &root, &then)?;
            Ok(compare::compare(&self.objects, &plan))
        })
    }

    /// Makes the workspace what it was: contents, modes, links, empty directories and what was not there. Takes a
    /// checkpoint first, which undoes it. If it is killed, restoring again completes it.
    pub fn restore(&self, id: CheckpointId, overwrite: Overwrite) -> Result<Restored, CheckpointError> {
        self.with(|kept| {
            let then = self.tree(kept, id)?;
            let root = self.root()?;
            let (plan, snapshot) = self.plan(kept, &root, &then)?;
            let edited = plan.iter().filter(|(_, step)| step.edited_since);
            let paths: Vec<_> = edited.map(|(path, _)| plan::readable(path)).collect();
            if overwrite == Overwrite::Refuse && !paths.is_empty() {
                return Err(CheckpointError::Edited { paths });
            }
            let needed = plan.values().filter_map(|step| step.then.as_ref());
            if needed.into_iter().any(|entry| self.is_lost(entry)) {
                return Err(CheckpointError::Damaged { id });
            }
            let restore = Restore {
                root: &root,
                objects: &self.objects,
                then: &then,
            };
            restore.clear(&snapshot.unfinished);
            let undo = self.add(kept, snapshot, &format!("before restoring {id}"))?;
            self.save(kept)?;
            let failed = restore.run(&plan);
            let after = self.camera(&root).shoot(&kept.last)?;
            self.keep(kept, after)?;
            self.tidy(kept)?;
            Ok(Restored {
                undo,
                changes: plan::changes(&plan),
                failed,
            })
        })
    }

    /// Runs with the list, which is read when it is not known.
    fn with<T>(
        &self,
        run: impl FnOnce(&mut Kept) -> Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        let mut guard = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken out, so that after a failure it is what the disk says.
        let mut kept = guard.take().map_or_else(|| self.load(), Ok)?;
        let done = run(&mut kept);
        let committed = self.commit(); // also after a failure, so that nothing stays locked
        let done = done?;
        committed?;
        *guard = Some(kept);
        Ok(done)
    }

    fn load(&self) -> Result<Kept, CheckpointError> {
        let mut index = Index::load(&self.directory)?;
        let last = index.last.and_then(|hash| index::load(&self.objects, hash));
        if last.is_none() {
            index.last = None; // so that a tree that is lost is kept again
        }
        self.objects.forget_failures();
        Ok(Kept {
            index,
            last: last.unwrap_or_default(),
        })
    }

    fn root(&self) -> Result<Root, CheckpointError> {
        Root::open(&self.workspace).map_err(|error| CheckpointError::io("open the workspace", error))
    }

    fn camera<'a>(&'a self, root: &'a Root) -> Camera<'a> {
        Camera {
            workspace: &self.workspace,
            root,
            ours: &self.directory,
            objects: &self.objects,
            limits: &self.limits,
        }
    }

    fn plan(&self, kept: &Kept, root: &Root, then: &Tree) -> Result<(Plan, Snapshot), CheckpointError> {
        let camera = self.camera(root);
        let snapshot = camera.shoot(&kept.last)?;
        let plan = plan::plan(&camera, &snapshot.tree, then, &kept.last)?;
        Ok((plan, snapshot))
    }

    fn tree(&self, kept: &Kept, id: CheckpointId) -> Result<Tree, CheckpointError> {
        let record = kept.index.find(id)?;
        index::load(&self.objects, record.tree).ok_or(CheckpointError::Damaged { id })
    }

    fn is_lost(&self, entry: &Entry) -> bool {
        matches!(entry, Entry::File { hash, stamp, .. } if self.objects.size(*hash) != Some(stamp.size))
    }

    /// Makes a tree the last one.
    fn keep(&self, kept: &mut Kept, snapshot: Snapshot) -> Result<Hash, CheckpointError> {
        let bytes = tree::encode(&snapshot.tree);
        let hash = Hash::of(&bytes);
        let mut added = snapshot.added;
        if kept.index.last != Some(hash) {
            added += self
                .objects
                .put_tree(hash, &bytes)
                .map_err(CheckpointError::ours(&self.directory))?;
        }
        kept.index.bytes += added;
        kept.index.last = Some(hash);
        kept.last = snapshot.tree;
        Ok(hash)
    }

    fn add(&self, kept: &mut Kept, snapshot: Snapshot, label: &str) -> Result<CheckpointId, CheckpointError> {
        let tree = self.keep(kept, snapshot)?;
        let label = label.chars().take(MAX_LABEL_CHARS).collect();
        Ok(kept.index.add(label, Timestamp::at(SystemTime::now()), tree))
    }

    /// Keeps the limits and writes the list.
    fn tidy(&self, kept: &mut Kept) -> Result<(), CheckpointError> {
        if let Some(needed) = kept.index.shrink(&self.objects, &self.limits) {
            // The list first: it must not name what is gone.
            self.save(kept)?;
            let left = self.objects.keep_only(&needed);
            kept.index.bytes = left.map_err(CheckpointError::ours(&self.directory))?;
        }
        self.save(kept)
    }

    /// Writes the list, and before it what it names.
    fn save(&self, kept: &Kept) -> Result<(), CheckpointError> {
        self.commit()?;
        kept.index.save(&self.directory)
    }

    fn commit(&self) -> Result<(), CheckpointError> {
        self.objects
            .commit()
            .map_err(CheckpointError::ours(&self.directory))
    }
}
