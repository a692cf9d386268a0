//! Doing again in a workspace what was done in it. Ours: the contract has no path for it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::Id;
use crate::failure::Failure;
use crate::router::Route;

pub(crate) fn table() -> Vec<Route> {
    vec![Route::post("/api/conversations/{conversation_id}/rerun", rerun)]
}

async fn rerun(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    let rerun = app.conversations.rerun(&resident).await?;
    Ok(Json(json!(rerun)))
}
