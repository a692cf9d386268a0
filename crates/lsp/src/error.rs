//! Why a server gave no answer.

use std::time::Duration;

/// Why a server gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// It could not be started. Install it, or mend it.
    #[error("{program} could not be started: {reason}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// It is gone. The next call starts another.
    #[error("the language server ended; call again to start it anew")]
    Ended,
    /// It took too long. It may have more to do at first.
    #[error("the language server did not answer within {} seconds; it may still be reading the project, so try again later", .0.as_secs())]
    Late(Duration),
    /// It refused.
    #[error("the language server refused: {0}")]
    Refused(String),
}
