//! Ends the task.

use deft_types::{Action, Content, FinishObservation, Observation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::spec::{Reach, spec};
use crate::{Call, Tool, ToolError, Touches};

/// Says the last word of the agent to the user.
#[derive(Debug)]
pub struct Finish;

impl Tool for Finish {
    fn spec(&self) -> ToolSpec {
        spec(
            "finish",
            "Finish",
            Reach::Nothing,
            "Ends the task. Call it when the work is done, or when you cannot go on without the user.",
            &json!({
                "message": {
                    "type": "string",
                    "description": "To the user: what you did and found, what is left open, what you need.",
                },
            }),
            &["message"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::Finish(action) = call.action else {
                return Err(ToolError::WrongAction {
                    tool: "finish",
                    kind: call.action.kind().to_owned(),
                });
            };
            Ok(FinishObservation {
                content: vec![Content::text(action.message)],
                ..FinishObservation::default()
            }
            .into())
        }
        .boxed()
    }
}
