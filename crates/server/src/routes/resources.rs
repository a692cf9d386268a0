//! How much the programs of a conversation's workspace use.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_executor::Client;
use serde_json::{Value, json};

use super::files::refused;
use crate::app::App;
use crate::extract::Id;
use crate::failure::Failure;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![Route::get(
        "/api/conversations/{conversation_id}/resources",
        Access::Key,
        resources,
    )]
}

/// Null where no workspace runs: none is started to find out that it uses nothing.
async fn resources(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let site = app.places.of_conversation(&app, id).await?;
    let client = match app.places.find(&app, &site).await? {
        Some(stream) => Client::connect(stream).await.ok(),
        None => None,
    };
    let Some(client) = client else {
        return Ok(Json(json!({ "resources": null })));
    };
    let figures = client.figures().await.map_err(|error| refused(&error))?;
    Ok(Json(json!({ "resources": figures })))
}
