//! Back to an earlier event: the conversation, its files, or both. Ours: the contract only knows the first.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::Rewind;
use deft_tools::Overwrite;
use deft_types::EventId;
use serde_json::{Value, json};

use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::text;
use crate::router::Route;

pub(crate) fn table() -> Vec<Route> {
    vec![Route::post("/api/conversations/{conversation_id}/rewind", rewind)]
}

/// `{"event_id", "what"?: "both" | "files" | "conversation", "overwrite"?}`.
async fn rewind(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let to = EventId(text(&body, "event_id")?.to_owned());
    let what = match body["what"].as_str().unwrap_or("both") {
        "both" => Rewind::Both,
        "files" => Rewind::Files,
        "conversation" => Rewind::Conversation,
        other => {
            let sentence = format!("`what` must be both, files or conversation, not {other:?}");
            return Err(Failure::refused(sentence));
        }
    };
    let overwrite = if body["overwrite"] == true {
        Overwrite::Allow
    } else {
        Overwrite::Refuse
    };
    let resident = app.conversations.resident(id).await?;
    let restored = app.conversations.rewind(&resident, to, what, overwrite).await?;
    let restored = restored.map(|restored| {
        let failed = restored.failed.iter().map(|failure| &failure.path);
        json!({"undo": restored.undo, "failed": failed.collect::<Vec<_>>()})
    });
    Ok(Json(json!({ "files": restored })))
}
