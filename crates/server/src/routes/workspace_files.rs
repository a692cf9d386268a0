//! Files of a conversation's workspace as a browser shows them.

use std::path::Path;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deft_executor::EntryKind;

use super::files::streamed;
use crate::app::App;
use crate::extract::{Id, PathRest};
use crate::failure::Failure;
use crate::places::absolute;
use crate::router::{Access, Route};
use crate::security::{Caller, WORKSPACE_COOKIE};

/// Types that a browser shows; everything else it keeps.
const KINDS: [(&str, &str); 14] = [
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/plain; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];
/// What an agent wrote gets no part of our origin.
const NO_ORIGIN: &str = "sandbox allow-scripts allow-forms allow-popups allow-modals";
const INDEX: &str = "index.html";

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get(
            "/api/conversations/{conversation_id}/workspace",
            Access::Workspace,
            file,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/workspace/",
            Access::Workspace,
            file,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/workspace/{*file_path}",
            Access::Workspace,
            file,
        ),
        Route::post("/api/auth/workspace-session", begin_session),
        Route::delete("/api/auth/workspace-session", end_session),
    ]
}

async fn file(
    State(app): State<Arc<App>>,
    Id(id): Id,
    PathRest(rest): PathRest,
) -> Result<Response, Failure> {
    let site = app.places.of_conversation(&app, id).await?;
    let path = absolute(&format!("{}/{rest}", site.root.display()))?;
    if !path.starts_with(&site.root) || app.places.is_private(&path, &site.root) {
        return Err(Failure::not_found());
    }
    let client = app.places.reach(&app, &site).await?;
    let mut path = path.display().to_string();
    let entry = client.stat(&path).await.map_err(|_| Failure::not_found())?;
    if entry.kind == EntryKind::Directory {
        path = format!("{path}/{INDEX}");
        let missing = |_| Failure::new(StatusCode::NOT_FOUND, "No index.html in directory");
        client.stat(&path).await.map_err(missing)?;
    }
    let content = client
        .read(&path, 0, None)
        .await
        .map_err(|_| Failure::not_found())?;
    let ending = Path::new(&path)
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let known = KINDS.iter().find(|(known, _)| Some(*known) == ending.as_deref());
    let headers = [
        (
            header::CONTENT_TYPE,
            known.map_or("application/octet-stream", |(_, kind)| kind),
        ),
        (header::CONTENT_SECURITY_POLICY, NO_ORIGIN),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, streamed(client, content)).into_response())
}

/// Lets this browser, from pages of our own origin, see files. The cookie is no key: it opens nothing else.
async fn begin_session(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    let is_secure = headers
        .get("x-forwarded-proto")
        .is_some_and(|proto| proto.as_bytes() == b"https");
    let secure = if is_secure { "; Secure" } else { "" };
    let ticket = app.gate.workspace_ticket(&caller);
    let cookie =
        format!("{WORKSPACE_COOKIE}={ticket}; HttpOnly; Path=/api/conversations; SameSite=Strict{secure}");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}

async fn end_session() -> Response {
    let cookie =
        format!("{WORKSPACE_COOKIE}=; HttpOnly; Max-Age=0; Path=/api/conversations; SameSite=Strict");
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}
