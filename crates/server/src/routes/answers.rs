//! A person's answers to the actions that wait, one by one: yes, no, or yes with other arguments.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use deft_engine::Answer;
use deft_types::ActionId;
use serde_json::Value;

use super::success;
use crate::app::App;
use crate::extract::{Id, JsonBody};
use crate::failure::Failure;
use crate::request::object;
use crate::router::Route;
use crate::validation::Issue;

/// What the model is told where the user gives no reason.
const NO_REASON: &str = "The user rejected this action.";
const ANSWERS: [&str; 3] = ["approve", "reject", "edit"];

pub(crate) fn table() -> Vec<Route> {
    vec![Route::post(
        "/api/conversations/{conversation_id}/answers",
        answer,
    )]
}

async fn answer(
    State(app): State<Arc<App>>,
    Id(id): Id,
    JsonBody(body): JsonBody,
) -> Result<Json<Value>, Failure> {
    let sent = object(&body)?.get("answers").and_then(Value::as_array);
    let sent = sent.ok_or_else(|| Issue::missing(&["body", "answers"], &body))?;
    let answers = sent.iter().map(read).collect::<Result<_, _>>()?;
    let resident = app.conversations.resident(id).await?;
    app.conversations.answer(&resident, answers).await?;
    Ok(success())
}

fn read(sent: &Value) -> Result<(ActionId, Answer), Issue> {
    let missing = |name| Issue::missing(&["body", "answers", name], sent);
    let id = sent["action_id"].as_str().ok_or_else(|| missing("action_id"))?;
    let answer = match sent["answer"].as_str().unwrap_or_default() {
        "approve" => Answer::Approve,
        "reject" => Answer::Reject {
            reason: sent["reason"].as_str().unwrap_or(NO_REASON).to_owned(),
        },
        "edit" => Answer::Edit {
            arguments: sent["arguments"]
                .as_object()
                .cloned()
                .ok_or_else(|| missing("arguments"))?,
        },
        other => return Err(Issue::choice(&["body", "answers", "answer"], &ANSWERS, other)),
    };
    Ok((id.into(), answer))
}
