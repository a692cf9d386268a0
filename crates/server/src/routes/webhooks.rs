//! Webhooks: which there are, and what became of what they were to be told.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::success;
use crate::app::App;
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::request::object;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/webhooks", Access::Key, state),
        Route::post("/api/webhooks", add),
        Route::patch("/api/webhooks/{webhook_id}", change),
        Route::delete("/api/webhooks/{webhook_id}", remove),
        Route::post("/api/webhooks/{webhook_id}/test", test),
        Route::post("/api/webhooks/{webhook_id}/redeliver", redeliver),
        Route::delete("/api/webhooks/{webhook_id}/dead_letters", forget_dead),
    ]
}

async fn state(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    Ok(Json(app.conversations.webhooks.state().await?))
}

async fn add(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Value>), Failure> {
    app.for_all()?;
    let loaded = || {
        let apps = app.users.apps();
        apps.iter()
            .flat_map(|app| app.conversations.in_memory())
            .collect()
    };
    app.conversations.webhooks.add(object(&body)?, loaded).await?;
    Ok((StatusCode::CREATED, state(State(app)).await?))
}

async fn change(
    State(app): State<Arc<App>>,
    Name(hook): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    app.conversations.webhooks.change(&hook, object(&body)?).await?;
    state(State(app)).await
}

async fn remove(State(app): State<Arc<App>>, Name(hook): Name) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    app.conversations.webhooks.remove(&hook).await?;
    Ok(success())
}

async fn test(State(app): State<Arc<App>>, Name(hook): Name) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    Ok(Json(app.conversations.webhooks.test(&hook).await?))
}

async fn redeliver(State(app): State<Arc<App>>, Name(hook): Name) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    let count = app.conversations.webhooks.redeliver(&hook).await?;
    Ok(Json(json!({ "redelivered": count })))
}

async fn forget_dead(State(app): State<Arc<App>>, Name(hook): Name) -> Result<Json<Value>, Failure> {
    app.for_all()?;
    app.conversations.webhooks.forget_dead(&hook).await?;
    Ok(success())
}
