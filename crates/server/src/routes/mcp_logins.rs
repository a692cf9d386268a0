//! Logins to MCP servers: begun, looked at, and finished, by the client or by the browser that comes back.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::mcp::{ADDRESSES, USUAL_NAME, checked, limit_of, unsealed};
use crate::app::App;
use crate::extract::{JsonBody, Name};
use crate::failure::Failure;
use crate::mcp_logins::{McpLogin, Tested};
use crate::request::text;
use crate::router::{Access, Route};
use crate::vault::new_client_key;

const RETURN: &str = "/api/mcp/oauth/return/";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/mcp/oauth/start", start),
        Route::get("/api/mcp/oauth/status/{job_id}", Access::Key, status),
        Route::post("/api/mcp/oauth/callback/{job_id}", callback),
        Route::get("/api/mcp/oauth/return/{job_id}", Access::SignIn, came_back),
    ]
}

/// Finds out where a person agrees.
async fn start(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let call = checked(&body)?;
    let limit = limit_of(&body)?;
    if app.for_all().is_err() {
        return Ok(failed(ADDRESSES));
    }
    let name = body["name"].as_str().unwrap_or(USUAL_NAME);
    let mut server = unsealed(&app, &body["server"])?;
    if server["auth"].is_null() {
        server["auth"] = "oauth".into();
    }
    let servers = json!({ name: server });
    let id = new_client_key()?;
    let redirect = format!("{}{RETURN}{id}", own_address(&headers));
    let composition = &app.conversations.composition;
    let begun = tokio::time::timeout(
        limit,
        composition.login_mcp(&servers, &redirect, app.conversations.mcp_tokens()),
    );
    let login = match begun.await {
        Ok(Ok(login)) => login,
        Ok(Err(reason)) => return Ok(failed(&reason)),
        Err(_) => {
            let sentence = format!("it did not answer within {} s", limit.as_secs_f64());
            return Ok(Json(
                json!({"ok": false, "job_id": null, "authorization_url": null, "error": sentence, "error_kind": "timeout"}),
            ));
        }
    };
    let login = McpLogin::new(id, app.user, Tested { servers, limit, call }, redirect, login);
    let Some(login) = app.users.mcp_logins.add(login) else {
        return Ok(failed(
            "too many logins are under way; try again in a few minutes",
        ));
    };
    Ok(Json(
        json!({"ok": true, "job_id": login.id, "authorization_url": login.url, "error": null, "error_kind": null}),
    ))
}

fn failed(error: &str) -> Json<Value> {
    Json(
        json!({"ok": false, "job_id": null, "authorization_url": null, "error": error, "error_kind": "unknown"}),
    )
}

/// By which address a browser reaches us: the one that its page has, if it is one of ours.
fn own_address(headers: &HeaderMap) -> String {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let host = text(header::HOST);
    let encrypted = format!("https://{host}");
    if text(header::ORIGIN) == encrypted {
        encrypted
    } else {
        format!("http://{host}")
    }
}

/// One's own login.
fn found(app: &App, id: &str) -> Result<Arc<McpLogin>, Failure> {
    let login = app
        .users
        .mcp_logins
        .find(id)
        .filter(|login| login.user == app.user);
    login.ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, format!("There is no login '{id}'")))
}

async fn status(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<Value>, Failure> {
    Ok(Json(found(&app, &id)?.status()))
}

/// The client brings what its browser was sent back with.
async fn callback(
    State(app): State<Arc<App>>,
    Name(id): Name,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let login = found(&app, &id)?;
    login.finish(&app, text(&body, "callback_url")?).await;
    Ok(Json(login.status()))
}

/// The browser itself comes back. It has no key; what it brings is good for this login alone.
async fn came_back(
    State(app): State<Arc<App>>,
    Name(id): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let login = app.users.mcp_logins.find(&id).ok_or_else(Failure::not_found)?;
    let callback = format!("{}?{}", login.redirect, query.unwrap_or_default());
    let home = app.at(login.user).ok_or_else(Failure::not_found)?;
    let tasks = home.tasks.clone();
    let finishing = Arc::clone(&login);
    // It is carried through even if the browser goes away.
    let finished = tasks
        .spawn(async move { finishing.finish(&home, &callback).await })
        .await;
    let sentence = match finished {
        Ok(()) if login.status()["status"] == "succeeded" => "You are logged in, and can close this page.\n",
        _ => "The login did not work out; the app says why. You can close this page.\n",
    };
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    Ok((headers, sentence).into_response())
}
