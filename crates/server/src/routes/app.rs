//! What the web app asks besides the contract: what to offer at first, and a project to try it on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::composition::{Demo, Offer};
use crate::failure::Failure;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/app", Access::Key, offer),
        Route::post("/api/app/demo", demo),
    ]
}

async fn offer(State(app): State<Arc<App>>) -> Json<Offer> {
    let offer = app.conversations.composition.offer();
    Json(match &app.places.folders {
        None => offer,
        Some(_) => Offer {
            folder: app.places.home.display().to_string(),
            ..offer
        },
    })
}

async fn demo(State(app): State<Arc<App>>) -> Result<Json<Demo>, Failure> {
    let made = tokio::task::spawn_blocking(move || app.conversations.composition.demo()).await;
    let failed = |reason: String| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, reason);
    made.map_err(|error| failed(error.to_string()))?
        .map(Json)
        .map_err(failed)
}
