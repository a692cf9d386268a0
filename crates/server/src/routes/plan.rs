//! An agent that only plans, until its plan is approved. Ours: the contract has no such thing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::Mode;
use serde_json::{Value, json};

use super::success;
use crate::app::App;
use crate::extract::{Id, OptionalBody};
use crate::failure::Failure;
use crate::router::{Access, Route};

const PATH: &str = "/api/conversations/{conversation_id}/plan";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(PATH, Access::Key, mode),
        Route::post(PATH, begin),
        Route::delete(PATH, give_up),
        Route::post("/api/conversations/{conversation_id}/plan/approve", approve),
    ]
}

async fn mode(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let described = app.conversations.catalog.get(id).await?;
    Ok(Json(json!({ "mode": described.mode() })))
}

async fn begin(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    app.conversations.set_mode(&resident, Mode::Plan).await?;
    Ok(success())
}

/// Works without a plan.
async fn give_up(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    app.conversations.set_mode(&resident, Mode::Act).await?;
    Ok(success())
}

/// `{"message"?}`: goes on with the plan, and with these words.
async fn approve(
    State(app): State<Arc<App>>,
    Id(id): Id,
    OptionalBody(body): OptionalBody,
) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    let words = body["message"].as_str();
    app.conversations.approve_plan(&resident, words).await?;
    Ok(success())
}
