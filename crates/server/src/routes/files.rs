//! Files of workspaces: up, down, and which directories there are.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use deft_executor::{Client, Download, Entry, EntryKind, Page, RequestError};
use deft_workspace::says_disk_is_full;
use serde_json::{Value, json};

use super::success;
use crate::app::App;
use crate::extract::{Query, Scope};
use crate::failure::Failure;
use crate::places::{absolute, asked_path};
use crate::router::{Access, Route};
use crate::validation::Issue;

/// The largest file that is taken.
const MAX_UPLOAD: u64 = 4 * 1024 * 1024 * 1024;

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/file/home", Access::Key, home),
        Route::get("/api/file/search_subdirs", Access::Key, subdirectories),
        Route::post("/api/file/upload", upload),
        Route::get("/api/file/download", Access::Key, download),
        Route::post("/api/file/create_directory", create_directory),
        Route::post("/api/conversations/{conversation_id}/file/upload", upload),
        Route::get(
            "/api/conversations/{conversation_id}/file/download",
            Access::Key,
            download,
        ),
        Route::post(
            "/api/conversations/{conversation_id}/file/create_directory",
            create_directory,
        ),
    ]
}

/// An executor's refusal as an answer.
pub(crate) fn refused(error: &RequestError) -> Failure {
    let bad = |sentence: &str| Failure::new(StatusCode::BAD_REQUEST, sentence);
    match error {
        RequestError::Outside { .. } => Failure::refused("path must be inside the conversation workspace"),
        RequestError::NotFound { .. } => Failure::new(StatusCode::NOT_FOUND, "File not found"),
        RequestError::IsDirectory { .. } => bad("Path is a directory"),
        RequestError::NotDirectory { .. } => bad("A parent of the path is not a directory"),
        RequestError::TooLarge { .. } => Failure::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
        RequestError::Busy { .. } => Failure::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()),
        RequestError::Failed { reason } if says_disk_is_full(reason) => {
            Failure::rewritten(StatusCode::INSUFFICIENT_STORAGE, reason)
        }
        RequestError::Failed { .. } | RequestError::Lost => {
            Failure::internal("the workspace could not do it; the server's log says why", error)
        }
        other => bad(&other.to_string()),
    }
}

/// The executor of a path, and the path.
pub(super) async fn reached(app: &App, scope: Scope, path: &str) -> Result<(Client, String), Failure> {
    app.activity.note();
    let path = absolute(path)?;
    let site = app.places.site(app, scope.0, &path, "path").await?;
    let client = app.places.reach(app, &site).await?;
    Ok((client, path.display().to_string()))
}

async fn home(State(app): State<Arc<App>>) -> Json<Value> {
    let places = &app.places;
    let locations = places.folders.as_ref().unwrap_or(&places.roots).iter();
    let locations: Vec<_> = locations
        .map(|root| json!({"label": root, "path": root}))
        .collect();
    Json(json!({"home": places.home, "favorites": [], "locations": locations}))
}

async fn subdirectories(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    let page = Page {
        from: query.get("page_id").map(str::to_owned),
        limit: query.limit()?,
        only: Some(EntryKind::Directory),
        hidden: query.is_set("include_hidden"),
    };
    let (client, path) = reached(&app, Scope(None), asked_path(&query)?).await?;
    let found = client.list(&path, page).await.map_err(|error| match error {
        RequestError::NotFound { .. } => Failure::new(StatusCode::NOT_FOUND, "Directory not found"),
        RequestError::NotDirectory { .. } => Failure::new(StatusCode::BAD_REQUEST, "Path is not a directory"),
        error => refused(&error),
    })?;
    let shown = |entry: &Entry| json!({"name": entry.name, "path": entry.path});
    let items: Vec<_> = found.entries.iter().map(shown).collect();
    Ok(Json(json!({"items": items, "next_page_id": found.next})))
}

async fn upload(
    State(app): State<Arc<App>>,
    scope: Scope,
    query: Query,
    request: Request,
) -> Result<Json<Value>, Failure> {
    let path = asked_path(&query)?;
    let missing = || Failure::from(Issue::missing(&["body", "file"], &Value::Null));
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|_| missing())?;
    let broken = |_| Failure::bare(StatusCode::BAD_REQUEST);
    let mut file = loop {
        match form.next_field().await.map_err(broken)? {
            Some(field) if field.name() == Some("file") => break field,
            Some(_) => {}
            None => return Err(missing()),
        }
    };
    let (client, path) = reached(&app, scope, path).await?;
    let mut upload = client.write(&path, None).await.map_err(|error| refused(&error))?;
    let mut size = 0_u64;
    while let Some(bytes) = file.chunk().await.map_err(broken)? {
        size += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size > MAX_UPLOAD {
            return Err(Failure::bare(StatusCode::PAYLOAD_TOO_LARGE)); // nothing of it is in place
        }
        upload.send(bytes).await.map_err(|error| refused(&error))?;
    }
    let size = upload.finish().await.map_err(|error| refused(&error))?;
    Ok(Json(json!({"success": true, "file_size": size})))
}

async fn download(State(app): State<Arc<App>>, scope: Scope, query: Query) -> Result<Response, Failure> {
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    let entry = client.stat(&path).await.map_err(|error| refused(&error))?;
    if entry.kind != EntryKind::File {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "Path is not a file"));
    }
    let content = client
        .read(&path, 0, None)
        .await
        .map_err(|error| refused(&error))?;
    let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy();
    Ok(attachment(
        &name,
        "application/octet-stream",
        streamed(client, content),
    ))
}

/// What an executor sends, as it comes. One that fails in the middle breaks the connection off, so that nobody
/// takes a part for the whole.
pub(super) fn streamed(client: Client, mut content: Download) -> Body {
    Body::from_stream(async_stream::stream! {
        let _connection = client; // it ends when its client does
        loop {
            match content.next().await {
                Ok(Some(bytes)) => yield Ok(bytes),
                Ok(None) => return,
                Err(error) => {
                    yield Err(error);
                    return;
                }
            }
        }
    })
}

/// A file to keep. A browser that shows it all the same runs nothing of it.
pub(super) fn attachment(name: &str, kind: &'static str, body: Body) -> Response {
    let plain = |c: char| {
        if c.is_ascii_graphic() && c != '"' && c != '\\' || c == ' ' {
            c
        } else {
            '_'
        }
    };
    let plain: String = name.chars().map(plain).collect();
    let mut disposition = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        let exactly = |byte: &u8| match byte {
            b'-' | b'.' | b'_' => char::from(*byte).to_string(),
            byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        disposition += "; filename*=utf-8''";
        disposition.extend(name.as_bytes().iter().map(exactly));
    }
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, "sandbox"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    let mut response = (headers, body).into_response();
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

async fn create_directory(
    State(app): State<Arc<App>>,
    scope: Scope,
    query: Query,
) -> Result<Json<Value>, Failure> {
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    client.make_directory(&path).await.map_err(|error| match error {
        RequestError::NotDirectory { .. } => {
            Failure::new(StatusCode::BAD_REQUEST, "Path exists and is not a directory")
        }
        error => refused(&error),
    })?;
    Ok(success())
}
