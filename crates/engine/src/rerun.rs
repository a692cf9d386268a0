//! Does again in the workspace what was done in it.

use serde::{Deserialize, Serialize};

use crate::command::{Command, CommandError};
use crate::conversation::Conversation;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rerun {
    /// How many calls there were to do again.
    pub of: usize,
    /// How many were done.
    pub done: usize,
    /// Why it ended before the last one.
    pub stopped: Option<String>,
}

impl Conversation {
    /// Runs the calls again that may have changed something, in their order, up to the first that fails and did not
    /// before: so a workspace that was lost is made anew. Neither the model nor what it sees has a part in it.
    pub async fn rerun(&self) -> Result<Rerun, CommandError> {
        self.ask(|done| Command::Rerun { done }).await?
    }
}
