//! The directories that a user works in, as their client remembers them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::extract::{JsonBody, Query};
use crate::failure::Failure;
use crate::fields::{self, Gap, Kind, Object, Others};
use crate::router::{Access, Route};
use crate::validation::Issue;

const KEY: &str = "workspaces";
const WORKSPACES: &str = "workspaces";
const PARENTS: &str = "workspaceParents";
/// The most that are remembered of each kind.
const MAX_REMEMBERED: usize = 1000;

/// A directory as a client names it. Its id and its name are the client's own affair; it has both, also where nobody says.
const ITEM: Kind = Kind::Object(&Object {
    class: None,
    fields: &[
        ("id", Kind::Text, Gap::Absent),
        ("name", Kind::Text, Gap::Absent),
        (
            "path",
            Kind::Sized {
                least: 1,
                most: usize::MAX,
            },
            Gap::None,
        ),
        ("parentPath", Kind::Text, Gap::Null),
    ],
    others: Others::Kept,
});

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::get("/api/workspaces", Access::Key, list),
        Route::post("/api/workspaces", add),
        Route::delete("/api/workspaces", remove),
        Route::post("/api/workspaces/parents", add_parents),
        Route::delete("/api/workspaces/parents", remove_parent),
    ]
}

fn none() -> Value {
    json!({WORKSPACES: [], PARENTS: []})
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Value>, Failure> {
    Ok(Json(app.documents.get(KEY).await?.unwrap_or_else(none)))
}

async fn add(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    remember(&app, WORKSPACES, &body, "workspaces").await
}

async fn add_parents(State(app): State<Arc<App>>, JsonBody(body): JsonBody) -> Result<Json<Value>, Failure> {
    remember(&app, PARENTS, &body, "parents").await
}

async fn remember(app: &App, list: &str, body: &Value, field: &'static str) -> Result<Json<Value>, Failure> {
    let fields = fields::read_body(body, &[(field, Kind::List(&ITEM), Gap::None)], Others::Kept)?;
    let mut sent = fields[field].as_array().cloned().unwrap_or_default();
    sent.iter_mut().for_each(complete);
    let changed = app.documents.change(KEY, |there| {
        let mut all = there.unwrap_or_else(none);
        if let Some(items) = all[list].as_array_mut() {
            items.retain(|item| !sent.iter().any(|new| new["path"] == item["path"]));
            items.extend(sent.iter().cloned());
            if items.len() > MAX_REMEMBERED {
                return Err(Failure::refused(format!(
                    "At most {MAX_REMEMBERED} can be remembered"
                )));
            }
        }
        Ok((Some(all.clone()), all))
    });
    Ok(Json(changed.await?))
}

fn complete(item: &mut Value) {
    let Some(fields) = item.as_object_mut() else {
        return;
    };
    let path = fields["path"].as_str().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let name = if last.is_empty() { path } else { last }.to_owned();
    fields.entry("name").or_insert_with(|| name.into());
    fields
        .entry("id")
        .or_insert_with(|| Uuid::new_v4().to_string().into());
}

async fn remove(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    forget(&app, WORKSPACES, &query, "Workspace not found").await
}

async fn remove_parent(State(app): State<Arc<App>>, query: Query) -> Result<Json<Value>, Failure> {
    forget(&app, PARENTS, &query, "Workspace parent not found").await
}

async fn forget(app: &App, list: &str, query: &Query, unknown: &str) -> Result<Json<Value>, Failure> {
    let path = query
        .get("path")
        .ok_or_else(|| Issue::missing(&["query", "path"], &Value::Null))?;
    let changed = app.documents.change(KEY, |there| {
        let mut all = there.unwrap_or_else(none);
        let items = all[list].as_array_mut();
        let before = items.as_ref().map_or(0, |items| items.len());
        let left = items.map_or(0, |items| {
            items.retain(|item| item["path"] != path);
            items.len()
        });
        if left == before {
            return Err(Failure::new(StatusCode::NOT_FOUND, unknown));
        }
        Ok((Some(all), ()))
    });
    changed.await?;
    Ok(Json(json!({"deleted": true})))
}
