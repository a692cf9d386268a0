//! A tool, with what lies behind its failure added to its answer: the rule of the sandbox, or the limit of memory.

use std::sync::Arc;

use deft_tools::{Call, Tool, ToolError, Touches};
use deft_types::{Action, Content, Observation, ToolSpec, text_of};
use deft_workspace::sandbox::Denials;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::used_up;

/// What is said of a command of which the kernel has ended something.
const NO_MEMORY: &str = "Something of this was ended because the memory of the workspace was used up. Run less at the same \
                         time, or have its limit raised: `memory` of a container or pod, `sandbox_memory` of the sandbox.";

/// A tool whose failures are explained. What it does, and when it fails, is as before.
pub(crate) struct Explained {
    pub(crate) tool: Arc<dyn Tool>,
    /// In a sandbox.
    pub(crate) denials: Option<Arc<Denials>>,
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
            let before = used_up::times();
            let mut observation = self.tool.run(call).await?;
            if let Some(why) = self.explain(&observation, before) {
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
    fn explain(&self, observation: &Observation, used_up_before: Option<u64>) -> Option<String> {
        let has_failed = match observation {
            Observation::Terminal(terminal) => terminal.exit_code != Some(0),
            other if other.is_error() => true,
            _ => return None,
        };
        if has_failed && used_up_before.is_some_and(|before| used_up::times() > Some(before)) {
            return Some(NO_MEMORY.to_owned());
        }
        let denials = self.denials.as_ref()?;
        denials.explain(&text_of(&observation.content()), has_failed)
    }
}
