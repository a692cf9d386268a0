//! Back to an earlier event.

use deft_tools::{Overwrite, Restored};
use deft_types::EventId;

use crate::command::{Command, CommandError};
use crate::conversation::Conversation;

/// What goes back to an earlier event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewind {
    /// What the model sees; what is said next follows that event.
    Conversation,
    /// The workspace.
    Files,
    /// The workspace, if it was recorded as it was right there: never to what it was before the turn.
    FilesExactly,
    /// Both.
    Both,
}

impl Conversation {
    /// Goes back to an event of the log. The files become what they were there; if that is in the middle of a turn,
    /// what they were before that turn. What became of them is told if they had to be changed; if there is no record of
    /// them, nothing is done.
    pub async fn rewind(
        &self,
        to: EventId,
        what: Rewind,
        overwrite: Overwrite,
    ) -> Result<Option<Restored>, CommandError> {
        let command = |done| Command::Rewind {
            to,
            what,
            overwrite,
            done,
        };
        self.ask(command).await?
    }
}
