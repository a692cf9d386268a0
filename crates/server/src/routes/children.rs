//! Conversations that do a part of another's work.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deft_engine::Delegate;
use deft_types::{Message, Role};
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::{checked_title, given, object, text};
use crate::router::{Access, Route};
use crate::validation::Issue;
use crate::worktree::{Worktree, WorktreeBase};

const ISOLATIONS: [&str; 2] = ["worktree", "shared"];

pub(crate) fn table() -> Vec<Route> {
    vec![
        Route::post("/api/conversations/{conversation_id}/children", begin),
        Route::get(
            "/api/conversations/{conversation_id}/delegates",
            Access::Key,
            delegates,
        ),
    ]
}

/// The agents that are called by name. The id of a task ends with the beginning of its conversation's id.
async fn delegates(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, Failure> {
    let catalog = &app.conversations.catalog;
    catalog.get(id).await?;
    let state = deft_engine::load(catalog.store.as_ref(), id).await?;
    let one = |(name, Delegate { task_id, kind }): (&String, &Delegate)| json!({"name": name, "task_id": task_id, "kind": kind});
    let all: Vec<_> = state.delegates.iter().map(one).collect();
    Ok(Json(json!({"delegates": all})))
}

async fn begin(
    State(app): State<Arc<App>>,
    Id(parent): Id,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let task = text(&body, "task")?;
    let fields = object(&body)?;
    let title = given(fields, "title").and_then(Value::as_str);
    let title = title.map(checked_title).transpose()?;
    let isolation =
        given(fields, "isolation").map_or("worktree", |isolation| isolation.as_str().unwrap_or_default());
    let worktree = match isolation {
        "shared" => None,
        // It goes on from what its parent has.
        "worktree" => Some(Worktree {
            base: WorktreeBase::Head,
            ..Worktree::default()
        }),
        other => return Err(Issue::choice(&["body", "isolation"], &ISOLATIONS, other).into()),
    };
    let task = Message::text(Role::User, task.to_owned());
    let conversations = &app.conversations;
    let unknown = |failure: Failure| failure.naming("Parent conversation not found");
    let parents = conversations.catalog.get(parent).await.map_err(unknown)?;
    let child = conversations.begin_child(parent, task, title, worktree).await?;
    let described = conversations.catalog.get(child).await?;
    let is_shared = described.record.workspace == parents.record.workspace; // where there is no repository
    let answer = json!({
        "conversation_id": child,
        "parent_conversation_id": parent,
        "status": described.record.status,
        "title": described.record.title,
        "url": null,
        "workspace": described.record.workspace,
        "isolation": if is_shared { "shared" } else { "worktree" },
    });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}
