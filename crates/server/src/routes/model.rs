//! The model of a conversation: ask it on the side, make room for it, exchange it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::{resident, success};
use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::model_fields;
use crate::request::{object, text};
use crate::router::Route;
use crate::validation::{Issue, NOT_FIELDS};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/conversations/{conversation_id}/ask_agent", ask),
        Route::post("/api/conversations/{conversation_id}/condense", condense),
        Route::post("/api/conversations/{conversation_id}/switch_llm", switch),
        Route::post(
            "/api/conversations/{conversation_id}/switch_acp_model",
            switch_acp_model,
        ),
    ]
}

async fn ask(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let question = text(&body, "question")?;
    let resident = resident(&app, id).await?;
    let answer = app.conversations.ask(&resident, question).await?;
    Ok(Json(json!({ "response": answer })))
}

async fn condense(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = resident(&app, id).await?;
    app.conversations.condense(&resident).await?;
    Ok(success())
}

async fn switch(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let llm = llm_of(&body)?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.switch_model(&resident, &llm).await?;
    Ok(success())
}

/// The settings of a model that a body carries.
pub(super) fn llm_of(body: &Value) -> Result<Map<String, Value>, Failure> {
    let place = &["body", "llm"];
    match object(body)?.get("llm") {
        Some(Value::Object(llm)) => model_fields::read(place, llm),
        None => Err(Issue::missing(place, body).into()),
        Some(other) => Err(Issue::new("model_attributes_type", place, NOT_FIELDS, other).into()),
    }
}

async fn switch_acp_model(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let model = text(&body, "model")?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.switch_agent_model(&resident, model).await?;
    Ok(success())
}
