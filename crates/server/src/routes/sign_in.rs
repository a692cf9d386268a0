//! Signing in with an account of another server, and out again. See `sign_in`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::app::App;
use crate::audit::AuditEntry;
use crate::extract::{Peer, Query};
use crate::failure::Failure;
use crate::router::{Access, Route};
use crate::security::{KEY_HEADER, SESSION_COOKIE, cookie};
use crate::sign_in::{CALLBACK, PATIENCE, Refusal, Returned, SignIn};

const LOGIN: &str = "/api/auth/login";
/// The cookie of a login that is under way.
const LOGIN_COOKIE: &str = "deft_login";
/// Where it is sent, and nowhere else.
const LOGIN_PATH: &str = "/api/auth";
/// Where the app begins; it takes the word for a key, and the cookie has the key itself.
const APP: &str = "/#key=cookie";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/auth/methods", Access::Open, methods),
        Route::get(LOGIN, Access::SignIn, login),
        Route::get(CALLBACK, Access::SignIn, callback),
        Route::post("/api/auth/logout", logout),
    ]
}

/// Whether people can sign in, and where that begins.
async fn methods(State(app): State<Arc<App>>) -> Json<Value> {
    let login = app.users.sign_in.as_ref().map(|_| LOGIN);
    Json(json!({ "sign_in": login }))
}

/// Sends a browser to the provider.
async fn login(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some(sign_in) = &app.users.sign_in else {
        return Failure::not_found().into_response();
    };
    let redirect = redirect(sign_in, &headers);
    let is_encrypted = redirect.starts_with("https:");
    match sign_in.begin(redirect).await {
        Ok(begun) => {
            // The provider's page sends the browser back, so it cannot be kept from other sites altogether.
            let ticket = set_cookie(
                LOGIN_COOKIE,
                &begun.ticket,
                LOGIN_PATH,
                "Lax",
                PATIENCE,
                is_encrypted,
            );
            sent_to(&begun.url, [ticket])
        }
        Err(refusal) => page(&refusal),
    }
}

/// Takes a browser that comes back from the provider.
async fn callback(
    State(app): State<Arc<App>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    query: Query,
) -> Response {
    let Some(sign_in) = &app.users.sign_in else {
        return Failure::not_found().into_response();
    };
    let is_encrypted = redirect(sign_in, &headers).starts_with("https:");
    let finished = sign_in.finish(Returned {
        ticket: cookie(&headers, LOGIN_COOKIE),
        state: query.get("state"),
        code: query.get("code"),
        error: query.get("error"),
        issuer: query.get("iss"),
    });
    let finished = finished.await;
    // Who only pretends to come back is not worth a line: anybody can, as often as they like.
    if !matches!(finished, Err(Refusal::NotBegun)) {
        let entry = AuditEntry {
            user: finished
                .as_ref()
                .ok()
                .map(|signed_in| signed_in.account.name.clone()),
            from: Some(peer.0.ip()),
            status: if finished.is_ok() { 200 } else { 403 },
            ..AuditEntry::on_the_command_line("signed in".to_owned())
        };
        if let Err(error) = app.users.audit.note(&entry).await {
            tracing::warn!(%error, "the audit log cannot be written");
        }
    }
    match finished {
        Ok(signed_in) => {
            app.users.directory.refresh().await;
            if signed_in.is_changed {
                app.users.renew(signed_in.account.id).await;
            }
            let key = signed_in.key.expose();
            let session = set_cookie(
                SESSION_COOKIE,
                key,
                "/",
                "Strict",
                signed_in.lifetime,
                is_encrypted,
            );
            let over = set_cookie(LOGIN_COOKIE, "", LOGIN_PATH, "Lax", Duration::ZERO, is_encrypted);
            sent_to(APP, [session, over])
        }
        Err(refusal) => {
            tracing::warn!(%refusal, from = %peer.0.ip(), "somebody could not sign in");
            page(&refusal)
        }
    }
}

/// Ends what a login has opened.
async fn logout(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Failure> {
    let key = headers.get(KEY_HEADER).and_then(|key| key.to_str().ok());
    if let (Some(sign_in), Some(key)) = (&app.users.sign_in, key) {
        sign_in.end(key).await?;
        app.users.directory.refresh().await;
    }
    let over = set_cookie(SESSION_COOKIE, "", "/", "Strict", Duration::ZERO, false);
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, over)]).into_response())
}

fn redirect(sign_in: &SignIn, headers: &HeaderMap) -> String {
    // The name was looked at before: it is one of ours.
    let called = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    sign_in.redirect(called.unwrap_or_default())
}

/// No script can read it, and no other site can have it sent.
fn set_cookie(
    name: &str,
    value: &str,
    path: &str,
    same_site: &str,
    lifetime: Duration,
    is_encrypted: bool,
) -> String {
    let secure = if is_encrypted { "; Secure" } else { "" };
    let seconds = lifetime.as_secs();
    format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}")
}

fn sent_to<const N: usize>(address: &str, cookies: [String; N]) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let text = |text: &str| HeaderValue::from_str(text).ok();
    if let Some(address) = text(address) {
        headers.insert(header::LOCATION, address);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    for cookie in cookies {
        headers.extend(text(&cookie).map(|cookie| (header::SET_COOKIE, cookie)));
    }
    response
}

/// What a person reads who is not let in.
fn page(refusal: &Refusal) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (
        StatusCode::FORBIDDEN,
        headers,
        format!("You could not be signed in: {refusal}.\n"),
    )
        .into_response()
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Accounts(error) => error.into(),
            other => Self::new(StatusCode::FORBIDDEN, other.to_string()),
        }
    }
}
