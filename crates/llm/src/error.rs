//! Everything that can go wrong with a call to a model, whoever the provider is.

use std::time::Duration;

use deft_types::{Classification, FailureKind};
use serde::{Deserialize, Serialize};

/// Why a model did not answer. Texts never hold the key, and echo only the beginning of a server's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
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
    /// The login that is to pay is missing, refused or over. The caller stops and sends the person to log in.
    #[error("the login to ChatGPT does not let us in: {detail}")]
    Login {
        /// What is wrong with it, and what to do.
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
    /// The answer is not what the protocol says. The caller asks again once.
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
            Self::Authentication { .. } | Self::Login { .. } | Self::Permission { .. } => {
                "LLMAuthenticationError"
            }
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
            Self::Authentication { .. } | Self::Login { .. } | Self::Permission { .. } => FailureKind::Auth,
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
            | Self::Login { .. }
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

    pub(crate) fn detail_mut(&mut self) -> &mut String {
        match self {
            Self::ContextWindowExceeded { detail }
            | Self::MalformedHistory { detail }
            | Self::Authentication { detail }
            | Self::Login { detail }
            | Self::Permission { detail }
            | Self::Quota { detail }
            | Self::RateLimit { detail, .. }
            | Self::Overloaded { detail, .. }
            | Self::Timeout { detail }
            | Self::ContentPolicy { detail }
            | Self::BadRequest { detail }
            | Self::Unavailable { detail }
            | Self::Network { detail }
            | Self::Protocol { detail } => detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use deft_types::UserAction;

    use super::*;

    #[test]
    fn each_failure_has_its_code_and_what_the_person_can_do() {
        let detail = || "x".to_owned();
        let window = ModelError::ContextWindowExceeded { detail: detail() };
        let key = ModelError::Authentication { detail: detail() };
        let quota = ModelError::Quota { detail: detail() };
        let limit = ModelError::RateLimit {
            retry_after: None,
            detail: detail(),
        };
        let bad = ModelError::BadRequest { detail: detail() };
        let network = ModelError::Network { detail: detail() };
        let cases = [
            (
                &window,
                "LLMContextWindowExceedError",
                FailureKind::AgentAction,
                UserAction::Retry,
                false,
            ),
            (
                &key,
                "LLMAuthenticationError",
                FailureKind::Auth,
                UserAction::Settings,
                false,
            ),
            (
                &quota,
                "LLMRateLimitError",
                FailureKind::Quota,
                UserAction::Settings,
                false,
            ),
            (
                &limit,
                "LLMRateLimitError",
                FailureKind::RateLimit,
                UserAction::Retry,
                true,
            ),
            (
                &bad,
                "LLMBadRequestError",
                FailureKind::Config,
                UserAction::Settings,
                false,
            ),
            (
                &network,
                "LLMServiceUnavailableError",
                FailureKind::Transient,
                UserAction::Retry,
                true,
            ),
        ];
        for (error, code, kind, user_action, transient) in cases {
            let class = error.classification();
            assert_eq!(
                (error.code(), class.kind, class.user_action),
                (code, kind, user_action),
                "{error:?}"
            );
            assert_eq!(error.is_transient(), transient, "{error:?}");
        }
    }
}
