//! Messages that wait for the end of the turn. Ours: the contract has no such thing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::{QueueChange, Queued};
use deft_types::EventId;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::extract::{EventPath, Id, JsonBody};
use crate::failure::Failure;
use crate::request::{SendRequest, object};
use crate::router::{Access, Route};
use crate::validation::Issue;

const PATH: &str = "/api/conversations/{conversation_id}/queue";
const ONE: &str = "/api/conversations/{conversation_id}/queue/{event_id}";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(PATH, Access::Key, list),
        Route::post(PATH, add),
        Route::put(PATH, order),
        Route::patch(ONE, edit),
        Route::delete(ONE, remove),
    ]
}

async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    Ok(shown(&app.conversations.queue(&resident).await?))
}

/// `{"id"?, "content", …}` as a message is sent; the id makes it safe to send again.
async fn add(State(app): State<Arc<App>>, id: Id, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let name = body.get("id").and_then(Value::as_str);
    let name = name.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let queued = Queued {
        id: EventId(name),
        message: SendRequest::read(&body)?.message,
    };
    change(&app, id, QueueChange::Add(queued)).await
}

/// `{"content"}`: says something else.
async fn edit(
    State(app): State<Arc<App>>,
    id: Id,
    EventPath(message): EventPath,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let queued = Queued {
        id: EventId(message),
        message: SendRequest::read(&body)?.message,
    };
    change(&app, id, QueueChange::Edit(queued)).await
}

/// `{"order": [ids]}`; those that are not named come last.
async fn order(
    State(app): State<Arc<App>>,
    id: Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let Some(order) = object(&body)?.get("order").and_then(Value::as_array) else {
        return Err(Issue::missing(&["body", "order"], &body).into());
    };
    let ids = order.iter().filter_map(Value::as_str);
    let ids = ids.map(|id| EventId(id.to_owned())).collect();
    change(&app, id, QueueChange::Order(ids)).await
}

async fn remove(
    State(app): State<Arc<App>>,
    id: Id,
    EventPath(message): EventPath,
) -> Result<Json<Value>, Failure> {
    change(&app, id, QueueChange::Remove(EventId(message))).await
}

async fn change(app: &Arc<App>, Id(id): Id, change: QueueChange) -> Result<Json<Value>, Failure> {
    let resident = app.conversations.resident(id).await?;
    Ok(shown(&app.conversations.change_queue(&resident, change).await?))
}

fn shown(queue: &[Queued]) -> Json<Value> {
    Json(json!({ "queue": queue }))
}
