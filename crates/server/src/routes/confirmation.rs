//! Actions that wait for a person's word: answer them, and say which ones are to wait.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_types::{ConfirmationPolicy, SecurityAnalyzer};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::success;
use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::object;
use crate::router::Route;
use crate::validation::Issue;

/// What the model is told where the user gives no reason.
const NO_REASON: &str = "User rejected the action.";
const POLICIES: &str = "Unknown kind '{}' for openhands.sdk.security.confirmation_policy.ConfirmationPolicyBase; \
    Expected one of: ['AlwaysConfirm', 'ConfirmRisky', 'NeverConfirm']";
const ANALYZERS: &str = "Unknown kind '{}' for openhands.sdk.security.analyzer.SecurityAnalyzerBase; \
    Expected one of: ['EnsembleSecurityAnalyzer', 'LLMSecurityAnalyzer', 'PatternSecurityAnalyzer', \
    'PolicyRailSecurityAnalyzer', 'ToolShieldLLMSecurityAnalyzer']";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post(
            "/api/conversations/{conversation_id}/events/respond_to_confirmation",
            respond,
        ),
        Route::post("/api/conversations/{conversation_id}/confirmation_policy", policy),
        Route::post("/api/conversations/{conversation_id}/security_analyzer", analyzer),
    ]
}

async fn respond(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let accept = match object(&body)?.get("accept") {
        None => return Err(Issue::missing(&["body", "accept"], &body).into()),
        Some(Value::Bool(accept)) => *accept,
        Some(other) => {
            let msg = "Input should be a valid boolean";
            return Err(Issue::new("bool_type", &["body", "accept"], msg, other).into());
        }
    };
    let unknown = |failure: Failure| failure.naming(&format!("Conversation not found: {id}"));
    let resident = app.conversations.resident(id).await.map_err(unknown)?;
    if accept {
        app.conversations.approve(&resident).await?;
    } else {
        let reason = body["reason"].as_str().unwrap_or(NO_REASON).to_owned();
        app.conversations.reject(&resident, reason).await?;
    }
    Ok(success())
}

async fn policy(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let policy: ConfirmationPolicy = component(&body, "policy", POLICIES)?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.set_policy(&resident, policy).await?;
    Ok(success())
}

async fn analyzer(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let analyzer: Option<SecurityAnalyzer> = component(&body, "security_analyzer", ANALYZERS)?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.set_analyzer(&resident, analyzer).await?;
    Ok(success())
}

/// A part of an agent that names its kind.
fn component<T: DeserializeOwned>(body: &Value, name: &str, unknown: &str) -> Result<T, Failure> {
    let place = &["body", name];
    let sent = object(body)?
        .get(name)
        .ok_or_else(|| Issue::missing(place, body))?;
    T::deserialize(sent).map_err(|_| {
        let kind = sent["kind"].as_str().unwrap_or_default();
        Issue::rule(place, &unknown.replace("{}", kind), sent).into()
    })
}
