//! What is in a workspace: a directory to look into, and names to choose from, also before a conversation begins in it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_executor::{Client, EntryPage, Page};
use deft_types::ConversationId;
use serde_json::{Value, json};

use super::files::{reached, refused};
use crate::app::App;
use crate::extract::{Id, Query, Scope};
use crate::failure::Failure;
use crate::places::asked_path;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/conversations/{conversation_id}/entries", Access::Key, list),
        Route::get(
            "/api/conversations/{conversation_id}/entries/search",
            Access::Key,
            search,
        ),
        Route::get("/api/file/search_entries", Access::Key, search_folder),
    ]
}

/// The executor and the directory that is asked about: the workspace itself, if none is named.
async fn asked(app: &App, id: ConversationId, query: &Query) -> Result<(Client, String), Failure> {
    let root = app
        .places
        .of_conversation(app, id)
        .await?
        .root
        .display()
        .to_string();
    reached(app, Scope(Some(id)), query.get("path").unwrap_or(&root)).await
}

fn page(query: &Query) -> Result<Page, Failure> {
    Ok(Page {
        from: query.get("page_id").map(str::to_owned),
        limit: query.limit()?,
        only: None,
        hidden: query.is_set("include_hidden"),
    })
}

fn shown(found: &EntryPage) -> Json<Value> {
    Json(json!({"items": found.entries, "next_page_id": found.next}))
}

async fn list(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Value>, Failure> {
    let page = page(&query)?;
    let (client, path) = asked(&app, id, &query).await?;
    let found = client.list(&path, page).await;
    Ok(shown(&found.map_err(|error| refused(&error))?))
}

async fn search(State(app): State<Arc<App>>, Id(id): Id, query: Query) -> Result<Json<Value>, Failure> {
    let (client, path) = asked(&app, id, &query).await?;
    named(&client, &path, &query).await
}

/// The same in a folder that a conversation is about to begin in.
async fn search_folder(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    let (client, path) = reached(&app, Scope(None), asked_path(&query)?).await?;
    named(&client, &path, &query).await
}

async fn named(client: &Client, path: &str, query: &Query) -> Result<Json<Value>, Failure> {
    let name = query.get("name").unwrap_or_default();
    let found = client.search(path, name, page(query)?).await;
    Ok(shown(&found.map_err(|error| refused(&error))?))
}
