//! What a key must be good for, by what is asked.

use axum::extract::Request;
use axum::http::Method;

use crate::accounts::KeyScope;
use crate::exposure;

/// Routes that look at nothing but a conversation or a setting, though their method says otherwise.
const LOOKS: [&str; 2] = ["/api/auth/workspace-session", "/api/auth/logout"];
/// Routes that look beyond conversations and settings: into directories.
const BEYOND: [&str; 4] = ["/api/file/", "/api/git/", "/api/bash/", "/api/mcp/"];
/// The one that shows a secret as it is.
const SECRET: &str = "/api/settings/secrets/";

/// Routes for those who may give others everything.
const ACCOUNTS: [&str; 4] = ["/api/users", "/api/keys", "/api/devices", "/api/audit"];

/// What a request needs.
pub(super) fn needs(request: &Request) -> KeyScope {
    let path = request.uri().path();
    if ACCOUNTS.iter().any(|start| path.starts_with(start)) {
        return KeyScope::Secrets; // whoever makes keys can make one for everything
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !reads {
        return if LOOKS.contains(&path) {
            KeyScope::Read
        } else {
            KeyScope::Write
        };
    }
    if path.starts_with(SECRET) || request.headers().contains_key(exposure::HEADER) {
        return KeyScope::Secrets;
    }
    if BEYOND.iter().any(|folder| path.starts_with(folder))
        && !path.starts_with("/api/file/download-trajectory/")
    {
        return KeyScope::Write;
    }
    KeyScope::Read
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn who_only_looks_sees_no_secret_and_no_directory_and_changes_nothing() {
        let needs = |method: &str, path: &str| {
            let request = Request::builder().method(method).uri(path);
            needs(&request.body(Body::empty()).unwrap())
        };
        assert_eq!(needs("GET", "/api/conversations/x/events/search"), KeyScope::Read);
        assert_eq!(
            needs("GET", "/api/conversations/x/workspace/a.png"),
            KeyScope::Read
        );
        assert_eq!(
            needs("GET", "/api/settings/secrets"),
            KeyScope::Read,
            "only names"
        );
        assert_eq!(needs("GET", "/api/settings/secrets/TOKEN"), KeyScope::Secrets);
        assert_eq!(needs("GET", "/api/file/download?path=/x"), KeyScope::Write);
        assert_eq!(needs("POST", "/api/keys"), KeyScope::Secrets);
        assert_eq!(needs("GET", "/api/users"), KeyScope::Secrets, "not for viewers");
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            assert_eq!(needs(method, "/api/conversations/x/run"), KeyScope::Write);
        }
        let exposing = Request::get("/api/settings").header("X-Expose-Secrets", "plaintext");
        assert_eq!(
            super::needs(&exposing.body(Body::empty()).unwrap()),
            KeyScope::Secrets
        );
    }
}
