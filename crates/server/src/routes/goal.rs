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
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::router::Route;

/// What a client says of a goal.
const GOAL: &Table = &[
    ("objective", Kind::Text, Gap::None),
    ("max_iterations", Kind::Integer { least: Some(1) }, Gap::Absent),
];

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
    let sent = fields::read_body(&body, GOAL, Others::Kept)?;
    let objective = sent["objective"].as_str().unwrap_or_default();
    let resident = app.conversations.resident(id).await?;
    if objective.trim().is_empty() {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "Goal objective must not be empty.",
        ));
    }
    let rounds = sent.get("max_iterations").and_then(Value::as_u64);
    let rounds = rounds.map(|rounds| u32::try_from(rounds).unwrap_or(u32::MAX));
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
