//! Why an agent could not do what it was asked for.

use std::time::Duration;

/// What an agent answers that wants somebody to sign in.
pub(crate) const AUTH_REQUIRED: i64 = -32000;
/// What we answer to what we do not serve.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// Why an agent could not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// Start it anew.
    #[error("the agent's process has ended or closed its output")]
    Gone,
    /// End it and start it anew.
    #[error("the agent did not answer '{method}' within {} seconds", limit.as_secs())]
    Mute {
        /// What it was asked.
        method: String,
        /// How long it had.
        limit: Duration,
    },
    /// Do what the message says.
    #[error("the agent refused '{method}': {message}")]
    Refused {
        /// What it was asked.
        method: String,
        /// The number that stands for the reason.
        code: i64,
        /// The reason.
        message: String,
    },
    /// It is of a version that this program does not understand, or no agent of this protocol.
    #[error("the agent's answer to '{method}' cannot be understood: {reason}")]
    Odd {
        /// What it was asked.
        method: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// Give it the key that it wants as a secret.
    #[error("the agent wants somebody to sign in ({methods}); give its key to the conversation as a secret")]
    SignIn {
        /// How one can.
        methods: String,
    },
}
