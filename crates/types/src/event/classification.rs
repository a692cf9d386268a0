//! What kind of failure an error event is, and what a person can do about it.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::tagged::Extra;

/// A failure, sorted.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Classification {
    /// What kind of failure.
    pub kind: FailureKind,
    /// Whether the same attempt may work later.
    pub retryable: bool,
    /// What the person can do.
    #[serde(default)]
    pub user_action: UserAction,
    /// A key to find it in the server's log.
    pub error_id: Option<String>,
    /// Fields we do not know.
    #[serde(flatten, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Classification {
    /// A failure of this kind, with what usually follows from it.
    pub fn of(kind: FailureKind) -> Self {
        let (retryable, user_action) = match kind {
            FailureKind::Auth | FailureKind::Quota | FailureKind::Config => (false, UserAction::Settings),
            FailureKind::RateLimit | FailureKind::Transient | FailureKind::AgentAction => {
                (true, UserAction::Retry)
            }
            FailureKind::Internal | FailureKind::Unknown => (false, UserAction::None),
        };
        Self {
            kind,
            retryable,
            user_action,
            error_id: None,
            extra: Extra::new(),
        }
    }
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The provider did not accept the key.
    Auth,
    /// Nothing left to spend.
    Quota,
    /// Too many requests.
    RateLimit,
    /// A setting is wrong.
    Config,
    /// The network or the provider, for the moment.
    Transient,
    /// Something the agent did; it is told and goes on.
    AgentAction,
    /// A fault of ours or of the machine.
    Internal,
    /// None of these.
    Unknown,
}

/// What the person can do about a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserAction {
    /// Nothing.
    #[default]
    None,
    /// Try again.
    Retry,
    /// Change a setting.
    Settings,
}
