//! A tool in a sandbox, with the rule behind a refusal added to its answer.

use std::sync::Arc;

use deft_tools::{Call, Tool, ToolError, Touches};
use deft_types::{Action, Content, Observation, ToolSpec, text_of};
use deft_workspace::sandbox::Denials;
use futures::FutureExt;
use futures::future::BoxFuture;

/// A tool whose refusals are explained. What it does, and when it fails, is as before.
pub(crate) struct Explained {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) denials: Arc<Denials>,
}

impl Tool for Explained {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    fn touches(&self, action: &Action) -> Touches {
        self.tool.touches(action)
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let mut observation = self.tool.run(call).await?;
            if let Some(why) = self.explain(&observation) {
                observation.add(Content::text(why));
            }
            Ok(observation)
        }
        .boxed()
    }

    fn may_repeat(&self) -> bool {
        self.tool.may_repeat()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.tool.close()
    }
}

impl Explained {
    /// Of a file that holds such words nothing is said. A command that went well may have had parts that did not.
    fn explain(&self, observation: &Observation) -> Option<String> {
        let has_failed = match observation {
            Observation::Terminal(terminal) => terminal.exit_code != Some(0),
            other if other.is_error() => true,
            _ => return None,
        };
        self.denials.explain(&text_of(&observation.content()), has_failed)
    }
}
