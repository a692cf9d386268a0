//! What is in a directory, or what changed there, as one file to keep.

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use deft_executor::Client;

use super::files::{attachment, reached, refused, streamed};
use super::patch;
use crate::app::App;
use crate::extract::{Query, Scope};
use crate::failure::Failure;
use crate::git_command::GitCommand;
use crate::places::asked_path;
use crate::router::{Access, Route};

/// What archives leave out unless they are asked not to.
const NOT_ARCHIVED: [&str; 6] = [
    ".git",
    "node_modules",
    "__pycache__",
    ".venv",
    "target",
    ".DS_Store",
];
const FORMATS: [(&str, Format); 2] = [("git-delta", Format::Patch), ("tar.gz", Format::TarGz)];
/// Says, a line each, what stands in the headers.
const ORIGIN: &str = "git rev-parse --show-toplevel HEAD --abbrev-ref HEAD";
const ORIGIN_LIMIT_MS: u64 = 10_000;
const ORIGIN_HEADERS: [&str; 3] = ["x-archive-repo-root", "x-archive-head-commit", "x-archive-branch"];
/// Says which commit a client means.
const BASE: &str =
    "git rev-parse --verify --quiet --end-of-options \"$DEFT_BASE^{commit}\" && echo \"$DEFT_BASE\"";
const BASE_HEADERS: [&str; 2] = ["x-archive-base-commit", "x-archive-base-ref"];

#[derive(Clone, Copy)]
enum Format {
    /// What changed, as git tells it.
    Patch,
    /// Everything.
    TarGz,
}

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/file/archive", Access::Key, archive),
        Route::get(
            "/api/conversations/{conversation_id}/file/archive",
            Access::Key,
            archive,
        ),
    ]
}

async fn archive(State(app): State<Arc<App>>, scope: Scope, query: Query) -> Result<Response, Failure> {
    let format = query.choice("format", &FORMATS)?.unwrap_or(Format::Patch);
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    let mut exclude: Vec<_> = query.all("exclude").map(str::to_owned).collect();
    if query.get("use_default_excludes").is_none() || query.is_set("use_default_excludes") {
        exclude.extend(NOT_ARCHIVED.map(str::to_owned));
    }
    let path = match format {
        Format::Patch => patch::meant(&client, &path).await?,
        Format::TarGz => path,
    };
    let name = Path::new(&path).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let (ending, kind, origin, body) = match format {
        Format::Patch => {
            let base = query.get("base_ref");
            let text = patch::of(&client, &path, base, &exclude).await?;
            let mut origin = origin(&client, &path).await;
            if let Some(base) = base {
                let asked = GitCommand::new(BASE, &path, ORIGIN_LIMIT_MS).with([("DEFT_BASE", base)]);
                origin.extend(told(&client, asked, &BASE_HEADERS).await);
            }
            ("patch", "text/x-patch; charset=utf-8", origin, Body::from(text))
        }
        Format::TarGz => {
            client.stat(&path).await.map_err(|error| refused(&error))?; // while it can still be said
            let origin = origin(&client, &path).await;
            let content = client.archive(&path, exclude).await;
            let content = content.map_err(|error| refused(&error))?;
            ("tar.gz", "application/gzip", origin, streamed(client, content))
        }
    };
    let mut response = attachment(&format!("{name}.{ending}"), kind, body);
    response.headers_mut().extend(origin);
    Ok(response)
}

/// Which repository a directory is of, for headers; nothing where it is of none.
async fn origin(client: &Client, path: &str) -> HeaderMap {
    let asked = GitCommand::new(ORIGIN, path, ORIGIN_LIMIT_MS);
    told(client, asked, &ORIGIN_HEADERS).await
}

/// The lines that git says, as these headers.
async fn told(client: &Client, asked: GitCommand, headers: &[&'static str]) -> HeaderMap {
    let said = asked.run(client).await;
    let said = said.ok().filter(|said| said.succeeded);
    let lines = said.as_ref().map_or("", |said| &said.text).lines();
    let encoded = lines.map(|line| form_urlencoded::byte_serialize(line.as_bytes()).collect::<String>());
    let value = |text: String| HeaderValue::try_from(text.replace('+', "%20")).ok();
    let names = headers.iter().map(|name| HeaderName::from_static(name));
    names
        .zip(encoded)
        .filter_map(|(name, text)| Some((name, value(text)?)))
        .collect()
}
