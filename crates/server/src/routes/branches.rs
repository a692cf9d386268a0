//! The tree of a conversation: go back to an event, or go on from it in a copy.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use deft_types::EventId;
use serde_json::Value;

use super::conversations::{info, skills};
use super::resident;
use crate::app::App;
use crate::conversations::ForkRequest;
use crate::extract::{Id, JsonBody, OptionalBody, Query};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::once;
use crate::request::{checked_title, given, id_of, tags_of};
use crate::router::Route;

/// What is said of a copy, beside its id and its tags.
const FORK: &Table = &[
    ("title", Kind::Text, Gap::Null),
    ("reset_metrics", Kind::Switch, Gap::Absent),
    ("from_event_id", Kind::Text, Gap::Null),
];
/// Where to stand. Null is before the first event.
const NAVIGATE: &Table = &[("event_id", Kind::Text, Gap::Null)];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/conversations/{conversation_id}/fork", fork),
        Route::post("/api/conversations/{conversation_id}/navigate", navigate),
    ]
}

async fn fork(
    State(app): State<Arc<App>>,
    Id(source): Id,
    query: Query,
    headers: HeaderMap,
    OptionalBody(body): OptionalBody,
) -> Result<Response, Failure> {
    let fields = &fields::read_body(&body, FORK, Others::Kept)?;
    let title = given(fields, "title").and_then(Value::as_str);
    let request = ForkRequest {
        id: id_of(fields, "id")?,
        title: title.map(checked_title).transpose()?,
        tags: tags_of(fields)?.unwrap_or_default(),
        at: given(fields, "from_event_id")
            .and_then(Value::as_str)
            .map(EventId::from),
        keep_stats: fields.get("reset_metrics") == Some(&Value::Bool(false)),
        request: once::name_of(&headers, "fork"),
    };
    let id = app.conversations.fork(source, request).await?;
    let mut copy = info(&app, id, skills(&query))
        .await?
        .ok_or_else(Failure::not_found)?;
    copy["runtime_info"] = Value::Null;
    Ok((StatusCode::CREATED, Json(copy)).into_response())
}

async fn navigate(
    State(app): State<Arc<App>>,
    Id(id): Id,
    query: Query,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let fields = fields::read_body(&body, NAVIGATE, Others::Kept)?;
    let to = given(&fields, "event_id").and_then(Value::as_str);
    let resident = resident(&app, id).await?;
    app.conversations
        .navigate(&resident, to.map(EventId::from))
        .await?;
    let mut moved = info(&app, id, skills(&query))
        .await?
        .ok_or_else(Failure::not_found)?;
    moved["runtime_info"] = Value::Null;
    Ok(Json(moved))
}
