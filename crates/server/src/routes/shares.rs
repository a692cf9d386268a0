//! Links to conversations: those of one, and what they open.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::history::{self, Page};
use super::success;
use crate::app::App;
use crate::extract::{Id, Name, OptionalBody, Query};
use crate::failure::Failure;
use crate::guest::{Guest, shares, shown};
use crate::info::utc;
use crate::router::{Access, Route};
use crate::shares::Share;
use crate::sockets;

const PATH: &str = "/api/conversations/{conversation_id}/shares";
/// Ten years, in seconds.
const MAX_LIFETIME: u64 = 10 * 365 * 24 * 60 * 60;
const BAD_LIFETIME: &str =
    "`expires_in` is a number of seconds, from 1 to 315360000; leave it out for a link that stays";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(PATH, Access::Key, list),
        Route::post(PATH, create),
        Route::delete("/api/conversations/{conversation_id}/shares/{share_id}", revoke),
        Route::get("/api/shared", Access::Guest, conversation),
        Route::get("/api/shared/history", Access::Guest, events),
        Route::get("/sockets/shared", Access::Socket, sockets::shared::handle),
    ]
}

fn described(share: &Share) -> Value {
    json!({"id": share.id, "created_at": utc(share.created_at), "expires_at": share.expires_at.map(utc)})
}

async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    app.conversations.catalog.get(id).await?;
    let all = shares(&app).list(id).await?;
    let all: Vec<_> = all.iter().map(described).collect();
    Ok(Json(json!({ "shares": all })))
}

/// `{"expires_in"?}` in seconds. The token is told here and never again.
async fn create(
    State(app): State<Arc<App>>,
    Id(id): Id,
    OptionalBody(body): OptionalBody,
) -> Result<Json<Value>, Failure> {
    app.conversations.catalog.get(id).await?;
    let lifetime = match &body["expires_in"] {
        Value::Null => None,
        seconds => Some(
            seconds
                .as_u64()
                .filter(|seconds| (1..=MAX_LIFETIME).contains(seconds))
                .ok_or_else(|| Failure::refused(BAD_LIFETIME))?,
        ),
    };
    let lifetime = lifetime.map(Duration::from_secs);
    let (share, token) = shares(&app).create(app.user, id, lifetime).await?;
    let mut made = described(&share);
    made["token"] = token.expose().as_str().into();
    Ok(Json(made))
}

/// What is open with it is closed within a few seconds.
async fn revoke(State(app): State<Arc<App>>, Id(id): Id, Name(share): Name) -> Result<Json<Value>, Failure> {
    app.conversations.catalog.get(id).await?;
    if shares(&app).revoke(id, &share).await? {
        Ok(success())
    } else {
        Err(Failure::not_found())
    }
}

async fn conversation(guest: Guest) -> Result<Json<Value>, Failure> {
    let catalog = &guest.app.conversations.catalog;
    let described = catalog.get(guest.share.conversation).await?;
    Ok(Json(json!({
        "title": described.record.title,
        "created_at": utc(described.record.created_at),
        "updated_at": utc(described.record.updated_at),
        "expires_at": guest.share.expires_at.map(utc),
    })))
}

async fn events(guest: Guest, query: Query) -> Result<Json<Page>, Failure> {
    let mut page = history::page(&guest.app, guest.share.conversation, &query).await?;
    page.items.retain_mut(|item| {
        let event = serde_json::from_str(item.event.get()).ok().and_then(shown);
        let text = event.and_then(|event| RawValue::from_string(event.to_string()).ok());
        let is_shown = text.is_some();
        if let Some(text) = text {
            item.event = text;
        }
        is_shown
    });
    Ok(Json(page))
}
