//! What became of webhooks.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::Name;
use crate::failure::Failure;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/webhooks", Access::Key, state),
        Route::post("/api/webhooks/{webhook_id}/redeliver", redeliver),
    ]
}

async fn state(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    Ok(Json(app.conversations.webhooks.state().await?))
}

async fn redeliver(State(app): State<Arc<App>>, Name(hook): Name) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    let count = app.conversations.webhooks.redeliver(&hook).await?;
    Ok(Json(json!({ "redelivered": count })))
}
