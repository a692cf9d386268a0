//! The routes, one concept a file. Each file has its part of the table.

pub(crate) mod app;
pub(crate) mod control;
pub(crate) mod conversations;
pub(crate) mod events;
pub(crate) mod server;
pub(crate) mod streams;
pub(crate) mod tools;

use axum::Json;
use serde_json::{Value, json};

/// The answer to what was done.
fn success() -> Json<Value> {
    Json(json!({"success": true}))
}
