//! Lets browsers in, and carries what they ask to programs of workspaces.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, HOST, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use axum::response::{IntoResponse, Response};
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;

use super::cookies::{session_cookie, sessions};
use super::headers::Ends;
use super::{Preview, Previews};
use crate::app::App;
use crate::failure::Failure;

/// Where a browser shows its ticket. No program can use this path.
pub(super) const ENTRANCE: &str = "/__deft/enter";
/// How long a program may take until its answer begins.
const ANSWER_LIMIT: Duration = Duration::from_mins(5);

/// All there is on the listener of previews.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new().fallback(serve).with_state(app)
}

async fn serve(State(app): State<Arc<App>>, request: Request) -> Response {
    let previews = Arc::clone(&app.users.previews);
    let host = only_host(request.headers()).unwrap_or_default().to_owned();
    let Some(label) = previews.names.label(&host) else {
        return Failure::bare(StatusCode::MISDIRECTED_REQUEST).into_response();
    };
    if request.uri().path() == ENTRANCE {
        return enter(&previews, &label, request.uri());
    }
    let origin = format!("{}://{host}", previews.names.scheme());
    if is_foreign(&request, &origin) {
        let sentence = "Only pages of this preview may ask that of it";
        return Failure::new(StatusCode::FORBIDDEN, sentence).into_response();
    }
    let admitted = sessions(request.headers())
        .iter()
        .find_map(|session| previews.admitted(&label, session));
    let Some(preview) = admitted else {
        let sentence = "This preview is not open; open the port again in its conversation";
        return Failure::new(StatusCode::UNAUTHORIZED, sentence).into_response();
    };
    let Some(app) = app.at(preview.caller.place) else {
        return Failure::bare(StatusCode::UNAUTHORIZED).into_response();
    };
    app.activity.note();
    let ends = Ends {
        scheme: previews.names.scheme(),
        host: &host,
        port: preview.port,
    };
    let answer = forward(&app, &previews, &preview, &ends, request);
    match tokio::time::timeout(ANSWER_LIMIT, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(failure)) => failure.into_response(),
        Err(_) => Failure::bare(StatusCode::GATEWAY_TIMEOUT).into_response(),
    }
}

/// The name that a request calls, which must stand there once.
fn only_host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    }
}

/// Whether a page of another origin asks for something that it could not get by a plain link.
fn is_foreign(request: &Request, origin: &str) -> bool {
    let said = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let is_own = said(ORIGIN.as_str()).is_none_or(|from| from == origin);
    if request.headers().contains_key(UPGRADE) {
        return !is_own;
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    match said("sec-fetch-site") {
        Some("same-origin" | "none") => false,
        Some(_) => !(reads && said("sec-fetch-mode") == Some("navigate")),
        None => !is_own && !reads,
    }
}

/// Trades a ticket for a cookie, and leads to the program's first page.
fn enter(previews: &Previews, label: &str, uri: &Uri) -> Response {
    let query = uri.query().unwrap_or_default();
    let ticket = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "ticket");
    let session = ticket.and_then(|(_, ticket)| previews.enter(label, &ticket));
    match session {
        Some(Ok(session)) => {
            let headers = [
                (LOCATION, "/".to_owned()),
                (SET_COOKIE, session_cookie(&session)),
                (CACHE_CONTROL, "no-store".to_owned()),
                (REFERRER_POLICY, "no-referrer".to_owned()),
            ];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
        Some(Err(error)) => Failure::from(error).into_response(),
        None => {
            let sentence =
                "This link was used already, or is too old; open the port again in its conversation";
            Failure::new(StatusCode::UNAUTHORIZED, sentence).into_response()
        }
    }
}

async fn forward(
    app: &App,
    previews: &Previews,
    preview: &Arc<Preview>,
    ends: &Ends<'_>,
    mut request: Request,
) -> Result<Response, Failure> {
    let place = Arc::clone(&preview.room).try_acquire_owned().map_err(|_| {
        let sentence = "This page has too many connections to its program open; close some of them";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    })?;
    let failed = |error: hyper::Error| {
        let sentence = format!("The program on port {} did not answer: {error}", preview.port);
        Failure::new(StatusCode::BAD_GATEWAY, sentence)
    };
    let stream = preview.connect(app).await?;
    let (mut program, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let connection = connection.with_upgrades();
    while_open(previews, preview, place, async {
        let _ = connection.await; // whoever asked is told
    });
    let is_upgrade = request.headers().contains_key(UPGRADE);
    let of_browser = is_upgrade.then(|| hyper::upgrade::on(&mut request));
    ends.to_program(request.headers_mut(), is_upgrade);
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = Uri::try_from(path).map_err(|_| Failure::bare(StatusCode::BAD_REQUEST))?;
    *request.version_mut() = Version::HTTP_11;
    let mut answer = program.send_request(request).await.map_err(failed)?;
    let switches = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
    if switches {
        let of_program = hyper::upgrade::on(&mut answer);
        let of_browser = of_browser.ok_or_else(|| Failure::bare(StatusCode::BAD_GATEWAY))?;
        carry(previews, preview, of_browser, of_program);
    }
    ends.to_browser(answer.headers_mut(), switches, preview.framed_by.as_deref());
    *answer.version_mut() = Version::HTTP_11;
    let is_kept = answer.headers().contains_key(CACHE_CONTROL);
    if !is_kept {
        // What a browser keeps it would show when the preview has ended.
        answer
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    Ok(answer.map(Body::new))
}

/// Both ends have agreed on something else than HTTP.
fn carry(previews: &Previews, preview: &Arc<Preview>, browser: OnUpgrade, program: OnUpgrade) {
    let Ok(place) = Arc::clone(&preview.room).try_acquire_owned() else {
        return; // both ends are closed
    };
    while_open(previews, preview, place, async {
        if let Ok((browser, program)) = tokio::try_join!(browser, program) {
            let (mut browser, mut program) = (TokioIo::new(browser), TokioIo::new(program));
            let _ = tokio::io::copy_bidirectional(&mut browser, &mut program).await; // either end may just go
        }
    });
}

/// Works until the end of the work, of the key that opened the preview, or of the server.
fn while_open(
    previews: &Previews,
    preview: &Arc<Preview>,
    place: OwnedSemaphorePermit,
    work: impl Future<Output = ()> + Send + 'static,
) {
    let (stopping, gone) = (previews.stopping.clone(), preview.caller.gone.clone());
    previews.tasks.spawn(async move {
        tokio::select! {
            () = work => {}
            () = gone.cancelled() => {}
            () = stopping.cancelled() => {}
        }
        drop(place);
    });
}
