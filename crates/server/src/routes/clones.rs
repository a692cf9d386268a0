//! Repositories of forges that are brought into folders of their own.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use super::success;
use crate::app::App;
use crate::cloning::{Prepared, Wish};
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::request::text;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/git/clones", begin),
        Route::get("/api/git/clones/{clone_id}", Access::Key, look),
        Route::delete("/api/git/clones/{clone_id}", stop),
    ]
}

/// `{"address", "branch"?}`. Answered when the folder is there; what follows can be looked at and stopped.
async fn begin(
    State(app): State<Arc<App>>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Value>), Failure> {
    let wish = Wish::read(&app, text(&body, "address")?, body["branch"].as_str()).await?;
    app.clonings.check_room()?;
    let prepared = Prepared::make(&app, wish).await?;
    let cloning = app.clonings.begin(prepared.folder.clone());
    let shown = cloning.shown();
    let (owner, abandoned) = (Arc::clone(&app), app.users.abandoned.clone());
    app.tasks.spawn(async move {
        let filling = prepared.fill(&owner, &cloning.stop, |bytes| cloning.hear(bytes));
        if let Some(ended) = abandoned.run_until_cancelled(filling).await {
            cloning.end(ended);
        }
    });
    Ok((StatusCode::CREATED, Json(shown)))
}

async fn look(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<Value>, Failure> {
    Ok(Json(app.clonings.find(&id)?.shown()))
}

/// What was fetched of it is removed.
async fn stop(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<Value>, Failure> {
    app.clonings.find(&id)?.stop.cancel();
    Ok(success())
}
