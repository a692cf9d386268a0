//! Hosts that programs of a workspace wait for until a person answers. Ours: the contract has no such thing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::HostAnswer;
use deft_workspace::egress::AskedHost;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::text;
use crate::router::{Access, Route};
use crate::validation::Issue;

const PATH: &str = "/api/conversations/{conversation_id}/host_questions";

pub(crate) fn table() -> Vec<Route> {
    vec![Route::get(PATH, Access::Key, list), Route::post(PATH, answer)]
}

async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    let questions = app.conversations.host_questions(&resident).await;
    Ok(Json(json!({ "questions": questions })))
}

/// `{"host", "port", "answer"}`.
async fn answer(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let host = text(&body, "host")?.to_owned();
    let port = body.get("port").and_then(Value::as_u64);
    let Some(port) = port.and_then(|port| u16::try_from(port).ok()) else {
        return Err(Issue::missing(&["body", "port"], &body).into());
    };
    let word = text(&body, "answer")?;
    let Ok(answer) = HostAnswer::deserialize(&json!(word)) else {
        let words = ["once", "conversation", "project", "deny"];
        return Err(Issue::choice(&["body", "answer"], &words, word).into());
    };
    let resident = app.conversations.resident(id).await?;
    let asked = AskedHost { host, port };
    app.conversations.answer_host(&resident, asked, answer).await?;
    list(State(app), Id(id)).await
}
