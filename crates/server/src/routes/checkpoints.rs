//! The way back of a conversation's files: to what they were before one of its turns.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_tools::{Change, CheckpointId, Overwrite, Restored};
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, Name, OptionalBody};
use crate::failure::Failure;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(
            "/api/conversations/{conversation_id}/checkpoints",
            Access::Key,
            list,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/checkpoints/{checkpoint}",
            Access::Key,
            preview,
        ),
        Route::post(
            "/api/conversations/{conversation_id}/checkpoints/{checkpoint}",
            restore,
        ),
    ]
}

fn numbered(name: &str) -> Result<CheckpointId, Failure> {
    name.parse()
        .map(CheckpointId)
        .map_err(|_| Failure::refused(format!("'{name}' is not the number of a checkpoint")))
}

/// Each names the message before whose turn it was taken.
async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let site = app.places.of_conversation(&app, id).await?;
    let client = app.places.reach(&app, &site).await?;
    let all = client.checkpoints().await;
    let all = all.map_err(|error| Failure::refused(error.to_string()))?;
    let shown = all.iter().map(|checkpoint| {
        json!({"id": checkpoint.id, "message_id": checkpoint.label, "taken_at": checkpoint.taken_at})
    });
    Ok(Json(shown.collect()))
}

async fn preview(
    State(app): State<Arc<App>>,
    Id(id): Id,
    Name(name): Name,
) -> Result<Json<Vec<Change>>, Failure> {
    let to = numbered(&name)?;
    let resident = app.conversations.resident(id).await?;
    Ok(Json(app.conversations.preview_files(&resident, to).await?))
}

async fn restore(
    State(app): State<Arc<App>>,
    Id(id): Id,
    Name(name): Name,
    OptionalBody(body): OptionalBody,
) -> Result<Json<Restored>, Failure> {
    let to = numbered(&name)?;
    let overwrite = if body["overwrite"] == true {
        Overwrite::Allow
    } else {
        Overwrite::Refuse
    };
    let resident = app.conversations.resident(id).await?;
    let restored = app.conversations.restore_files(&resident, to, overwrite).await?;
    Ok(Json(restored))
}
