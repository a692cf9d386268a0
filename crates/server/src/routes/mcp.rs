//! Tries of MCP servers and logins to them. They are not made here yet, and each answer says so.

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::request::object;
use crate::router::{Access, Route};
use crate::validation::Issue;

const NOT_HERE: &str =
    "This server cannot try MCP servers yet; conversations connect to them when they begin";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/mcp/test", test),
        Route::post("/api/mcp/oauth/start", start),
        Route::get("/api/mcp/oauth/status/{job_id}", Access::Key, no_job),
        Route::post("/api/mcp/oauth/callback/{job_id}", no_job),
    ]
}

fn checked(body: &Value) -> Result<(), Issue> {
    let server = object(body)?.get("server");
    server
        .map(|_| ())
        .ok_or_else(|| Issue::missing(&["body", "server"], body))
}

async fn test(JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    checked(&body)?;
    Ok(Json(
        json!({"ok": false, "error": NOT_HERE, "error_kind": "unknown"}),
    ))
}

async fn start(JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    checked(&body)?;
    Ok(Json(
        json!({"ok": false, "job_id": null, "authorization_url": null, "error": NOT_HERE,
        "error_kind": "unknown"}),
    ))
}

async fn no_job(Name(job): Name) -> Failure {
    let sentence = format!("There is no login '{job}'");
    Failure::new(StatusCode::NOT_FOUND, sentence)
}
