//! The routes, one concept a file. Each file has its part of the table.

pub(crate) mod acp;
pub(crate) mod agent_profiles;
pub(crate) mod allow_rules;
pub(crate) mod answers;
pub(crate) mod app;
pub(crate) mod archive;
pub(crate) mod bash;
pub(crate) mod branches;
pub(crate) mod budget;
pub(crate) mod checkpoints;
pub(crate) mod children;
pub(crate) mod clones;
pub(crate) mod confirmation;
pub(crate) mod connections;
pub(crate) mod context;
pub(crate) mod control;
pub(crate) mod conversations;
pub(crate) mod devices;
pub(crate) mod docs;
pub(crate) mod entries;
pub(crate) mod events;
pub(crate) mod extensions;
pub(crate) mod files;
pub(crate) mod forge;
pub(crate) mod gateway;
mod gateway_stream;
pub(crate) mod git;
pub(crate) mod goal;
pub(crate) mod history;
pub(crate) mod host_questions;
pub(crate) mod mcp;
pub(crate) mod mcp_logins;
pub(crate) mod mcp_servers;
pub(crate) mod meta_profiles;
pub(crate) mod metrics;
pub(crate) mod model;
pub(crate) mod models;
pub(crate) mod packages;
mod patch;
pub(crate) mod plan;
pub(crate) mod plugins;
pub(crate) mod ports;
pub(crate) mod profiles;
pub(crate) mod project;
pub(crate) mod queue;
pub(crate) mod rerun;
pub(crate) mod resources;
pub(crate) mod rewind;
pub(crate) mod secrets;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod shares;
pub(crate) mod sign_in;
pub(crate) mod streams;
pub(crate) mod subscription;
pub(crate) mod tools;
pub(crate) mod trajectory;
pub(crate) mod trust;
pub(crate) mod users;
pub(crate) mod webhooks;
pub(crate) mod workspace_files;
pub(crate) mod workspaces;

use std::sync::Arc;

use axum::Json;
use deft_types::ConversationId;
use serde_json::{Value, json};

use crate::app::App;
use crate::failure::Failure;
use crate::resident::Resident;

/// A conversation, for routes whose contract names what is missing.
async fn resident(app: &App, id: ConversationId) -> Result<Arc<Resident>, Failure> {
    let found = app.conversations.resident(id).await;
    found.map_err(|failure| failure.naming("Conversation not found"))
}

/// The answer to what was done.
fn success() -> Json<Value> {
    Json(json!({"success": true}))
}
