//! What a conversation may use. Ours: the contract has no such thing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::Budget;
use deft_types::EventId;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::app::App;
use crate::conversations::BudgetLimits;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::router::{Access, Route};

const PATH: &str = "/api/conversations/{conversation_id}/budget";

/// More of it. The id makes it safe to send again.
#[derive(Deserialize)]
struct More {
    id: Option<EventId>,
    /// Whether the agent is to go on at once.
    #[serde(default)]
    run: bool,
    #[serde(default)]
    add: Budget,
}

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(PATH, Access::Key, show),
        Route::put(PATH, set),
        Route::post(PATH, add),
    ]
}

async fn show(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    Ok(Json(app.conversations.budget(&resident).await?))
}

/// `{"cost"?, "tokens"?, "seconds"?, "agents"?, "depth"?}`; what is left out is not limited.
async fn set(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let limits: BudgetLimits = read(&body)?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.set_budget(&resident, &limits).await?;
    Ok(Json(app.conversations.budget(&resident).await?))
}

/// `{"id"?, "run"?, "add": {"cost"?, "tokens"?, "seconds"?, "steps"?, "agents"?, "depth"?}}`.
async fn add(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let more: More = read(&body)?;
    let resident = app.conversations.resident(id).await?;
    let named = more.id.unwrap_or_else(|| EventId::from(Uuid::new_v4()));
    app.conversations.add_budget(&resident, named, more.add).await?;
    if more.run {
        app.conversations.go_on(&resident).await?;
    }
    Ok(Json(app.conversations.budget(&resident).await?))
}

fn read<'a, T: Deserialize<'a>>(body: &'a Value) -> Result<T, Failure> {
    T::deserialize(body).map_err(|error| Failure::refused(format!("the budget cannot be read: {error}")))
}
