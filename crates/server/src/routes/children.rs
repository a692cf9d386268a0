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
use crate::fields::{self, Gap, Kind, Others, Table};
use crate::request::checked_title;
use crate::router::{Access, Route};
use crate::worktree::{Worktree, WorktreeBase};

/// What a client says of it.
#[rustfmt::skip]
const CHILD: &Table = &[
    ("task", Kind::Sized { least: 1, most: usize::MAX }, Gap::None),
    ("title", Kind::Text, Gap::Null),
    ("isolation", Kind::OneOf(&["worktree", "shared"]), Gap::Absent),
];

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
    let sent = fields::read_body(&body, CHILD, Others::Kept)?;
    let text = |name: &str| sent.get(name).and_then(Value::as_str);
    let title = text("title").map(checked_title).transpose()?;
    let worktree = match text("isolation") {
        Some("shared") => None,
        // It goes on from what its parent has.
        Some(_) | None => Some(Worktree {
            base: WorktreeBase::Head,
            ..Worktree::default()
        }),
    };
    let task = text("task").unwrap_or_default();
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
