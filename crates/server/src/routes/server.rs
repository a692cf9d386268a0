//! Whether the server is there, and what it is.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::app::App;
use crate::config::Build;
use crate::openapi::openapi;
use crate::router::{Access, Route};
use crate::site;

/// The version of the contract that is spoken here.
const CONTRACT: &str = "1.58.0";
/// The optional parts of the contract that are spoken here.
const CAPABILITIES: [&str; 7] = [
    "conversation_runtime_routes_v1",
    "profile_secret_scope_v1",
    "profile_persona_v1",
    "idempotent_conversation_create_v1",
    "tool_catalog_v1",
    "agent_profile_draft_materialize_v1",
    "agent_launch_pipeline_v1",
];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/alive", Access::Open, alive),
        Route::get("/health", Access::Open, alive),
        Route::get("/ready", Access::Open, ready),
        Route::get("/server_info", Access::Open, server_info),
        Route::get("/", Access::Open, root),
        Route::get("/openapi.json", Access::Open, document),
    ]
}

pub(crate) async fn alive() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// Whoever can ask finds it ready: it listens only then.
pub(crate) async fn ready() -> Json<Value> {
    Json(json!({"status": "ready"}))
}

/// People get the web app, programs what the contract says.
async fn root(state: State<Arc<App>>, headers: HeaderMap) -> Response {
    if site::is_wanted(&headers) {
        site::page(&state, &headers)
    } else {
        server_info(state).await.into_response()
    }
}

async fn server_info(State(app): State<Arc<App>>) -> Json<Value> {
    // Whoever ends idle servers goes by this: it is about all users.
    let apps = app.users.apps();
    let quiet = apps.iter().filter_map(|app| app.conversations.idle_for()).min();
    let idle = quiet.unwrap_or(Duration::MAX).min(app.activity.idle());
    let tools = app.conversations.tool_names();
    Json(described(app.started.elapsed(), idle, &app.build, &tools))
}

/// What the server says of itself.
pub(crate) fn described(uptime: Duration, idle: Duration, build: &Build, tools: &[String]) -> Value {
    json!({
        "uptime": whole_seconds(uptime),
        "idle_time": whole_seconds(idle),
        "title": "Deft",
        "version": CONTRACT,
        "sdk_version": CONTRACT,
        "tools_version": CONTRACT,
        "workspace_version": CONTRACT,
        "build_git_sha": build.git_sha,
        "build_git_ref": build.git_ref,
        "python_version": "none",
        "usable_tools": tools,
        "runtime_idle_timeout_seconds": build.runtime_idle_timeout,
        "conversation_runtime": "local",
        "available_conversation_runtimes": [],
        "capabilities": CAPABILITIES,
        "app_backend_ingress_url": null,
        "max_foreground_terminal_timeout_seconds": null,
        "docs": "/docs",
        "redoc": "/redoc",
    })
}

pub(crate) async fn document() -> impl IntoResponse {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| openapi().to_string().into());
    ([(CONTENT_TYPE, "application/json")], TEXT.clone())
}

fn whole_seconds(time: Duration) -> f64 {
    time.as_secs_f64().floor()
}
