//! What became of webhooks.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::accounts::Role;
use crate::app::App;
use crate::extract::Name;
use crate::failure::Failure;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/webhooks", Access::Key, state),
        Route::post("/api/webhooks/{webhook_id}/redeliver", redeliver),
    ]
}

/// They are told of everybody's conversations, so they are the owner's and the admins' business.
fn check(app: &App) -> Result<(), Failure> {
    let account = app.user.map(|user| app.users.directory.user(user));
    match account {
        None => Ok(()),
        Some(Some(account)) if account.role == Role::Admin => Ok(()),
        Some(_) => Err(Failure::not_found()),
    }
}

async fn state(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    check(&app)?;
    Ok(Json(app.conversations.webhooks.state().await?))
}

async fn redeliver(State(app): State<Arc<App>>, Name(hook): Name) -> Result<Json<Value>, Failure> {
    check(&app)?;
    let count = app.conversations.webhooks.redeliver(&hook).await?;
    Ok(Json(json!({ "redelivered": count })))
}
