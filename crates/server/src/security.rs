//! Who may ask: first by which name the server was called, then from which web page, then with which key.

mod directory;
mod gate;
mod guesses;
mod host;
mod needs;
mod origin;
mod session;
mod visit;

pub(crate) use self::directory::{Caller, Directory, REFRESH};
pub(crate) use self::gate::{Gate, KEY_HEADER, Verdict, WORKSPACE_COOKIE};
pub(crate) use self::guesses::Guesses;
pub(crate) use self::host::Hosts;
pub(crate) use self::origin::Origins;
pub(crate) use self::session::{SESSION_COOKIE, cookie};
pub(crate) use self::visit::Visit;

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use deft_types::UserId;
use futures::StreamExt as _;
use uuid::Uuid;

use self::needs::needs;
use crate::accounts::KeyScope;
use crate::app::App;
use crate::audit::AuditEntry;
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

/// Leads a request to the part of the server that is its user's own. Whether it may do what it asks is found out there.
pub(crate) async fn lead_home(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    session::unwrap(&mut request);
    let given = given(&request);
    if let Some(key) = &given {
        app.users.directory.look_for(key).await;
    }
    let user = match given {
        Some(key) => app.users.directory.caller(&key).and_then(|caller| caller.place),
        None => {
            ticket(&request).and_then(|ticket| Some(UserId(Uuid::parse_str(ticket.split_once('.')?.0).ok()?)))
        }
    };
    match user
        .filter(|user| app.user != Some(*user))
        .and_then(|user| app.users.home(user))
    {
        Some(home) => match hyper::service::Service::call(&home.service, request).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        None => next.run(request).await,
    }
}

/// The key that a request carries, wherever that may be.
fn given(request: &Request) -> Option<String> {
    let in_query = || {
        let query = request.uri().query().unwrap_or_default();
        let mut parameters = form_urlencoded::parse(query.as_bytes());
        parameters
            .find(|(name, _)| name == "session_api_key")
            .map(|(_, key)| key.into_owned())
    };
    let in_header = header_text(request, KEY_HEADER).or_else(|| token(request));
    in_header.map(str::to_owned).or_else(in_query)
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
    let given = header_text(&request, KEY_HEADER)
        .or_else(|| token(&request))
        .map(str::to_owned);
    admit(&app, given, request, next).await
}

/// The same, where a browser may show the cookie for files of workspaces.
pub(crate) async fn require_key_or_cookie(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    if session::is_ours_or_no_page(request.headers())
        && ticket(&request).is_some_and(|ticket| app.gate.admits_ticket(app.user, ticket))
    {
        return next.run(request).await;
    }
    require_key(State(app), request, next).await
}

fn header_text<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let value = request.headers().get(name)?;
    Some(value.to_str().unwrap_or_default())
}

fn token(request: &Request) -> Option<&str> {
    header_text(request, header::AUTHORIZATION.as_str())?.strip_prefix("Bearer ")
}

/// What the cookie for files of workspaces holds.
fn ticket(request: &Request) -> Option<&str> {
    cookie(request.headers(), WORKSPACE_COOKIE)
}

async fn admit(app: &App, given: Option<String>, request: Request, next: Next) -> Response {
    let Some(Peer(address)) = request.extensions().get::<Peer>().copied() else {
        return Failure::bare(StatusCode::UNAUTHORIZED).into_response();
    };
    match app.gate.check(address.ip(), given.as_deref()) {
        Verdict::Welcome(caller) if caller.place == app.user => {
            permit(app, caller, address.ip(), request, next).await
        }
        Verdict::Welcome(_) | Verdict::Unknown => {
            if given.is_some() {
                note_wrong_key(app, address.ip(), asked_for(&request)).await;
            }
            Failure::bare(StatusCode::UNAUTHORIZED).into_response()
        }
        Verdict::TooOften => Guesses::refusal(),
    }
}

/// Keeps in mind that somebody came with a wrong key.
pub(crate) async fn note_wrong_key(app: &App, from: IpAddr, what: String) {
    let entry = AuditEntry::asked(None, from, what);
    note(app, entry, StatusCode::UNAUTHORIZED).await;
}

/// Lets somebody do what their key is good for, and keeps in mind what they changed where there are several.
async fn permit(app: &App, caller: Caller, from: IpAddr, mut request: Request, next: Next) -> Response {
    let scope = needs(&request);
    let changes = scope != KeyScope::Read && app.users.directory.has_users();
    let entry = changes.then(|| AuditEntry::asked(Some(&caller), from, asked_for(&request)));
    let response = if caller.scopes.contains(&scope) {
        request.extensions_mut().insert(caller.clone());
        next.run(request).await
    } else {
        let sentence = format!("This key is not good for this: it would need the scope '{scope}'");
        Failure::new(StatusCode::FORBIDDEN, sentence).into_response()
    };
    if let Some(entry) = entry {
        note(app, entry, response.status()).await;
    }
    ended_with(caller, response)
}

async fn note(app: &App, entry: AuditEntry, status: StatusCode) {
    let status = status.as_u16();
    if let Err(error) = app.users.audit.note(&AuditEntry { status, ..entry }).await {
        tracing::warn!(%error, "the audit log cannot be written");
    }
}

impl AuditEntry {
    /// A request that is not answered yet.
    fn asked(caller: Option<&Caller>, from: IpAddr, what: String) -> Self {
        Self {
            user: caller.and_then(|caller| caller.name.clone()),
            key: caller.and_then(|caller| caller.key.clone()),
            from: Some(from),
            ..Self::on_the_command_line(what)
        }
    }
}

pub(crate) fn asked_for(request: &Request) -> String {
    format!("{} {}", request.method(), request.uri().path())
}

/// A stream that would go on for ever ends when its key opens nothing any more.
fn ended_with(caller: Caller, response: Response) -> Response {
    let is_stream = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream {
        return response;
    }
    response.map(|body| {
        let pieces = body.into_data_stream();
        Body::from_stream(pieces.take_until(async move { caller.gone.cancelled().await }))
    })
}
