//! The web app, which is part of the program. A program built without it serves a page that says how to add it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::router::{Access, Route};

/// Nothing but what we serve ourselves runs, is loaded or is talked to, and no other page may frame ours. What may be
/// framed is added: previews, which have origins of their own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The name of such a file changes with what is in it.
const FOREVER: &str = "public, max-age=31536000, immutable";
/// Asked for again each time.
const FRESH: &str = "no-cache";
const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const PAGE: &str = "/index.html";

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/site.rs"));
static MISSING: File = File {
    path: PAGE,
    plain: include_bytes!("site/missing.html"),
    gzip: None,
};

/// A file of the app.
struct File {
    path: &'static str,
    plain: &'static [u8],
    gzip: Option<&'static [u8]>,
}

/// Every file but the page itself, and the addresses within the app, which all show the page.
pub(crate) fn table() -> Vec<Route> {
    let view = async |State(app): State<Arc<App>>, headers: HeaderMap| page(&app, &headers);
    let mut table = vec![
        Route::get("/c/{conversation_id}", Access::Open, view),
        Route::get("/s", Access::Open, view),
    ];
    for file in FILES.iter().filter(|file| file.path != PAGE) {
        let serve = async |State(app): State<Arc<App>>, headers: HeaderMap| file.answer(&app, &headers);
        table.push(Route::get(file.path, Access::Open, serve));
    }
    table
}

/// Whether a browser asks, which wants to show a page.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// The page.
pub(crate) fn page(app: &App, headers: &HeaderMap) -> Response {
    let page = FILES.iter().find(|file| file.path == PAGE);
    page.unwrap_or(&MISSING).answer(app, headers)
}

impl File {
    fn answer(&self, app: &App, headers: &HeaderMap) -> Response {
        let takes_gzip = headers
            .get(ACCEPT_ENCODING)
            .and_then(|taken| taken.to_str().ok())
            .is_some_and(|taken| taken.contains("gzip"));
        let packed = self.gzip.filter(|_| takes_gzip);
        let mut response = packed.unwrap_or(self.plain).into_response();
        let fields = response.headers_mut();
        let mut set = |name, value| fields.insert(name, HeaderValue::from_static(value));
        set(CONTENT_TYPE, self.content_type());
        let is_hashed = self.path.starts_with("/assets/");
        set(CACHE_CONTROL, if is_hashed { FOREVER } else { FRESH });
        set(VARY, "Accept, Accept-Encoding");
        set(X_CONTENT_TYPE_OPTIONS, "nosniff");
        set(REFERRER_POLICY, "no-referrer");
        set(OPENER, "same-origin");
        if packed.is_some() {
            set(CONTENT_ENCODING, "gzip");
        }
        let policy = format!("{POLICY}; frame-src {}", app.users.previews.names);
        let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(POLICY));
        fields.insert(CONTENT_SECURITY_POLICY, policy);
        response
    }

    fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, end)| end) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("json") => "application/json",
            Some("webmanifest") => "application/manifest+json",
            Some("woff2") => "font/woff2",
            _ => "application/octet-stream",
        }
    }
}
