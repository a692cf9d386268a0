//! Keys and addresses of providers that several models share.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::launch::CONNECTIONS;
use crate::router::{Access, Route};

const NAME: Kind = Kind::Sized { least: 1, most: 128 };
const ADDRESS: Kind = Kind::Sized { least: 0, most: 2048 };
const KEY: Kind = Kind::Hidden(&Kind::Sized {
    least: 1,
    most: usize::MAX,
});

const NEW: &Table = &[
    ("display_name", NAME, Gap::None),
    ("provider", NAME, Gap::Absent),
    ("api_key", KEY, Gap::None),
    ("base_url", ADDRESS, Gap::Null),
];
const CHANGED: &Table = &[
    ("display_name", NAME, Gap::Null),
    ("provider", NAME, Gap::Null),
    ("api_key", Kind::Hidden(&Kind::Text), Gap::Null),
    ("base_url", ADDRESS, Gap::Null),
];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/llm/provider-connections", Access::Key, list),
        Route::post("/api/llm/provider-connections", add),
        Route::patch("/api/llm/provider-connections/{connection_id}", change),
        Route::delete("/api/llm/provider-connections/{connection_id}", delete),
    ]
}

fn key(id: &str) -> String {
    format!("{CONNECTIONS}{id}")
}

fn unknown() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "Provider connection not found")
}

fn shown(connection: &Value) -> Value {
    json!({"id": connection["id"], "display_name": connection["display_name"],
        "provider": connection["provider"], "base_url": connection["base_url"],
        "created_at": connection["created_at"], "updated_at": connection["updated_at"],
        "api_key_set": connection["api_key"].as_str().is_some_and(|key| !key.is_empty())})
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<Value>>, Failure> {
    let all = app.documents.list(CONNECTIONS).await?;
    Ok(Json(
        all.iter().map(|(_, connection)| shown(connection)).collect(),
    ))
}

async fn add(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Response, Failure> {
    fields::read_body(&body, NEW, Others::Refused)?;
    let id = Uuid::new_v4().to_string();
    let provider = body["provider"].as_str().unwrap_or("custom");
    let connection = json!({"id": id, "display_name": body["display_name"], "provider": provider,
        "api_key": body["api_key"], "base_url": body["base_url"], "created_at": now(), "updated_at": now()});
    app.documents.put(&key(&id), &connection).await?;
    Ok((StatusCode::CREATED, Json(shown(&connection))).into_response())
}

async fn change(
    State(app): State<Arc<App>>,
    Name(id): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let sent = fields::read_body(&body, CHANGED, Others::Refused)?;
    if sent.is_empty() {
        return Err(Failure::refused(
            "Provide at least one provider connection field to update",
        ));
    }
    let key = key(&id);
    let changed = app.documents.change(&key, |there| {
        let mut connection = there.ok_or_else(unknown)?;
        for (name, value) in &sent {
            if !value.is_null() || name == "base_url" {
                connection[name] = value.clone();
            }
        }
        connection["updated_at"] = now().into();
        Ok((Some(connection.clone()), connection))
    });
    Ok(Json(shown(&changed.await?)))
}

async fn delete(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<Value>, Failure> {
    let connection = app.documents.take(&key(&id)).await?.ok_or_else(unknown)?;
    Ok(Json(shown(&connection)))
}
