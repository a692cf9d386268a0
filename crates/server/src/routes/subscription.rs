//! A subscription that pays for models: who is logged in, and logging in with a code.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_llm::CHATGPT_MODELS;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::request::text;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/llm/subscription/openai/models", Access::Key, models),
        Route::get("/api/llm/subscription/openai/status", Access::Key, status),
        Route::post("/api/llm/subscription/openai/device/start", start),
        Route::post("/api/llm/subscription/openai/device/poll", poll),
        Route::post("/api/llm/subscription/openai/logout", log_out),
    ]
}

async fn models() -> Json<Value> {
    Json(json!({"vendor": "openai", "models": CHATGPT_MODELS}))
}

async fn status(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    app.conversations.chatgpt.status().await.map(Json)
}

async fn start(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    app.conversations.chatgpt.start().await.map(Json)
}

async fn poll(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let code = text(&body, "device_code")?;
    app.conversations.chatgpt.poll(code).await.map(Json)
}

async fn log_out(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    app.conversations.chatgpt.log_out().await.map(Json)
}
