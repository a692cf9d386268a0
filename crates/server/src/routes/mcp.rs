//! Tries of MCP servers.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use deft_types::{MCPToolObservation, McpServerState};
use serde_json::{Value, json};

use crate::agent_fields::SERVER;
use crate::app::App;
use crate::composition::{McpCall, McpTrial, McpTried};
use crate::exposure::unseal;
use crate::extract::JsonBody;
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Object, Others, Table};
use crate::router::Route;
use crate::validation::Issue;

pub(super) const ADDRESSES: &str = "Only an admin may try addresses: they are reached by the server itself";
/// What a server is called that has no name.
pub(super) const USUAL_NAME: &str = "test-server";
/// How long a test may take where nobody says, and at most.
const USUAL_LIMIT: Duration = Duration::from_secs(15);
const MAX_LIMIT: Duration = Duration::from_secs(120);
/// What is tried.
const TRIED: &Table = &[("server", Kind::Object(&TRIED_SERVER), Gap::None)];
const TRIED_SERVER: Object = Object {
    class: None,
    fields: SERVER,
    others: Others::Kept,
};

pub(crate) fn table() -> Vec<Route> {
    vec![Route::post("/api/mcp/test", test)]
}

/// The call that a server is to be tried with, if one is named.
pub(super) fn checked(body: &Value) -> Result<Option<McpCall>, Failure> {
    fields::read_body(body, TRIED, Others::Kept)?;
    let call = &body["tool_call"];
    let wrong = |_| {
        let error = "tool_call must have a name, and may have arguments by their names";
        Issue::rule(&["body", "tool_call"], error, call)
    };
    Ok(serde_json::from_value(call.clone()).map_err(wrong)?)
}

/// A server as somebody wrote it, or as we gave it out with its secrets sealed.
pub(super) fn unsealed(app: &App, server: &Value) -> Result<Value, Failure> {
    let mut server = server.clone();
    unseal(&mut server, app.client_seal())?;
    Ok(server)
}

/// What a tool answered, in the words of the contract.
pub(crate) fn tool_result(answer: Option<&MCPToolObservation>) -> Value {
    answer.map_or(
        Value::Null,
        |answer| json!({"is_error": answer.is_error, "text": deft_types::text_of(&answer.content)}),
    )
}

/// Starts a server, asks for its tools, calls the one that is named, and ends it.
async fn test(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    let call = checked(&body)?;
    let name = body["name"].as_str().unwrap_or(USUAL_NAME);
    let limit = limit_of(&body)?;
    let server = &unsealed(&app, &body["server"])?;
    if server.get("url").is_some() && app.for_all().is_err() {
        return Ok(failed(ADDRESSES, "unknown"));
    }
    let composition = &app.conversations.composition;
    let servers = json!({ name: server });
    let trial = McpTrial {
        servers: &servers,
        limit,
        tokens: app.conversations.mcp_tokens(),
        call,
    };
    let tried = composition.try_mcp(&app.places.current_dir, trial);
    let McpTried { status, answer } = match tried.await {
        Ok(Some(tried)) => tried,
        Ok(None) => {
            let sentence = format!("It was not done after {} s", limit.as_secs_f64());
            return Ok(failed(&sentence, "timeout"));
        }
        Err(reason) => return Ok(failed(&reason, "unknown")),
    };
    if let McpServerState::Failed { reason } = &status.state {
        return Ok(failed(reason, "connection"));
    }
    let tools: Vec<_> = status.pin.unwrap_or_default().tools.into_keys().collect();
    Ok(Json(
        json!({"ok": true, "tools": tools, "tool_result": tool_result(answer.as_ref()), "resolved_mcp_servers": null,
            "oauth_state": null}),
    ))
}

fn failed(error: &str, kind: &str) -> Json<Value> {
    Json(json!({"ok": false, "error": error, "error_kind": kind}))
}

/// How long a test may take.
pub(super) fn limit_of(body: &Value) -> Result<Duration, Issue> {
    let seconds = match &body["timeout"] {
        Value::Null => return Ok(USUAL_LIMIT),
        written => written.as_f64().unwrap_or_default(),
    };
    if seconds > 0.0 && seconds <= MAX_LIMIT.as_secs_f64() {
        return Ok(Duration::from_secs_f64(seconds));
    }
    let error = format!(
        "timeout must be a number above 0 and up to {}",
        MAX_LIMIT.as_secs()
    );
    Err(Issue::rule(&["body", "timeout"], &error, &body["timeout"]))
}
