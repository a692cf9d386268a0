//! Commands that a client runs beside the agent. Unlike events, these show null fields and dashless ids.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::tagged::{Extra, tagged_union};

tagged_union! {
    /// What happens to a client's command.
    BashEvent {
        Command(BashCommand),
        Output(BashOutput),
        Error(BashError),
    }
}

/// A command was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BashCommand {
    /// The command line.
    pub command: String,
    /// Where it runs.
    pub cwd: Option<String>,
    /// Seconds it may take.
    pub timeout: u64,
    /// Its id.
    #[serde(with = "uuid::serde::simple")]
    pub id: Uuid,
    /// When, in UTC with `Z`.
    pub timestamp: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A piece of its output; the last one has the exit code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BashOutput {
    /// Its id.
    #[serde(with = "uuid::serde::simple")]
    pub id: Uuid,
    /// When, in UTC with `Z`.
    pub timestamp: String,
    /// The command.
    #[serde(with = "uuid::serde::simple")]
    pub command_id: Uuid,
    /// 0, 1, 2 …
    pub order: u64,
    /// Absent until it ended.
    pub exit_code: Option<i64>,
    /// What it wrote.
    pub stdout: Option<String>,
    /// What it complained of.
    pub stderr: Option<String>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// A request that could not be understood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BashError {
    /// Its id.
    #[serde(with = "uuid::serde::simple")]
    pub id: Uuid,
    /// When, in UTC with `Z`.
    pub timestamp: String,
    /// The kind of failure, for programs.
    pub code: String,
    /// What happened, for people.
    pub detail: String,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}
