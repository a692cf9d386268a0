//! Conversations that do a part of another's work.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use deft_types::{Message, Role};
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::{checked_title, given, object, text};
use crate::router::Route;
use crate::validation::Issue;
use crate::worktree::{Worktree, WorktreeBase};

const ISOLATIONS: [&str; 2] = ["worktree", "shared"];

pub(crate) fn table() -> Vec<Route> {
    vec![Route::post(
        "/api/conversations/{conversation_id}/children",
        begin,
    )]
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
