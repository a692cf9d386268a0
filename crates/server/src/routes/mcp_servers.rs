//! The MCP servers of a conversation: how they are doing, and what a person agrees to.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_types::{ConversationId, McpServerState, McpServerStatus};
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::text;
use crate::router::{Access, Route};

const PATH: &str = "/api/conversations/{conversation_id}/mcp_servers";

pub(crate) fn table() -> Vec<Route> {
    vec![Route::get(PATH, Access::Key, list), Route::post(PATH, approve)]
}

async fn list(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let servers = servers(&app, id).await?;
    let shown: Vec<_> = servers.iter().map(shown).collect();
    Ok(Json(json!({ "servers": shown })))
}

/// Agrees to what a server is, by the fingerprint that was shown: one that has changed since is not approved.
async fn approve(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let (name, fingerprint) = (text(&body, "name")?, text(&body, "fingerprint")?);
    let servers = servers(&app, id).await?;
    let Some(server) = servers.iter().find(|server| server.name == name) else {
        let sentence = format!("The conversation has no MCP server {name:?}");
        return Err(Failure::new(StatusCode::NOT_FOUND, sentence));
    };
    let pin = server
        .pin
        .clone()
        .filter(|pin| deft_mcp::fingerprint(pin) == fingerprint);
    let Some(pin) = pin else {
        let sentence = format!("The MCP server {name:?} is not what was to be approved; look at it again");
        return Err(Failure::new(StatusCode::CONFLICT, sentence));
    };
    let resident = app.conversations.resident(id).await?;
    app.conversations.approve_server(&resident, name, pin).await?;
    list(State(app), Id(id)).await
}

async fn servers(app: &App, id: ConversationId) -> Result<Vec<McpServerStatus>, Failure> {
    let catalog = &app.conversations.catalog;
    catalog.get(id).await?;
    Ok(deft_engine::load(catalog.store.as_ref(), id).await?.servers)
}

fn shown(server: &McpServerStatus) -> Value {
    let mut state = json!(server.state);
    if let McpServerState::Changed { what, .. } = &server.state {
        let sentences: Vec<_> = what.iter().map(ToString::to_string).collect();
        state["changes"] = json!(sentences);
    }
    let waits = matches!(server.state, McpServerState::Changed { .. }) && server.approved != server.pin;
    json!({"name": server.name, "state": state, "notes": server.notes, "needs_approval": waits,
        "fingerprint": server.pin.as_ref().map(deft_mcp::fingerprint)})
}
