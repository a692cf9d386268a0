//! Reads the parts of a request, and says what is wrong with them in the contract's words.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::body::Body as HttpBody;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use deft_types::ConversationId;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::failure::Failure;
use crate::timed_body::Stalled;
use crate::validation::Issue;

/// The largest body of a request: a message with a few images.
const MAX_BODY: usize = 32 * 1024 * 1024;
/// The most items of a page.
const MAX_PAGE: usize = 100;

/// Where a request comes from. Put there by the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The conversation that a path names.
pub(crate) struct ConversationPath(pub(crate) Result<ConversationId, Issue>);

impl<S: Send + Sync> FromRequestParts<S> for ConversationPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let text = path_parameter(parts, state, "conversation_id").await;
        let id = Uuid::parse_str(&text).map(ConversationId);
        Ok(Self(id.map_err(|error| {
            Issue::bad_uuid(&["path", "conversation_id"], &text, &error)
        })))
    }
}

/// The conversation that a path names; a path that names none is refused.
pub(crate) struct Id(pub(crate) ConversationId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        match ConversationPath::from_request_parts(parts, state).await {
            Ok(path) => Ok(Self(path.0?)),
            Err(never) => match never {},
        }
    }
}

/// The event that a path names.
pub(crate) struct EventPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for EventPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self(path_parameter(parts, state, "event_id").await))
    }
}

/// The conversation that a path works in, if it names one.
#[derive(Clone, Copy)]
pub(crate) struct Scope(pub(crate) Option<ConversationId>);

impl<S: Send + Sync> FromRequestParts<S> for Scope {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        // A path that cannot be read must not count as one that names no conversation.
        let Ok(parameters) = RawPathParams::from_request_parts(parts, state).await else {
            return Err(Failure::not_found());
        };
        if !parameters.iter().any(|(name, _)| name == "conversation_id") {
            return Ok(Self(None));
        }
        let Id(id) = Id::from_request_parts(parts, state).await?;
        Ok(Self(Some(id)))
    }
}

/// The rest of a path, which may have slashes.
pub(crate) struct PathRest(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathRest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self(path_parameter(parts, state, "file_path").await))
    }
}

/// The name that a path ends with, or that stands in it alone.
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let parameters = RawPathParams::from_request_parts(parts, state).await;
        let last = parameters.ok().and_then(|parameters| {
            let last = parameters.iter().last();
            last.map(|(_, value)| value.to_owned())
        });
        Ok(Self(last.unwrap_or_default()))
    }
}

async fn path_parameter<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> String {
    let parameters = RawPathParams::from_request_parts(parts, state).await;
    let found = parameters.ok().and_then(|parameters| {
        parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    });
    found.unwrap_or_default()
}

/// The parameters behind the question mark.
pub(crate) struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(
            form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        ))
    }
}

impl Query {
    /// A parameter's value; the last, where it stands there twice.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rfind(|(key, _)| key == name)?;
        Some(&found.1)
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        matches!(
            self.get(name).map(str::to_ascii_lowercase).as_deref(),
            Some("true" | "1" | "yes" | "on")
        )
    }

    /// How many items a page is to have.
    pub(crate) fn limit(&self) -> Result<usize, Issue> {
        let Some(text) = self.get("limit") else {
            return Ok(MAX_PAGE);
        };
        let place = &["query", "limit"];
        let input = Value::from(text);
        match text.parse::<i64>() {
            Ok(limit) if limit < 1 => {
                let msg = "Input should be greater than 0";
                Err(Issue::new("greater_than", place, msg, &input).with(json!({"gt": 0})))
            }
            Ok(limit) => match usize::try_from(limit) {
                Ok(limit) if limit <= MAX_PAGE => Ok(limit),
                _ => {
                    let msg = format!("Input should be less than or equal to {MAX_PAGE}");
                    Err(Issue::new("less_than_equal", place, msg, &input).with(json!({"le": MAX_PAGE})))
                }
            },
            Err(_) => {
                let msg = "Input should be a valid integer, unable to parse string as an integer";
                Err(Issue::new("int_parsing", place, msg, &input))
            }
        }
    }

    /// One of a few words that stand for something.
    pub(crate) fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Issue> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let known = words.iter().find(|(word, _)| *word == text);
        known.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            Issue::choice(&["query", name], &words, text)
        })
    }
}

/// A JSON body.
pub(crate) struct JsonBody(pub(crate) Value);

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let bytes = read_body(request.into_body()).await?;
        if bytes.is_empty() {
            return Err(Issue::missing(&["body"], &Value::Null).into());
        }
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| Issue::bad_json(&error, &bytes).into())
    }
}

/// A JSON body that may be missing; then it is an empty object.
pub(crate) struct OptionalBody(pub(crate) Value);

impl<S: Send + Sync> FromRequest<S> for OptionalBody {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let bytes = read_body(request.into_body()).await?;
        if bytes.is_empty() || &*bytes == b"null" {
            return Ok(Self(json!({})));
        }
        let body = serde_json::from_slice(&bytes);
        body.map(Self)
            .map_err(|error| Issue::bad_json(&error, &bytes).into())
    }
}

async fn read_body(body: HttpBody) -> Result<bytes::Bytes, Failure> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::bare(StatusCode::PAYLOAD_TOO_LARGE)),
        Err(error) if Stalled::caused(error.as_ref()) => Err(Failure::bare(StatusCode::REQUEST_TIMEOUT)),
        Err(_) => Err(Failure::bare(StatusCode::BAD_REQUEST)),
    }
}
