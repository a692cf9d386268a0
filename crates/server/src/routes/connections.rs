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
use crate::launch::CONNECTIONS;
use crate::request::{object, text};
use crate::router::{Access, Route};
use crate::validation::Issue;

const FIELDS: [&str; 4] = ["display_name", "provider", "api_key", "base_url"];

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

/// Only what the contract has may be said.
fn checked(body: &Value) -> Result<(), Failure> {
    for (name, value) in object(body)? {
        let place = &["body", name.as_str()];
        if !FIELDS.contains(&name.as_str()) {
            let msg = "Extra inputs are not permitted";
            return Err(Issue::new("extra_forbidden", place, msg, value).into());
        }
        if !value.is_string() && !value.is_null() {
            return Err(Issue::new(
                "string_type",
                place,
                "Input should be a valid string",
                &Value::Null,
            )
            .into());
        }
    }
    Ok(())
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<Value>>, Failure> {
    let all = app.documents.list(CONNECTIONS).await?;
    Ok(Json(
        all.iter().map(|(_, connection)| shown(connection)).collect(),
    ))
}

async fn add(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Response, Failure> {
    let name = text(&body, "display_name")?;
    let api_key = text(&body, "api_key")?;
    checked(&body)?;
    let id = Uuid::new_v4().to_string();
    let provider = body["provider"].as_str().unwrap_or("openai");
    let connection = json!({"id": id, "display_name": name, "provider": provider, "api_key": api_key,
        "base_url": body["base_url"], "created_at": now(), "updated_at": now()});
    app.documents.put(&key(&id), &connection).await?;
    Ok((StatusCode::CREATED, Json(shown(&connection))).into_response())
}

async fn change(
    State(app): State<Arc<App>>,
    Name(id): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    checked(&body)?;
    let key = key(&id);
    let changed = app.documents.change(&key, |there| {
        let mut connection = there.ok_or_else(unknown)?;
        for name in FIELDS {
            if let Some(value) = body
                .get(name)
                .filter(|value| !value.is_null() || name == "base_url")
            {
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
