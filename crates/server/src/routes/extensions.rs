//! Marketplaces of skills and plugins and extensions of the web app: this installation has none, and answers as one
//! that has none.

use std::future::{Ready, ready};

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::extract::Name;
use crate::failure::Failure;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    [skills(), plugins(), canvas(), others()]
        .into_iter()
        .flatten()
        .collect()
}

fn skills() -> Vec<Route> {
    vec![
        Route::get("/api/skills/catalog", Access::Key, fixed(json!({"skills": []}))),
        Route::post(
            "/api/skills/sync",
            fixed(json!({"status": "success", "message": "There are no public skills to bring up to date"})),
        ),
        Route::get(
            "/api/skills/marketplace",
            Access::Key,
            fixed(json!({"skills": []})),
        ),
    ]
}

fn plugins() -> Vec<Route> {
    vec![Route::get(
        "/api/plugins/marketplace",
        Access::Key,
        fixed(json!({"plugins": []})),
    )]
}

fn canvas() -> Vec<Route> {
    let missing = |Name(name): Name| not_installed("Canvas extension", &name);
    vec![
        Route::post("/api/canvas-extensions/install", cannot_install),
        Route::get(
            "/api/canvas-extensions/installed",
            Access::Key,
            fixed(json!({"canvas_extensions": []})),
        ),
        Route::get("/api/canvas-extensions/installed/{name}", Access::Key, missing),
        Route::patch("/api/canvas-extensions/installed/{name}", missing),
        Route::delete("/api/canvas-extensions/installed/{name}", missing),
        Route::get(
            "/api/canvas-extensions/installed/{name}/backend",
            Access::Key,
            missing,
        ),
        Route::post("/api/canvas-extensions/installed/{name}/backend/prepare", missing),
        Route::post("/api/canvas-extensions/installed/{name}/backend/start", missing),
        Route::post("/api/canvas-extensions/installed/{name}/backend/stop", missing),
        Route::get(
            "/api/canvas-extensions/installed/{name}/backend/logs",
            Access::Key,
            missing,
        ),
        Route::delete("/api/canvas-extensions/installed/{name}/backend/data", missing),
        Route::get(
            "/api/canvas-extensions/installed/{name}/bundle",
            Access::Key,
            missing,
        ),
        Route::get(
            "/api/canvas-extensions/installed/{name}/icon",
            Access::Key,
            missing,
        ),
        Route::post("/app-backends/{name}/session", missing),
        Route::delete("/app-backends/{name}/session", missing),
    ]
}

fn others() -> Vec<Route> {
    let no_editor = json!({"running": false, "enabled": false, "message": "This server has no VS Code"});
    vec![
        Route::get("/api/vscode/status", Access::Key, fixed(no_editor.clone())),
        Route::get("/api/vscode/url", Access::Key, no_editor_url),
        Route::get(
            "/api/conversations/{conversation_id}/vscode/status",
            Access::Key,
            fixed(no_editor),
        ),
        Route::get(
            "/api/conversations/{conversation_id}/vscode/url",
            Access::Key,
            no_editor_url,
        ),
        Route::get("/api/init", Access::Open, no_init),
        Route::post("/api/init", no_init),
    ]
}

/// Always the same answer.
fn fixed(answer: Value) -> impl Fn() -> Ready<Json<Value>> + Clone + Send + Sync + 'static {
    move || ready(Json(answer.clone()))
}

fn not_installed(what: &str, name: &str) -> Ready<Failure> {
    let sentence = format!("{what} '{name}' is not installed");
    ready(Failure::new(StatusCode::NOT_FOUND, sentence))
}

async fn cannot_install() -> Failure {
    let sentence = "This server has no use for extensions of another web app";
    Failure::new(StatusCode::BAD_REQUEST, sentence)
}

async fn no_editor_url() -> Failure {
    Failure::rewritten(StatusCode::SERVICE_UNAVAILABLE, "This server has no VS Code")
}

async fn no_init() -> Failure {
    Failure::new(
        StatusCode::NOT_FOUND,
        "server is not running with deferred_init=True; the /api/init endpoint is not available",
    )
}
