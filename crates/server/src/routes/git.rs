//! Git repositories of workspaces: what changed, and since when.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use deft_executor::{Against, Change, FileReview, RequestError};
use serde_json::{Value, json};

use super::files::{reached, refused};
use super::success;
use crate::app::App;
use crate::extract::{JsonBody, Name, Query, Scope};
use crate::failure::Failure;
use crate::places::asked_path;
use crate::request::text;
use crate::router::{Access, Route};

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/git/changes", Access::Key, changes),
        Route::get("/api/git/diff", Access::Key, diff),
        Route::get("/api/git/commits", Access::Key, commits),
        Route::get("/api/git/commits/{sha}/changes", Access::Key, commit_changes),
        Route::get(
            "/api/conversations/{conversation_id}/git/changes",
            Access::Key,
            changes,
        ),
        Route::get("/api/conversations/{conversation_id}/git/diff", Access::Key, diff),
        Route::get(
            "/api/conversations/{conversation_id}/git/commits",
            Access::Key,
            commits,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/git/commits/{sha}/changes",
            Access::Key,
            commit_changes,
        ),
        Route::get(
            "/api/conversations/{conversation_id}/git/review",
            Access::Key,
            review,
        ),
        Route::post("/api/conversations/{conversation_id}/git/revert", revert),
    ]
}

/// What git cannot do is the client's to mend.
fn failed(error: &RequestError) -> Failure {
    match error {
        RequestError::NotFound { path } => {
            let sentence = format!("File does not exist: {path}");
            Failure::new(StatusCode::BAD_REQUEST, sentence)
        }
        RequestError::Changed { .. } => Failure::new(StatusCode::CONFLICT, error.to_string()),
        error => refused(error),
    }
}

async fn changes(
    State(app): State<Arc<App>>,
    scope: Scope,
    query: Query,
) -> Result<Json<Vec<Change>>, Failure> {
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    match client.git_changes(&path, query.get("ref")).await {
        Err(RequestError::NotFound { .. }) => Ok(Json(Vec::new())), // no repository either
        changes => Ok(Json(changes.map_err(|error| failed(&error))?)),
    }
}

async fn diff(State(app): State<Arc<App>>, scope: Scope, query: Query) -> Result<Json<Value>, Failure> {
    let against = match (query.get("ref"), query.get("commit")) {
        (Some(_), Some(_)) => {
            let sentence = "'ref' and 'commit' are mutually exclusive";
            return Err(Failure::new(StatusCode::BAD_REQUEST, sentence));
        }
        (Some(revision), None) => Against::Revision(revision.to_owned()),
        (None, Some(commit)) => Against::Commit(commit.to_owned()),
        (None, None) => Against::Base,
    };
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    let sides = match client.git_diff(&path, against).await {
        Err(RequestError::NotARepository { .. }) => {
            return Ok(Json(json!({"modified": null, "original": null})));
        }
        sides => sides.map_err(|error| failed(&error))?,
    };
    let [modified, original] = [sides.modified, sides.original].map(Option::unwrap_or_default);
    Ok(Json(json!({"modified": modified, "original": original})))
}

/// A file for a reviewer: `content` says whether there is text to compare, `version` which state of the file it is.
async fn review(
    State(app): State<Arc<App>>,
    scope: Scope,
    query: Query,
) -> Result<Json<FileReview>, Failure> {
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    let review = client.git_review(&path, query.get("ref")).await;
    Ok(Json(review.map_err(|error| failed(&error))?))
}

/// `{"path", "ref"?, "version"}`: makes a file what it was, unless it is not the one of this version any more.
async fn revert(
    State(app): State<Arc<App>>,
    scope: Scope,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let (path, version) = (text(&body, "path")?, text(&body, "version")?);
    let (client, path) = reached(&app, scope, path).await?;
    let reverted = client.git_revert(&path, body["ref"].as_str(), version).await;
    reverted.map_err(|error| failed(&error))?;
    Ok(success())
}

async fn commits(State(app): State<Arc<App>>, scope: Scope, query: Query) -> Result<Json<Value>, Failure> {
    let limit = query.limit()?;
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    match client.git_commits(&path, 0, limit).await {
        Err(RequestError::NotARepository { .. } | RequestError::NotFound { .. }) => {
            Ok(Json(json!({"commits": [], "has_more": false})))
        }
        page => Ok(Json(json!(page.map_err(|error| failed(&error))?))),
    }
}

async fn commit_changes(
    State(app): State<Arc<App>>,
    scope: Scope,
    Name(sha): Name,
    query: Query,
) -> Result<Json<Vec<Change>>, Failure> {
    let (client, path) = reached(&app, scope, asked_path(&query)?).await?;
    let changes = client.git_commit_changes(&path, &sha).await;
    Ok(Json(changes.map_err(|error| failed(&error))?))
}
