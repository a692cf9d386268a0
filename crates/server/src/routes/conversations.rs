//! Conversations: begin, list, look at, change and delete them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deft_store::{Order, Search};
use deft_types::{ConversationId, Status};
use serde_json::{Value, json};
use uuid::Uuid;

use super::success;
use crate::app::App;
use crate::conversations::Creation;
use crate::extract::{Id, JsonBody, Query};
use crate::failure::Failure;
use crate::guest::shares;
use crate::info::{Skills, runtime_info};
use crate::launch;
use crate::request::{ChangeRequest, StartRequest};
use crate::router::{Access, Route};
use crate::validation::Issue;

/// The most conversations that can be asked for by their ids.
const MAX_IDS: usize = 99;

const STATUSES: [(&str, Status); 8] = [
    ("idle", Status::Idle),
    ("running", Status::Running),
    ("paused", Status::Paused),
    ("waiting_for_confirmation", Status::WaitingForConfirmation),
    ("finished", Status::Finished),
    ("error", Status::Error),
    ("stuck", Status::Stuck),
    ("deleting", Status::Deleting),
];
const ORDERS: [(&str, Order); 4] = [
    ("CREATED_AT", Order::Created),
    ("UPDATED_AT", Order::Updated),
    ("CREATED_AT_DESC", Order::CreatedDescending),
    ("UPDATED_AT_DESC", Order::UpdatedDescending),
];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/conversations", create),
        Route::get("/api/conversations", Access::Key, batch),
        Route::get("/api/conversations/search", Access::Key, search),
        Route::get("/api/conversations/count", Access::Key, count),
        Route::get("/api/conversations/{conversation_id}", Access::Key, get),
        Route::patch("/api/conversations/{conversation_id}", change),
        Route::delete("/api/conversations/{conversation_id}", delete),
        Route::get(
            "/api/conversations/{conversation_id}/agent_final_response",
            Access::Key,
            final_response,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/runtime",
            Access::Key,
            runtime,
        ),
        Route::post(
            "/api/conversations/{conversation_id}/runtime/reprovision",
            runtime,
        ),
    ]
}

pub(super) fn skills(query: &Query) -> Skills {
    if query.is_set("include_skills") {
        Skills::Included
    } else {
        Skills::LeftOut
    }
}

async fn create(
    State(app): State<Arc<App>>,
    query: Query,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    StartRequest::check(&body)?;
    let request = StartRequest::read(&launch::resolved(&app, body).await?)?;
    let (id, creation) = app.conversations.create(request).await?;
    let mut info = info(&app, id, skills(&query))
        .await?
        .ok_or_else(Failure::not_found)?;
    info["runtime_info"] = Value::Null;
    let status = match creation {
        Creation::New => {
            // As it was made: of the run that its first message begins its events tell.
            info["execution_status"] = json!(Status::Idle);
            StatusCode::CREATED
        }
        Creation::Existing => StatusCode::OK,
    };
    Ok((status, Json(info)).into_response())
}

async fn batch(State(app): State<Arc<App>>, query: Query) -> Result<Json<Vec<Option<Value>>>, Failure> {
    let ids: Vec<_> = query.all("ids").collect();
    if ids.is_empty() {
        return Err(Issue::missing(&["query", "ids"], &Value::Null).into());
    }
    if ids.len() > MAX_IDS {
        return Err(Failure::refused(format!(
            "At most {MAX_IDS} ids can be asked for at once"
        )));
    }
    let mut found = Vec::with_capacity(ids.len());
    for (index, id) in ids.into_iter().enumerate() {
        let bad = |error| {
            Issue::bad_uuid(&[], id, &error)
                .beneath(index)
                .beneath("ids")
                .beneath("query")
        };
        let id = Uuid::parse_str(id).map_err(bad)?;
        found.push(info(&app, ConversationId(id), skills(&query)).await?);
    }
    Ok(Json(found))
}

async fn search(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    let limit = query.limit()?;
    let search = Search {
        owner: app.user,
        status: query.choice("status", &STATUSES)?,
        order: query.choice("sort_order", &ORDERS)?.unwrap_or_default(),
        from: query
            .get("page_id")
            .and_then(|id| Uuid::parse_str(id).ok())
            .map(ConversationId),
    };
    let catalog = &app.conversations.catalog;
    let said = query.get("said").unwrap_or_default().split_whitespace();
    let said: Vec<_> = said.map(str::to_owned).collect();
    let (records, next) = if said.is_empty() {
        let mut records = catalog.store.search(search, limit + 1).await?;
        let next = (records.len() > limit).then(|| records.pop()).flatten();
        (records, next.map(|record| record.id))
    } else {
        let page = catalog.store.search_said(said, search, limit).await?;
        (page.found, page.next)
    };
    let mut items = Vec::with_capacity(records.len());
    for record in records {
        items.push(catalog.describe(record).await?.info(skills(&query)));
    }
    Ok(Json(
        json!({"items": items, "next_page_id": next.map(|id| id.hex())}),
    ))
}

async fn count(State(app): State<Arc<App>>, query: Query) -> Result<Json<u64>, Failure> {
    let status = query.choice("status", &STATUSES)?;
    Ok(Json(
        app.conversations.catalog.store.count(app.user, status).await?,
    ))
}

async fn get(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Value>, Failure> {
    let found = info(&app, id, skills(&query)).await?;
    found.map(Json).ok_or_else(Failure::not_found)
}

async fn change(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let change = ChangeRequest::read(&body)?;
    let resident = app.conversations.resident(id).await?;
    if change.title.is_some() || change.tags.is_some() {
        let label = app.conversations.label(&resident, change.title, change.tags);
        label.await?;
    }
    app.conversations.webhooks.notice(id).await;
    Ok(success())
}

async fn delete(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    app.conversations.delete(id).await?;
    app.bash.forget(id).await?;
    shares(&app).revoke_all(id).await?;
    Ok(success())
}

async fn final_response(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let catalog = &app.conversations.catalog;
    let record = catalog.store.conversation(id).await?;
    let record = record.ok_or_else(Failure::not_found)?;
    Ok(Json(json!({"response": catalog.answer(&record).await?})))
}

async fn runtime(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let record = app.conversations.catalog.store.conversation(id).await?;
    record
        .map(|_| Json(runtime_info()))
        .ok_or_else(Failure::not_found)
}

pub(super) async fn info(app: &App, id: ConversationId, skills: Skills) -> Result<Option<Value>, Failure> {
    let found = app.conversations.catalog.find(id).await?;
    Ok(found.map(|described| described.info(skills)))
}
