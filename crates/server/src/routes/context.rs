//! What the model of a conversation would be sent next. Ours: the contract has no such thing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::Context;

use crate::app::App;
use crate::extract::{Id, Query};
use crate::failure::Failure;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![Route::get(
        "/api/conversations/{conversation_id}/context",
        Access::Key,
        show,
    )]
}

async fn show(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Context>, Failure> {
    let most = query.limit()?;
    let resident = app.conversations.resident(id).await?;
    Ok(Json(app.conversations.context(&resident, most).await?))
}
