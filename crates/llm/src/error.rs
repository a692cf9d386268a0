//! Everything that can go wrong with a call to a model, whoever the provider is.

use std::time::Duration;

use deft_types::{Classification, FailureKind};

/// Why a model did not answer. Texts never hold the key, and echo only the beginning of a server's answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The messages do not fit. The caller condenses the history and asks again.
    #[error("the conversation no longer fits into the model's context window: {detail}")]
    ContextWindowExceeded {
        /// What the server said.
        detail: String,
    },
    /// The server does not accept the order or pairing of messages. The caller repairs or condenses the
    /// history; asking again unchanged cannot help.
    #[error("the server did not accept the order of the messages: {detail}")]
    MalformedHistory {
        /// What the server said.
        detail: String,
    },
    /// The key is missing, wrong or expired. The caller stops and sends the person to the settings.
    #[error("the server did not accept the API key: {detail}. Check `LLM_API_KEY`")]
    Authentication {
        /// What the server said.
        detail: String,
    },
    /// The key is good but may not do this. The caller stops and sends the person to the settings.
    #[error("the API key has no permission for this: {detail}. Choose another model or another key")]
    Permission {
        /// What the server said.
        detail: String,
    },
    /// Nothing is left to spend. Waiting does not help; the caller stops.
    #[error("the account has nothing left to spend: {detail}. Add credit or use another key")]
    Quota {
        /// What the server said.
        detail: String,
    },
    /// Too many requests or tokens for the moment. The caller waits and asks again.
    #[error("the server asks to slow down: {detail}")]
    RateLimit {
        /// How long the server wants us to wait, where it says so.
        retry_after: Option<Duration>,
        /// What the server said.
        detail: String,
    },
    /// The server has more work than it can do. The caller waits and asks again, or asks another model.
    #[error("the server is overloaded: {detail}")]
    Overloaded {
        /// How long the server wants us to wait, where it says so.
        retry_after: Option<Duration>,
        /// What the server said.
        detail: String,
    },
    /// Nothing came for too long. The caller asks again.
    #[error("the model did not answer in time: {detail}")]
    Timeout {
        /// What was waited for, and how long.
        detail: String,
    },
    /// The provider refuses this content. Asking again unchanged cannot help.
    #[error("the provider refused the content: {detail}. Rephrase the task or use another model")]
    ContentPolicy {
        /// What the server said.
        detail: String,
    },
    /// The request is wrong in another way, such as an unknown model. The caller stops and sends the
    /// person to the settings.
    #[error("the server refused the request: {detail}. Check the model's name and settings")]
    BadRequest {
        /// What the server said.
        detail: String,
    },
    /// The server failed. The caller asks again.
    #[error("the server failed: {detail}")]
    Unavailable {
        /// What the server said.
        detail: String,
    },
    /// The server was not reached, or the connection broke. The caller asks again.
    #[error("the connection to the model failed: {detail}")]
    Network {
        /// What happened.
        detail: String,
    },
    /// The answer is not what the protocol says. The caller may ask again once or twice.
    #[error("the server's answer could not be understood: {detail}. Check `LLM_BASE_URL`")]
    Protocol {
        /// What was expected, and what came.
        detail: String,
    },
}

impl ModelError {
    /// The `code` of the error event, in the wire's words.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ContextWindowExceeded { .. } => "LLMContextWindowExceedError",
            Self::MalformedHistory { .. } => "LLMMalformedConversationHistoryError",
            Self::Authentication { .. } | Self::Permission { .. } => "LLMAuthenticationError",
            Self::Quota { .. } | Self::RateLimit { .. } => "LLMRateLimitError",
            Self::Timeout { .. } => "LLMTimeoutError",
            Self::ContentPolicy { .. } => "LLMContentPolicyViolationError",
            Self::BadRequest { .. } => "LLMBadRequestError",
            Self::Overloaded { .. } | Self::Unavailable { .. } | Self::Network { .. } => {
                "LLMServiceUnavailableError"
            }
            Self::Protocol { .. } => "LLMResponseError",
        }
    }

    /// What kind of failure it is for the person.
    pub fn classification(&self) -> Classification {
        Classification::of(match self {
            Self::ContextWindowExceeded { .. } | Self::MalformedHistory { .. } => FailureKind::AgentAction,
            Self::Authentication { .. } | Self::Permission { .. } => FailureKind::Auth,
            Self::Quota { .. } => FailureKind::Quota,
            Self::RateLimit { .. } => FailureKind::RateLimit,
            Self::ContentPolicy { .. } | Self::BadRequest { .. } => FailureKind::Config,
            Self::Overloaded { .. }
            | Self::Timeout { .. }
            | Self::Unavailable { .. }
            | Self::Network { .. }
            | Self::Protocol { .. } => FailureKind::Transient,
        })
    }

    /// Whether the same request may work later. Not so where the history must change first.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.classification().kind,
            FailureKind::RateLimit | FailureKind::Transient
        )
    }

    /// How long the server wants us to wait before the next try, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimit { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            Self::ContextWindowExceeded { .. }
            | Self::MalformedHistory { .. }
            | Self::Authentication { .. }
            | Self::Permission { .. }
            | Self::Quota { .. }
            | Self::Timeout { .. }
            | Self::ContentPolicy { .. }
            | Self::BadRequest { .. }
            | Self::Unavailable { .. }
            | Self::Network { .. }
            | Self::Protocol { .. } => None,
        }
    }
}
