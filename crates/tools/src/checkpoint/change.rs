//! What a restore does, or would do.

use serde::{Deserialize, Serialize};

use super::CheckpointId;
use super::tree::NotKept;

/// What a restore does to one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path below the workspace, made readable where it is no text.
    pub path: String,
    /// What happens to it.
    pub effect: Effect,
    /// How large it is now, for files.
    pub now: Option<u64>,
    /// How large it was, for files.
    pub then: Option<u64>,
    /// Whether somebody changed it after the agent was last seen to: restoring loses that edit.
    pub edited_since: bool,
}

/// What happens to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It is gone and comes back.
    Create,
    /// It gets the content, target or mode that it had.
    Modify,
    /// It was not there and goes away.
    Delete,
    /// It is not as it was, and stays as it is: there is no copy of it.
    Leave(NotKept),
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The checkpoint that undoes it.
    pub undo: CheckpointId,
    /// What changed.
    pub changes: Vec<Change>,
    /// What could not be changed. Restore again when the reason is gone.
    pub failed: Vec<Failure>,
}

/// A path that could not be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The path below the workspace.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What to do with edits that somebody made after the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overwrite {
    /// Restore nothing if there are any.
    Refuse,
    /// Restore all the same; the checkpoint that is taken first has them.
    Allow,
}
