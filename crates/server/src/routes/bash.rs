//! Commands that clients run themselves.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_types::BashEvent;
use serde_json::{Value, json};
use uuid::Uuid;

use super::success;
use crate::app::App;
use crate::bash::{BashRequest, Filter, event_id};
use crate::extract::{JsonBody, Name, Query, Scope};
use crate::failure::Failure;
use crate::log::moment_of;
use crate::moment;
use crate::router::{Access, Route};
use crate::sockets;
use crate::validation::Issue;

const KINDS: [(&str, &str); 3] = [
    ("BashCommand", "BashCommand"),
    ("BashOutput", "BashOutput"),
    ("BashError", "BashError"),
];
const DIRECTIONS: [(&str, bool); 2] = [("TIMESTAMP", false), ("TIMESTAMP_DESC", true)];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/bash/bash_events/search", Access::Key, search),
        Route::get("/api/bash/bash_events/{event_id}", Access::Key, get),
        Route::get("/api/bash/bash_events/", Access::Key, batch),
        Route::post("/api/bash/start_bash_command", start),
        Route::post("/api/bash/execute_bash_command", execute),
        Route::delete("/api/bash/bash_events", clear),
        Route::post("/api/bash/bash_commands/{command_id}/stop", stop),
        Route::get(
            "/api/conversations/{conversation_id}/bash/bash_events/search",
            Access::Key,
            search,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/bash/bash_events/{event_id}",
            Access::Key,
            get,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/bash/bash_events/",
            Access::Key,
            batch,
        ),
        Route::post(
            "/api/conversations/{conversation_id}/bash/start_bash_command",
            start,
        ),
        Route::post(
            "/api/conversations/{conversation_id}/bash/execute_bash_command",
            execute,
        ),
        Route::delete("/api/conversations/{conversation_id}/bash/bash_events", clear),
        Route::post(
            "/api/conversations/{conversation_id}/bash/bash_commands/{command_id}/stop",
            stop,
        ),
        Route::get("/sockets/bash-events", Access::Socket, sockets::bash::open),
    ]
}

async fn start(
    State(app): State<Arc<App>>,
    scope: Scope,
    JsonBody(body): JsonBody,
) -> Result<Json<BashEvent>, Failure> {
    let request = BashRequest::read(&body)?;
    let (command, _) = app.bash.start(&app, scope.0, request).await?;
    Ok(Json(command.into()))
}

async fn execute(
    State(app): State<Arc<App>>,
    scope: Scope,
    JsonBody(body): JsonBody,
) -> Result<Json<BashEvent>, Failure> {
    let request = BashRequest::read(&body)?;
    let (_, ended) = app.bash.start(&app, scope.0, request).await?;
    let output = ended
        .await
        .map_err(|error| Failure::internal("the server stopped before the command had ended", &error))?;
    Ok(Json(output.into()))
}

async fn stop(State(app): State<Arc<App>>, scope: Scope, Name(id): Name) -> Result<Json<Value>, Failure> {
    let id = Uuid::parse_str(&id).map_err(|error| Issue::bad_uuid(&["path", "command_id"], &id, &error))?;
    if app.bash.history(scope.0).await?.stop(id) {
        Ok(success())
    } else {
        Err(Failure::not_found())
    }
}

async fn search(State(app): State<Arc<App>>, scope: Scope, query: Query) -> Result<Json<Value>, Failure> {
    let limit = query.limit()?;
    let command = query.get("command_id__eq").map(|id| {
        Uuid::parse_str(id).map_err(|error| Issue::bad_uuid(&["query", "command_id__eq"], id, &error))
    });
    let filter = Filter {
        kind: query.choice("kind__eq", &KINDS)?.map(str::to_owned),
        command: command.transpose()?,
        order_above: query.get("order__gt").and_then(|order| order.parse().ok()),
        from: moment_of(&query, "timestamp__gte", moment::read_utc)?,
        before: moment_of(&query, "timestamp__lt", moment::read_utc)?,
    };
    let mut found = app.bash.history(scope.0).await?.search(&filter);
    if query.choice("sort_order", &DIRECTIONS)? == Some(true) {
        found.reverse();
    }
    let first = query.get("page_id");
    let first = first.and_then(|first| found.iter().position(|event| event_id(event) == first));
    let mut rest = found.into_iter().skip(first.unwrap_or(0));
    let items: Vec<_> = rest.by_ref().take(limit).collect();
    let next = rest.next().map(|event| event_id(&event));
    Ok(Json(json!({"items": items, "next_page_id": next})))
}

async fn get(State(app): State<Arc<App>>, scope: Scope, Name(id): Name) -> Result<Json<BashEvent>, Failure> {
    let found = app.bash.history(scope.0).await?.get(&id);
    found.map(Json).ok_or_else(Failure::not_found)
}

async fn batch(
    State(app): State<Arc<App>>,
    scope: Scope,
    JsonBody(body): JsonBody,
) -> Result<Json<Vec<Option<BashEvent>>>, Failure> {
    let Some(ids) = body.as_array() else {
        return Err(Issue::new("list_type", &["body"], "Input should be a valid list", &body).into());
    };
    let history = app.bash.history(scope.0).await?;
    let found = ids.iter().map(|id| history.get(id.as_str().unwrap_or_default()));
    Ok(Json(found.collect()))
}

async fn clear(State(app): State<Arc<App>>, scope: Scope) -> Result<Json<Value>, Failure> {
    let cleared = app.bash.history(scope.0).await?.clear().await;
    Ok(Json(json!({"cleared_count": cleared})))
}
