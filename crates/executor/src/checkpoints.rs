//! Checkpoints over the wire: what a client can ask, and what it is told.

use std::time::Duration;

use deft_tools::{
    Change, Checkpoint, CheckpointError, CheckpointId, Checkpoints, Comparison, Mask, Overwrite, Restored,
};
use serde::{Deserialize, Serialize};

use crate::Client;

/// How long an answer may take: a first checkpoint reads every file of the workspace.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// Changes that one answer tells; the rest of a longer list is left out.
const MAX_TOLD_CHANGES: usize = 10_000;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CheckpointRequest {
    /// Record the workspace before a turn changes it.
    Take {
        /// What it is taken for.
        label: String,
    },
    /// Record what the agent left: later edits are somebody else's.
    Settle,
    /// Tell all checkpoints.
    List,
    /// Tell what restoring would change.
    Preview {
        /// The checkpoint.
        id: CheckpointId,
    },
    /// Tell how the workspace differs from what it was.
    Compare {
        /// The checkpoint.
        id: CheckpointId,
    },
    /// Make the workspace what it was.
    Restore {
        /// The checkpoint.
        id: CheckpointId,
        /// What to do with edits of somebody else.
        overwrite: Overwrite,
    },
}

/// What it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CheckpointReply {
    /// The answer to `take`.
    Taken {
        /// The new checkpoint.
        id: CheckpointId,
    },
    /// The answer to `settle`.
    Settled,
    /// The answer to `list`.
    Listed {
        /// Oldest first.
        checkpoints: Vec<Checkpoint>,
    },
    /// The answer to `preview`.
    Previewed {
        /// What would change.
        changes: Vec<Change>,
    },
    /// The answer to `compare`.
    Compared(Comparison),
    /// The answer to `restore`.
    Restored(Restored),
    /// It could not be done.
    Failed {
        /// Why, and what to do.
        message: String,
    },
}

impl CheckpointRequest {
    /// Does what was asked. Takes as long as the disk does.
    pub(crate) fn answer(self, checkpoints: &Checkpoints, mask: &Mask) -> CheckpointReply {
        self.run(checkpoints, mask)
            .unwrap_or_else(|error| CheckpointReply::Failed {
                message: error.to_string(),
            })
    }

    fn run(self, checkpoints: &Checkpoints, mask: &Mask) -> Result<CheckpointReply, CheckpointError> {
        Ok(match self {
            Self::Take { label } => CheckpointReply::Taken {
                id: checkpoints.take(&label)?,
            },
            Self::Settle => {
                checkpoints.settle()?;
                CheckpointReply::Settled
            }
            Self::List => CheckpointReply::Listed {
                checkpoints: checkpoints.list()?,
            },
            Self::Preview { id } => {
                let mut changes = checkpoints.preview(id)?;
                changes.truncate(MAX_TOLD_CHANGES);
                CheckpointReply::Previewed { changes }
            }
            Self::Compare { id } => {
                let mut comparison = checkpoints.compare(id)?;
                for path in &mut comparison.paths {
                    for side in [&mut path.before, &mut path.after].into_iter().flatten() {
                        *side = mask.hide(side).into_owned();
                    }
                }
                CheckpointReply::Compared(comparison)
            }
            Self::Restore { id, overwrite } => {
                let mut restored = checkpoints.restore(id, overwrite)?;
                restored.changes.truncate(MAX_TOLD_CHANGES);
                restored.failed.truncate(MAX_TOLD_CHANGES);
                CheckpointReply::Restored(restored)
            }
        })
    }
}

/// Why a client got no answer, or not the one it wanted.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointFailure {
    /// The executor could not, and says why.
    #[error("{0}")]
    Refused(String),
    /// The connection broke. Connect again and look what was done.
    #[error("the connection to the executor broke before it answered; connect again and look what was done")]
    Lost,
    /// No answer came. It may still be at it.
    #[error("the executor did not answer within {} seconds; it may still be at work", ANSWER_TIMEOUT.as_secs())]
    Late,
    /// It answered something else: it is of another version.
    #[error("the executor answered something else; stop it and try again")]
    Protocol,
}

impl Client {
    /// Records the workspace before a turn changes it.
    pub async fn checkpoint(&self, label: String) -> Result<CheckpointId, CheckpointFailure> {
        match self.about_checkpoints(CheckpointRequest::Take { label }).await? {
            CheckpointReply::Taken { id } => Ok(id),
            other => Err(failure(other)),
        }
    }

    /// Records what the agent left when its turn is over, so that later edits are known as somebody else's.
    pub async fn settle(&self) -> Result<(), CheckpointFailure> {
        match self.about_checkpoints(CheckpointRequest::Settle).await? {
            CheckpointReply::Settled => Ok(()),
            other => Err(failure(other)),
        }
    }

    /// All checkpoints, oldest first.
    pub async fn checkpoints(&self) -> Result<Vec<Checkpoint>, CheckpointFailure> {
        match self.about_checkpoints(CheckpointRequest::List).await? {
            CheckpointReply::Listed { checkpoints } => Ok(checkpoints),
            other => Err(failure(other)),
        }
    }

    /// What restoring would change.
    pub async fn preview(&self, id: CheckpointId) -> Result<Vec<Change>, CheckpointFailure> {
        match self.about_checkpoints(CheckpointRequest::Preview { id }).await? {
            CheckpointReply::Previewed { changes } => Ok(changes),
            other => Err(failure(other)),
        }
    }

    /// How the workspace differs from what it was.
    pub async fn compare(&self, id: CheckpointId) -> Result<Comparison, CheckpointFailure> {
        match self.about_checkpoints(CheckpointRequest::Compare { id }).await? {
            CheckpointReply::Compared(comparison) => Ok(comparison),
            other => Err(failure(other)),
        }
    }

    /// Makes the workspace what it was. Refused while a tool runs.
    pub async fn restore(
        &self,
        id: CheckpointId,
        overwrite: Overwrite,
    ) -> Result<Restored, CheckpointFailure> {
        let request = CheckpointRequest::Restore { id, overwrite };
        match self.about_checkpoints(request).await? {
            CheckpointReply::Restored(restored) => Ok(restored),
            other => Err(failure(other)),
        }
    }

    async fn about_checkpoints(
        &self,
        request: CheckpointRequest,
    ) -> Result<CheckpointReply, CheckpointFailure> {
        tokio::time::timeout(ANSWER_TIMEOUT, self.ask_about_checkpoints(request))
            .await
            .map_err(|_| CheckpointFailure::Late)?
            .ok_or(CheckpointFailure::Lost)
    }
}

fn failure(reply: CheckpointReply) -> CheckpointFailure {
    match reply {
        CheckpointReply::Failed { message } => CheckpointFailure::Refused(message),
        CheckpointReply::Taken { .. }
        | CheckpointReply::Settled
        | CheckpointReply::Listed { .. }
        | CheckpointReply::Previewed { .. }
        | CheckpointReply::Compared(_)
        | CheckpointReply::Restored(_) => CheckpointFailure::Protocol,
    }
}
