//! The tools of a simulation: two of the executor, which exist only as words, and one that runs beside the engine.

use std::sync::Arc;
use std::time::Duration;

use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{Action, Content, Observation, ThinkObservation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::scene::Scene;

/// One that changes something and one that does not.
pub(crate) fn tools() -> Vec<ToolSpec> {
    vec![named("act", Reach::World), named("look", Reach::Nothing)]
}

/// One of a server.
pub(super) fn served(name: &str) -> ToolSpec {
    named(name, Reach::World)
}

fn named(name: &str, reach: Reach) -> ToolSpec {
    let properties = json!({"what": {"type": "string"}});
    spec(name, "MCPTool", reach, "Does something.", &properties, &["what"])
}

/// Takes its time beside the engine, and must not do it twice.
pub(crate) struct Ponder(pub(crate) Arc<Scene>);

impl Tool for Ponder {
    fn spec(&self) -> ToolSpec {
        named("ponder", Reach::World)
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            self.0.ran(&call.id, false);
            tokio::select! {
                biased;
                () = call.cancel.cancelled() => return Err(ToolError::Cancelled),
                () = self.0.pass(Duration::from_millis(500)) => {}
            }
            Ok(ThinkObservation {
                content: vec![Content::text("It is so.")],
                ..ThinkObservation::default()
            }
            .into())
        }
        .boxed()
    }
}
