//! What a request that fails is answered with.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deft_engine::{CommandError, OpenError};
use deft_store::StoreError;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::validation::Issue;
use crate::vault::VaultError;

/// An answer that is not the one the client hoped for. Its body says nothing that the client may not know.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    body: Value,
}

impl Failure {
    /// A status with a sentence.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            body: json!({ "detail": detail.into() }),
        }
    }

    /// A status with more than a sentence.
    pub(crate) fn detailed(status: StatusCode, detail: &Value) -> Self {
        Self {
            status,
            body: json!({ "detail": detail }),
        }
    }

    /// A status with its own phrase.
    pub(crate) fn bare(status: StatusCode) -> Self {
        Self::new(status, status.canonical_reason().unwrap_or_default())
    }

    pub(crate) fn not_found() -> Self {
        Self::bare(StatusCode::NOT_FOUND)
    }

    /// The same; where something was not found, in these words.
    pub(crate) fn naming(self, what: &str) -> Self {
        if self.status == StatusCode::NOT_FOUND {
            return Self::new(self.status, what);
        }
        self
    }

    /// What the client sent is not what the contract asks for.
    fn invalid(issues: &[Issue]) -> Self {
        Self {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            body: json!({ "detail": issues }),
        }
    }

    /// The fields that are wrong, where it is about fields.
    fn issues(&mut self) -> Option<&mut Vec<Value>> {
        self.body["detail"].as_array_mut()
    }

    /// It fits the contract, but cannot be done.
    pub(crate) fn refused(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// What it says, in words.
    pub(crate) fn detail(&self) -> String {
        match self.body["exception"].as_str().or(self.body["detail"].as_str()) {
            Some(text) => text.to_owned(),
            None => self.body["detail"].to_string(),
        }
    }

    /// Something behind us is missing or has failed. The contract has the same words for all of these.
    pub(crate) fn rewritten(status: StatusCode, reason: &str) -> Self {
        Self {
            status,
            body: json!({
                "detail": "Internal Server Error",
                "exception": format!("{}: {reason}", status.as_u16()),
            }),
        }
    }

    /// Ours to mend. The log has the reason, under an id that the client is told.
    pub(crate) fn internal(exception: &str, reason: &dyn std::fmt::Display) -> Self {
        let error_id = Uuid::new_v4().simple().to_string();
        tracing::error!(%error_id, %reason, "a request failed");
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            body: json!({
                "detail": "Internal Server Error",
                "exception": exception,
                "error_id": error_id,
            }),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl From<Issue> for Failure {
    fn from(issue: Issue) -> Self {
        Self::invalid(&[issue])
    }
}

impl From<Vec<Issue>> for Failure {
    fn from(issues: Vec<Issue>) -> Self {
        Self::invalid(&issues)
    }
}

/// What is wrong with the parts of a request: a client is told all of it at once.
#[derive(Default)]
pub(crate) struct Faults(Option<Failure>);

impl Faults {
    /// A part, if it could be read.
    pub(crate) fn take<T>(&mut self, part: Result<T, impl Into<Failure>>) -> Option<T> {
        match part {
            Ok(part) => Some(part),
            Err(failure) => {
                self.add(failure.into());
                None
            }
        }
    }

    /// Fields that are wrong are listed. A sentence stands alone, so it waits until the fields are right.
    fn add(&mut self, mut failure: Failure) {
        match (self.0.as_mut().map(Failure::issues), failure.issues()) {
            (None | Some(None), Some(_)) | (None, None) => self.0 = Some(failure),
            (Some(Some(known)), Some(new)) => known.append(new),
            (Some(_), None) => {}
        }
    }

    /// All that was wrong.
    pub(crate) fn told(self) -> Failure {
        let unsaid = || Failure::bare(StatusCode::UNPROCESSABLE_ENTITY);
        self.0.unwrap_or_else(unsaid)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(_) => Self::not_found(),
            // Of somebody else's, or it would have been found before.
            StoreError::Exists(_) => Self::new(StatusCode::CONFLICT, "This id is taken; choose another"),
            StoreError::Busy { .. } | StoreError::Fenced(_) => Self::new(
                StatusCode::CONFLICT,
                "Conversation is owned by another agent server instance; the write was refused",
            ),
            error => Self::internal("the store failed; the server's log says why", &error),
        }
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Store(error) => error.into(),
            CommandError::IdTaken(_)
            | CommandError::Unanswerable
            | CommandError::Running
            | CommandError::TooManyWait(_)
            | CommandError::Interrupted
            | CommandError::QueueFull(_)
            | CommandError::OtherServer(_)
            | CommandError::BudgetSpent(_) => Self::new(StatusCode::CONFLICT, error.to_string()),
            CommandError::NotWaiting(_)
            | CommandError::NotAsked(_)
            | CommandError::NoSuchEvent(_)
            | CommandError::NotQueued(_) => Self::new(StatusCode::NOT_FOUND, error.to_string()),
            CommandError::NotExternal | CommandError::Agent(_) => {
                Self::new(StatusCode::BAD_REQUEST, error.to_string())
            }
            CommandError::Undecided(_)
            | CommandError::BadEdit(_)
            | CommandError::BadRule(_)
            | CommandError::NoTitle
            | CommandError::TooManyRules(_)
            | CommandError::InTurn
            | CommandError::Workspace(_) => Self::refused(error.to_string()),
            CommandError::Closed => {
                Self::internal("the conversation was closed meanwhile; try again", &error)
            }
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => error.into(),
            OpenError::Schema(error) => Self::refused(error.to_string()),
        }
    }
}

impl From<VaultError> for Failure {
    fn from(error: VaultError) -> Self {
        Self::internal(
            "the settings of the conversation cannot be read; the server's log says why",
            &error,
        )
    }
}
