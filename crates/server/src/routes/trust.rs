//! What a conversation's project would run by itself, and whether it may.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::{Decision, decide};
use serde_json::{Value, json};

use super::success;
use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::text;
use crate::router::{Access, Route};
use crate::validation::Issue;

const PATH: &str = "/api/conversations/{conversation_id}/trust";

pub(crate) fn table() -> Vec<Route> {
    vec![Route::get(PATH, Access::Key, list), Route::post(PATH, change)]
}

/// What nobody had decided about when the conversation was loaded.
async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let catalog = &app.conversations.catalog;
    catalog.get(id).await?;
    let state = deft_engine::load(catalog.store.as_ref(), id).await?;
    Ok(Json(json!({ "undecided": state.undecided })))
}

/// A decision counts from when the conversation is loaded again.
async fn change(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let catalog = &app.conversations.catalog;
    catalog.get(id).await?;
    let fingerprint = text(&body, "fingerprint")?;
    let decision = match text(&body, "decision")? {
        "allow" => Some(Decision::Allow),
        "deny" => Some(Decision::Deny),
        "forget" => None,
        other => {
            let words = ["allow", "deny", "forget"];
            return Err(Issue::choice(&["body", "decision"], &words, other).into());
        }
    };
    decide(catalog.store.as_ref(), fingerprint, decision).await?;
    Ok(success())
}
