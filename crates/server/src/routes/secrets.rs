//! Secrets that have names: shared by all conversations, or of one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::success;
use crate::app::App;
use crate::extract::{Id, JsonBody, Name, Query};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::launch::find_agent;
use crate::masking::ASTERISKS;
use crate::router::{Access, Route};
use crate::secrets::FOLDER;
use crate::start_fields::SECRETS;

const MAX_NAME: usize = 64;
/// Where a secret is found.
const PLACE: &Table = &[
    ("url", Kind::Text, Gap::None),
    ("headers", Kind::Hidden(&Kind::Each(&Kind::Text)), Gap::Absent),
];
/// A secret for all conversations.
const SECRET: &Table = &[
    ("name", Kind::Text, Gap::None),
    ("value", Kind::Hidden(&Kind::Text), Gap::None),
    ("description", Kind::Text, Gap::Null),
];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/settings/secrets", Access::Key, list),
        Route::put("/api/settings/secrets", put),
        Route::get("/api/settings/secrets/{name}", Access::Key, get),
        Route::delete("/api/settings/secrets/{name}", delete),
        Route::post("/api/conversations/{conversation_id}/secrets", of_conversation),
        Route::put(
            "/api/conversations/{conversation_id}/credential-bindings/{secret_name}",
            bind,
        ),
    ]
}

fn checked(name: &str) -> Result<String, Failure> {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if begins_well && is_plain && name.len() <= MAX_NAME {
        Ok(format!("{FOLDER}{name}"))
    } else {
        Err(Failure::refused(
            "Invalid secret name format. Must start with a letter, contain only letters, numbers, and underscores, \
             and be 1-64 characters long.",
        ))
    }
}

fn unknown() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "Secret not found")
}

fn described(name: &str, secret: &Value) -> Value {
    json!({"name": name, "description": secret["description"]})
}

/// All of them, or those that the profile of an agent lets it have.
async fn list(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    let profile = match query.get("agent_profile_id") {
        Some(id) => find_agent(&app, id).await?,
        None => Value::Null,
    };
    let allowed = profile["secret_refs"].as_array();
    let all = app.documents.list(FOLDER).await?;
    let secrets: Vec<_> = all
        .iter()
        .filter(|(name, _)| allowed.is_none_or(|allowed| allowed.contains(&json!(name))))
        .map(|(name, secret)| described(name, secret))
        .collect();
    Ok(Json(json!({ "secrets": secrets })))
}

async fn put(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let sent = fields::read_body(&body, SECRET, Others::Kept)?;
    let text = |name: &str| sent[name].as_str().unwrap_or_default();
    let (name, value) = (text("name"), text("value"));
    // Who sends back what was shown to them means to keep the secret, not to lose it.
    if value.is_empty() || value == ASTERISKS {
        return Err(Failure::refused("Secret value must not be empty or redacted"));
    }
    let secret = json!({"value": value, "description": body["description"]});
    app.documents.put(&checked(name)?, &secret).await?;
    Ok(Json(described(name, &secret)))
}

/// The secret itself, as plain text.
async fn get(State(app): State<Arc<App>>, Name(name): Name) -> Result<String, Failure> {
    let secret = app.documents.get(&checked(&name)?).await?.ok_or_else(unknown)?;
    Ok(secret["value"].as_str().unwrap_or_default().to_owned())
}

async fn delete(State(app): State<Arc<App>>, Name(name): Name) -> Result<Json<Value>, Failure> {
    app.documents.take(&checked(&name)?).await?.ok_or_else(unknown)?;
    Ok(Json(json!({"deleted": true})))
}

async fn of_conversation(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let sent = fields::read_body(&body, &[("secrets", SECRETS, Gap::None)], Others::Kept)?;
    let sent = sent["secrets"].as_object().cloned().unwrap_or_default();
    app.conversations.add_secrets(id, &sent).await?;
    Ok(success())
}

/// Says anew where a secret is found that a conversation has to look up.
async fn bind(
    State(app): State<Arc<App>>,
    Id(id): Id,
    Name(name): Name,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, Failure> {
    let place = fields::read_body(&body, PLACE, Others::Refused)?;
    let described = app.conversations.catalog.get(id).await?;
    let known = described.secrets().and_then(|secrets| secrets.get(&name));
    let mut secret = known.filter(|secret| secret["url"].is_string()).cloned();
    let secret = secret.as_mut().and_then(Value::as_object_mut);
    let secret = secret.ok_or_else(Failure::not_found)?;
    secret.remove("headers"); // those of before were for the place of before
    secret.extend(place);
    let bound = Map::from_iter([(name, Value::Object(secret.clone()))]);
    app.conversations.add_secrets(id, &bound).await?;
    Ok(StatusCode::NO_CONTENT)
}
