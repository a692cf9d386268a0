//! What a conversation's project would run by itself, and whether it may.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::{Decision, Decisions, Provided, decide};
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

/// What somebody was or is to decide about, and what was decided.
async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let catalog = &app.conversations.catalog;
    catalog.get(id).await?;
    let state = deft_engine::load(catalog.store.as_ref(), id).await?;
    let decisions = Decisions::load(catalog.store.as_ref()).await?;
    let about = |provided: &&Provided| decisions.about(&provided.fingerprint);
    let undecided: Vec<_> = state
        .undecided
        .iter()
        .filter(|provided| about(provided).is_none())
        .collect();
    let decided = state.asked_about.iter().filter_map(|provided| {
        let mut told = json!(provided);
        told["decision"] = json!(about(&provided)?);
        Some(told)
    });
    Ok(Json(
        json!({"undecided": undecided, "decided": decided.collect::<Vec<_>>()}),
    ))
}

/// A decision counts from the next run on.
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
