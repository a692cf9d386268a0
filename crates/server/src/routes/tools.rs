//! Which tools an agent can have.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Redirect;
use serde_json::{Value, json};

use crate::app::App;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/tools", Access::Key, with_slash),
        Route::get("/api/tools/", Access::Key, names),
        Route::get("/api/tools/catalog", Access::Key, catalog),
    ]
}

async fn with_slash() -> Redirect {
    Redirect::temporary("/api/tools/")
}

async fn names(State(app): State<Arc<App>>) -> Json<Vec<String>> {
    Json(app.conversations.tool_names())
}

async fn catalog(State(app): State<Arc<App>>) -> Json<Value> {
    let entry = |name: String| json!({"name": name, "user_selectable": true, "usable": true, "description": "", "in_default_set": true});
    let tools: Vec<_> = app.conversations.tool_names().into_iter().map(entry).collect();
    Json(json!({ "tools": tools }))
}
