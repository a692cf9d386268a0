//! Pages of which sites may talk to the server.

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, VARY,
};
use axum::http::uri::Uri;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use fancy_regex::Regex;

const METHODS: HeaderValue = HeaderValue::from_static("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
/// How long a browser may remember that it may ask.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
const YES: HeaderValue = HeaderValue::from_static("true");
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The sites that may.
#[derive(Debug)]
pub(crate) struct Origins {
    /// Written as browsers do: `https://app.example.org`.
    allowed: Vec<String>,
    /// Hosts that may under any scheme and port.
    hosts: Vec<String>,
    /// All that it fits.
    pattern: Option<Regex>,
}

impl Origins {
    /// Besides pages on this machine and our own: these.
    pub(crate) fn new(allowed: Vec<String>, hosts: Vec<String>, pattern: Option<Regex>) -> Self {
        Self {
            allowed,
            hosts,
            pattern,
        }
    }

    /// Whether a page of this origin may change things and open sockets, given the name we were called by.
    pub(crate) fn admit(&self, origin: &HeaderValue, called: Option<&HeaderValue>) -> bool {
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        let fits = |pattern: &Regex| pattern.is_match(origin).unwrap_or(false);
        if self.allowed.iter().any(|allowed| allowed == origin) || self.pattern.as_ref().is_some_and(fits) {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else {
            return false;
        };
        let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return false; // `null` among them
        };
        // An origin is nothing but scheme, host and port.
        if origin.contains('@') || origin.matches('/').count() != 2 {
            return false;
        }
        let host = authority.host();
        LOOPBACK.contains(&host)
            || self.hosts.iter().any(|allowed| allowed == host)
            || called.is_some_and(|called| called.as_bytes() == authority.as_str().as_bytes())
    }
}

/// Answers a browser that asks whether a page may ask.
pub(super) fn preflight(request: &Request, allowed: Option<&HeaderValue>) -> Response {
    let Some(origin) = allowed else {
        return (StatusCode::BAD_REQUEST, "Disallowed CORS origin").into_response();
    };
    let mut response = (StatusCode::OK, "OK").into_response();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if let Some(wanted) = request.headers().get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    answer(response, Some(origin))
}

/// Lets a page read an answer, if it may.
pub(super) fn answer(mut response: Response, allowed: Option<&HeaderValue>) -> Response {
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = allowed {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, YES);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine_our_own_and_the_listed_may_and_no_others() {
        let origins = Origins::new(
            vec!["https://app.example.org".to_owned()],
            vec!["host.docker.internal".to_owned()],
            Regex::new(r"^(?:https://[a-z]+\.apps\.example)$").ok(),
        );
        let admit = |origin: &'static str| {
            let called = HeaderValue::from_static("deft.lan:3000");
            origins.admit(&HeaderValue::from_static(origin), Some(&called))
        };
        for known in [
            "http://localhost:9999",
            "https://127.0.0.1",
            "http://[::1]:5173",
            "https://app.example.org",
            "http://host.docker.internal:80",
            "http://deft.lan:3000",
            "https://one.apps.example",
        ] {
            assert!(admit(known), "{known}");
        }
        for foreign in [
            "https://evil.example",
            "null",
            "",
            "http://localhost.evil.com",
            "http://localhost@evil.com",
            "https://app.example.org.evil.com",
            "http://app.example.org",
            "http://deft.lan:3001",
            "file://localhost",
            "http://localhost/x",
            "https://one.apps.example.evil.com",
        ] {
            assert!(!admit(foreign), "{foreign}");
        }
    }
}
