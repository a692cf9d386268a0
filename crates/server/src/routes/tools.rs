//! Which tools an agent can have.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Redirect;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::Query;
use crate::router::{Access, Route};
use crate::tool_choices::ToolChoice;

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

/// With `model`, the default is what suits it.
async fn catalog(State(app): State<Arc<App>>, query: Query) -> Json<Value> {
    let tools = app
        .conversations
        .tool_choices(query.get("model").unwrap_or_default());
    let tools: Vec<_> = tools.iter().map(ToolChoice::shown).collect();
    Json(json!({ "tools": tools }))
}
