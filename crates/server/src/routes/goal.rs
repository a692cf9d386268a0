//! A goal that the agent works towards until it is reached.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_engine::{GOAL_ROUNDS, Goal};
use serde_json::Value;

use super::success;
use crate::app::App;
use crate::conversations::Conversations;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::object;
use crate::router::Route;
use crate::validation::Issue;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/conversations/{conversation_id}/goal", begin),
        Route::post("/api/conversations/{conversation_id}/goal/stop", stop),
        Route::post("/api/conversations/{conversation_id}/goal/resume", resume),
    ]
}

async fn begin(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let Some(objective) = object(&body)?.get("objective").and_then(Value::as_str) else {
        return Err(Issue::missing(&["body", "objective"], &body).into());
    };
    let resident = app.conversations.resident(id).await?;
    if objective.trim().is_empty() {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "Goal objective must not be empty.",
        ));
    }
    let rounds = body["max_iterations"]
        .as_u64()
        .and_then(|rounds| u32::try_from(rounds).ok());
    let goal = Goal::new(objective.to_owned(), rounds.unwrap_or(GOAL_ROUNDS));
    Conversations::pursue(&app, resident, goal).await?;
    Ok(success())
}

async fn stop(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    app.conversations.give_up(&resident).await?;
    Ok(success())
}

async fn resume(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    let goal = app.conversations.unfinished_goal(&resident).await?;
    Conversations::pursue(&app, resident, goal).await?;
    Ok(success())
}
