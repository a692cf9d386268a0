//! Who may ask: first by which name the server was called, then from which web page, then with which key.

mod gate;
mod host;
mod origin;

pub(crate) use self::gate::{Gate, KEY_HEADER, Verdict, WORKSPACE_COOKIE};
pub(crate) use self::host::Hosts;
pub(crate) use self::origin::Origins;

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::extract::Peer;
use crate::failure::Failure;

/// Refuses who calls the server by a name that is not its own: a page on another site whose name was made to
/// point here. Then lets only pages of known origins change anything or open sockets.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    if !app.hosts.admit(&request) {
        return Failure::bare(StatusCode::MISDIRECTED_REQUEST).into_response();
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let Some(origin) = origin else {
        return next.run(request).await; // no browser
    };
    let is_allowed = app.origins.admit(&origin, request.headers().get(header::HOST));
    if request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
    {
        return origin::preflight(&request, is_allowed.then_some(&origin));
    }
    let reads_only = matches!(*request.method(), Method::GET | Method::HEAD)
        && !request.headers().contains_key(header::UPGRADE);
    if !is_allowed && !reads_only {
        return Failure::new(StatusCode::FORBIDDEN, "Origin not allowed").into_response();
    }
    let response = next.run(request).await;
    origin::answer(response, is_allowed.then_some(&origin))
}

/// Lets only those on who have a key.
pub(crate) async fn require_key(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let given = header_text(&request, KEY_HEADER).map(str::to_owned);
    admit(&app, given, request, next).await
}

/// The same, where the key may also be a bearer token.
pub(crate) async fn require_key_or_token(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let token = || header_text(&request, header::AUTHORIZATION.as_str())?.strip_prefix("Bearer ");
    let given = header_text(&request, KEY_HEADER)
        .or_else(token)
        .map(str::to_owned);
    admit(&app, given, request, next).await
}

/// The same, where a browser may show the cookie for files of workspaces.
pub(crate) async fn require_key_or_cookie(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let cookies = header_text(&request, header::COOKIE.as_str()).unwrap_or_default();
    let mut cookies = cookies
        .split(';')
        .filter_map(|cookie| cookie.trim().split_once('='));
    let has_ticket = cookies.any(|(name, value)| name == WORKSPACE_COOKIE && app.gate.admits_ticket(value));
    if has_ticket {
        return next.run(request).await;
    }
    require_key(State(app), request, next).await
}

fn header_text<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let value = request.headers().get(name)?;
    Some(value.to_str().unwrap_or_default())
}

async fn admit(app: &App, given: Option<String>, request: Request, next: Next) -> Response {
    let Some(Peer(address)) = request.extensions().get::<Peer>() else {
        return Failure::bare(StatusCode::UNAUTHORIZED).into_response();
    };
    match app.gate.check(address.ip(), given.as_deref()) {
        Verdict::Welcome => next.run(request).await,
        Verdict::Unknown => Failure::bare(StatusCode::UNAUTHORIZED).into_response(),
        Verdict::TooOften => {
            let mut response = Failure::bare(StatusCode::TOO_MANY_REQUESTS).into_response();
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, gate::WINDOW_SECONDS.into());
            response
        }
    }
}
