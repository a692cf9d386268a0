//! Actions that wait for a person's word: answer them, and say which ones are to wait.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_types::ConfirmationPolicy;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::success;
use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::request::object;
use crate::router::Route;
use crate::start_fields::{ANALYZER, POLICY};
use crate::validation::Issue;

/// What the model is told where the user gives no reason.
const NO_REASON: &str = "User rejected the action.";
/// An answer to the question whether to go on.
const ANSWER: &Table = &[
    ("accept", Kind::Switch, Gap::None),
    ("reason", Kind::Text, Gap::Absent),
];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post(
            "/api/conversations/{conversation_id}/events/respond_to_confirmation",
            respond,
        ),
        Route::post("/api/conversations/{conversation_id}/confirmation_policy", policy),
        Route::post("/api/conversations/{conversation_id}/security_analyzer", analyzer),
    ]
}

async fn respond(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let answer = fields::read_body(&body, ANSWER, Others::Kept)?;
    let unknown = |failure: Failure| failure.naming(&format!("Conversation not found: {id}"));
    let resident = app.conversations.resident(id).await.map_err(unknown)?;
    if answer["accept"] == true {
        app.conversations.approve(&resident).await?;
    } else {
        let reason = answer
            .get("reason")
            .and_then(Value::as_str)
            .unwrap_or(NO_REASON)
            .to_owned();
        app.conversations.reject(&resident, reason).await?;
    }
    Ok(success())
}

async fn policy(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let policy: ConfirmationPolicy = component(&body, "policy", POLICY, Gap::None)?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.set_policy(&resident, policy).await?;
    Ok(success())
}

async fn analyzer(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let analyzer: Value = component(&body, "security_analyzer", ANALYZER, Gap::Null)?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.set_analyzer(&resident, analyzer).await?;
    Ok(success())
}

/// A part of an agent that names its kind.
fn component<T: DeserializeOwned>(
    body: &Value,
    name: &'static str,
    kind: Kind,
    null: Gap,
) -> Result<T, Failure> {
    let place = &["body", name];
    if object(body)?.get(name).is_none() {
        return Err(Issue::missing(place, body).into());
    }
    let read = fields::read_body(body, &[(name, kind, null)], Others::Kept)?;
    T::deserialize(&read[name]).map_err(|error| Issue::rule(place, &error.to_string(), &read[name]).into())
}
