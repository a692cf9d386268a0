//! What the web app asks besides the contract: what to offer at first, and a project to try it on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_llm::Verdict;
use serde_json::{Value, json};

use crate::agent;
use crate::app::App;
use crate::composition::{Demo, Offer};
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::launch::model_profile;
use crate::request::{given, object};
use crate::router::{Access, Route};
use crate::settings::merge;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/app", Access::Key, offer),
        Route::post("/api/app/demo", demo),
        Route::get("/api/app/local_models", Access::Key, local_models),
        Route::post("/api/app/check_model", check_model),
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

async fn local_models(State(app): State<Arc<App>>) -> Json<Value> {
    let found = app.conversations.composition.local_models().await;
    let shown = found.iter().filter_map(|found| {
        let names: Vec<_> = found.models.as_ref()?.iter().map(|model| &model.name).collect();
        let place = &found.place;
        Some(json!({"title": place.kind.title(), "address": place.address, "models": names}))
    });
    Json(shown.collect())
}

/// Tries a model: the one of a profile, with what is said besides put over it.
async fn check_model(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let fields = object(&body)?;
    let mut llm = match given(fields, "profile").and_then(Value::as_str) {
        Some(profile) => model_profile(&app, profile).await?,
        None => Value::Object(agent::llm_defaults()),
    };
    if let Some(said) = given(fields, "llm") {
        merge(&mut llm, said);
    }
    let found = app
        .conversations
        .composition
        .check(&app.conversations.client_model(&llm))
        .await;
    let found = found.map_err(|reason| Failure::new(StatusCode::BAD_REQUEST, reason))?;
    let shown = found.iter().map(|finding| {
        let layer = finding.layer.to_string();
        match &finding.verdict {
            Verdict::Good(seen) => json!({"layer": layer, "ok": true, "detail": seen}),
            Verdict::Bad { what, remedy } => {
                json!({"layer": layer, "ok": false, "detail": what, "remedy": remedy})
            }
        }
    });
    Ok(Json(shown.collect()))
}
