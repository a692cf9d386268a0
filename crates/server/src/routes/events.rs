//! The events of a conversation: send a message, search, count, get.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use deft_store::Direction;
use deft_types::{ConversationId, Event, EventId};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::success;
use crate::app::App;
use crate::extract::{EventPath, Id, JsonBody, Query};
use crate::failure::Failure;
use crate::log::{Filter, Log};
use crate::once;
use crate::request::SendRequest;
use crate::router::{Access, Route};
use crate::validation::Issue;
use crate::wire::Wire;

/// The most events that can be asked for by their ids.
const MAX_IDS: usize = 100;
const DIRECTIONS: [(&str, Direction); 2] = [
    ("TIMESTAMP", Direction::Forward),
    ("TIMESTAMP_DESC", Direction::Backward),
];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/conversations/{conversation_id}/events", send),
        Route::get("/api/conversations/{conversation_id}/events", Access::Key, batch),
        Route::get(
            "/api/conversations/{conversation_id}/events/search",
            Access::Key,
            search,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/events/count",
            Access::Key,
            count,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/events/{event_id}",
            Access::Key,
            get,
        ),
    ]
}

async fn send(
    State(app): State<Arc<App>>,
    Id(id): Id,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let request = SendRequest::read(&body)?;
    exists(&app, id).await?;
    let resident = app.conversations.resident(id).await?;
    if request.rejects {
        // Before the message, which else would let what waits go on.
        let text = request.message.plain_text();
        let reason = Some(text).filter(|text| !text.is_empty());
        let reason = reason.unwrap_or_else(|| "The user says something else instead.".to_owned());
        app.conversations.reject(&resident, reason).await?;
    }
    app.conversations
        .send(
            &resident,
            once::message_id(&headers),
            request.message,
            request.run,
        )
        .await?;
    Ok(success())
}

#[derive(Serialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_page_id: Option<EventId>,
}

async fn search(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Page>, Failure> {
    let limit = query.limit()?;
    let direction = query.choice("sort_order", &DIRECTIONS)?;
    let filter = Filter::asked(&query)?;
    let (wire, log) = open(&app, id).await?;
    let first = query.get("page_id").map(EventId::from);
    let found = log
        .search(&wire, &filter, direction.unwrap_or_default(), first, limit)
        .await?;
    Ok(Json(Page {
        items: found.texts.into_iter().map(raw).collect::<Result<_, _>>()?,
        next_page_id: found.next,
    }))
}

async fn count(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<u64>, Failure> {
    let filter = Filter::asked(&query)?;
    let (_, log) = open(&app, id).await?;
    Ok(Json(log.count(&filter).await?))
}

async fn get(
    State(app): State<Arc<App>>,
    Id(id): Id,
    EventPath(event): EventPath,
) -> Result<Json<Value>, Failure> {
    let (wire, log) = open(&app, id).await?;
    let event = log.get(&EventId(event)).await?;
    let shown = event.and_then(|event: Event| wire.with_nulls(&event));
    shown.map(Json).ok_or_else(Failure::not_found)
}

async fn batch(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Vec<Option<Value>>>, Failure> {
    let Some(ids) = body.as_array() else {
        return Err(Issue::new("list_type", &["body"], "Input should be a valid list", &body).into());
    };
    if ids.len() > MAX_IDS {
        return Err(Failure::refused(format!(
            "At most {MAX_IDS} ids can be asked for at once"
        )));
    }
    let (wire, log) = open(&app, id).await?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let event = log.get(&id.as_str().unwrap_or_default().into()).await?;
        found.push(event.and_then(|event| wire.with_nulls(&event)));
    }
    Ok(Json(found))
}

async fn open(app: &App, id: ConversationId) -> Result<(Wire, Log), Failure> {
    let catalog = &app.conversations.catalog;
    let described = catalog.find(id).await?.ok_or_else(|| unknown(id))?;
    let log = Log {
        store: Arc::clone(&catalog.store),
        id,
    };
    Ok((Wire::new(&described.agent), log))
}

async fn exists(app: &App, id: ConversationId) -> Result<(), Failure> {
    let record = app.conversations.catalog.store.conversation(id).await?;
    record.map(|_| ()).ok_or_else(|| unknown(id))
}

fn unknown(id: ConversationId) -> Failure {
    Failure::new(StatusCode::NOT_FOUND, format!("Conversation not found: {id}"))
}

fn raw(text: String) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(text).map_err(|error| Failure::internal("an event has no JSON form", &error))
}
