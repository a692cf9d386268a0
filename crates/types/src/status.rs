//! What a conversation is doing, and how dangerous an action looks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The execution status of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing to do until somebody says so.
    #[default]
    Idle,
    /// The loop runs.
    Running,
    /// Stopped by the user; runs on when asked.
    Paused,
    /// Actions wait for the user's word.
    WaitingForConfirmation,
    /// The agent says it is done, or waits for an answer.
    Finished,
    /// The last run failed; the event before says why. Runs on when asked.
    Error,
    /// The agent went in circles. Runs on when asked.
    Stuck,
    /// Being removed.
    Deleting,
}

impl Status {
    /// The wire's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::WaitingForConfirmation => "waiting_for_confirmation",
            Self::Finished => "finished",
            Self::Error => "error",
            Self::Stuck => "stuck",
            Self::Deleting => "deleting",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How dangerous an action is held to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SecurityRisk {
    /// Nobody has judged it.
    #[default]
    Unknown,
    /// Safe to run unseen.
    Low,
    /// Changes things within the workspace.
    Medium,
    /// May do harm outside it.
    High,
}
