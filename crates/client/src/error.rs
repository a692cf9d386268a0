//! Why a server did not do what it was asked.

use deft_types::ConversationId;
use reqwest::StatusCode;
use serde_json::Value;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address or the key cannot be used in a request.
    #[error("{0}")]
    Setup(String),
    /// The server was not reached, or the connection broke off.
    #[error(
        "the server at {server} cannot be reached: {reason}; see whether it runs and is called by this address"
    )]
    Unreachable {
        /// Its address.
        server: String,
        /// The innermost reason.
        reason: String,
    },
    /// The key is none of the server's.
    #[error(
        "the server does not know this key; use the one that it printed when it was started, or one of `deft keys`"
    )]
    Unauthorized,
    /// There is no such conversation, or it is somebody else's.
    #[error(
        "there is no conversation {0} on the server; it may have been deleted, or belong to somebody else"
    )]
    NotFound(ConversationId),
    /// The server says no, and why.
    #[error("the server refused ({status}): {detail}")]
    Refused {
        /// The status of its answer.
        status: StatusCode,
        /// Its words.
        detail: String,
    },
    /// What came is not what the protocol says.
    #[error("the server's answer cannot be read: {0}; is it a server of this protocol, and of this version?")]
    Unreadable(String),
}

impl ClientError {
    pub(crate) fn unreachable(server: &str, error: &dyn std::error::Error) -> Self {
        Self::Unreachable {
            server: server.to_owned(),
            reason: deft_net::root_cause(error),
        }
    }

    /// What an answer that is no success says.
    pub(crate) fn refused(status: StatusCode, body: &str) -> Self {
        if status == StatusCode::UNAUTHORIZED {
            return Self::Unauthorized;
        }
        let body: Value = serde_json::from_str(body).unwrap_or_else(|_| body.into());
        let said = body.get("exception").or(body.get("detail")).unwrap_or(&body);
        let detail = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
        Self::Refused { status, detail }
    }

    /// Whether the same request may do better in a while.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::Setup(_) | Self::Unauthorized | Self::NotFound(_) | Self::Unreadable(_) => false,
        }
    }
}
