//! Hosts that programs of a workspace wait for until a person answers, and those that one has allowed. Ours: the
//! contract has no such thing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_engine::HostAnswer;
use deft_workspace::egress::AskedHost;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, JsonBody, Query};
use crate::failure::Failure;
use crate::request::text;
use crate::router::{Access, Route};
use crate::validation::Issue;

const PATH: &str = "/api/conversations/{conversation_id}/host_questions";
const ALLOWED: &str = "/api/conversations/{conversation_id}/allowed_hosts";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(PATH, Access::Key, list),
        Route::post(PATH, answer),
        Route::get(ALLOWED, Access::Key, allowed),
        Route::delete(ALLOWED, disallow),
    ]
}

async fn allowed(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    app.conversations.catalog.get(id).await?;
    let hosts = deft_engine::allowed_hosts(app.conversations.catalog.store.as_ref(), id).await?;
    Ok(Json(json!({ "rules": hosts })))
}

/// `?host=example.org:443`.
async fn disallow(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Value>, Failure> {
    let Some(host) = query.get("host") else {
        return Err(Issue::missing(&["query", "host"], &Value::Null).into());
    };
    let resident = app.conversations.resident(id).await?;
    if !app.conversations.disallow_host(&resident, host).await? {
        let sentence = format!("'{host}' is not allowed here; name it with its port");
        return Err(Failure::new(StatusCode::NOT_FOUND, sentence));
    }
    allowed(State(app), Id(id)).await
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
