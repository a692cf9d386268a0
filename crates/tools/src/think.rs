//! Keeps a thought.

use deft_types::{Action, Content, Observation, ThinkObservation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::spec::{Reach, spec};
use crate::{Call, Tool, ToolError, Touches};

/// Writes a thought into the log; changes nothing.
#[derive(Debug)]
pub struct Think;

impl Tool for Think {
    fn spec(&self) -> ToolSpec {
        spec(
            "think",
            "Think",
            Reach::Nothing,
            "Writes down a thought: a plan, a guess at a cause, a choice between ways. It reads and changes nothing.",
            &json!({
                "thought": { "type": "string", "description": "The thought." },
            }),
            &["thought"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::Think(_) = call.action else {
                return Err(ToolError::WrongAction {
                    tool: "think",
                    kind: call.action.kind().to_owned(),
                });
            };
            Ok(ThinkObservation {
                content: vec![Content::text("The thought is kept.")],
                ..ThinkObservation::default()
            }
            .into())
        }
        .boxed()
    }
}
