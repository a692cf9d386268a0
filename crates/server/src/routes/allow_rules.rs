//! Commands that a person has allowed for a conversation or a project.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_engine::AllowScope;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, JsonBody, Query};
use crate::failure::Failure;
use crate::request::text;
use crate::router::{Access, Route};
use crate::validation::Issue;

const PATH: &str = "/api/conversations/{conversation_id}/allow_rules";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(PATH, Access::Key, list),
        Route::post(PATH, add),
        Route::delete(PATH, remove),
    ]
}

async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    app.conversations.catalog.get(id).await?;
    let rules = deft_engine::allow_rules(app.conversations.catalog.store.as_ref(), id).await?;
    Ok(Json(json!({ "rules": rules })))
}

async fn add(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let rule = text(&body, "rule")?;
    let scope = match body.get("scope").and_then(Value::as_str) {
        None | Some("conversation") => AllowScope::Conversation,
        Some("project") => AllowScope::Project,
        Some(other) => {
            let words = ["conversation", "project"];
            return Err(Issue::choice(&["body", "scope"], &words, other).into());
        }
    };
    let resident = app.conversations.resident(id).await?;
    app.conversations.allow(&resident, rule, scope).await?;
    list(State(app), Id(id)).await
}

async fn remove(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Value>, Failure> {
    let Some(rule) = query.get("rule") else {
        return Err(Issue::missing(&["query", "rule"], &Value::Null).into());
    };
    let resident = app.conversations.resident(id).await?;
    if !app.conversations.disallow(&resident, rule).await? {
        let sentence = format!("There is no rule '{rule}'");
        return Err(Failure::new(StatusCode::NOT_FOUND, sentence));
    }
    list(State(app), Id(id)).await
}
