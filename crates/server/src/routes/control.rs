//! Run, pause and interrupt a conversation; pause all of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use super::success;
use crate::app::App;
use crate::extract::Id;
use crate::failure::Failure;
use crate::router::Route;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/conversations/prepare-for-sandbox-pause", rest),
        Route::post("/api/conversations/{conversation_id}/run", run),
        Route::post("/api/conversations/{conversation_id}/pause", pause),
        Route::post("/api/conversations/{conversation_id}/interrupt", interrupt),
    ]
}

/// Whoever puts this machine to sleep tells us before.
async fn rest(State(app): State<Arc<App>>) -> Result<StatusCode, Failure> {
    let apps = match app.for_all() {
        Ok(()) => app.users.apps(),
        Err(_) => vec![app],
    };
    let rest = apps.iter().map(|app| app.conversations.rest());
    futures::future::try_join_all(rest).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn run(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    app.conversations.run(&resident).await?;
    Ok(success())
}

async fn pause(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    app.conversations.pause(&resident).await?;
    Ok(success())
}

async fn interrupt(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    app.conversations.interrupt(&resident).await?;
    Ok(success())
}
