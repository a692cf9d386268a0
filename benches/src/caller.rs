//! A model that calls one tool so many times, and then answers. It takes no time, reads nothing and costs nothing, so
//! what is measured around it is ours.

use std::sync::{Mutex, MutexGuard, PoisonError};

use deft_llm::{Delta, FinishReason, Model, ModelError, ModelProfile, Request, Usage};
use deft_types::Tokens;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

/// See the module.
pub(crate) struct Caller {
    profile: ModelProfile,
    tool: &'static str,
    /// The arguments of a call, of which there have been so many before.
    arguments: fn(usize) -> String,
    calls: Mutex<Calls>,
}

struct Calls {
    made: usize,
    left: usize,
}

impl Caller {
    pub(crate) fn new(tool: &'static str, arguments: fn(usize) -> String, calls: usize) -> Self {
        Self {
            profile: ModelProfile::unknown("caller"),
            tool,
            arguments,
            calls: Mutex::new(Calls { made: 0, left: calls }),
        }
    }

    /// So many calls more before the next answer.
    pub(crate) fn call_again(&self, calls: usize) {
        self.calls().left = calls;
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Caller {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let usage = Delta::Usage(Usage {
            prompt: Tokens(1_000),
            completion: Tokens(20),
            ..Usage::default()
        });
        let mut calls = self.calls();
        let deltas = if calls.left == 0 {
            let answer = Delta::Text("Done.".to_owned());
            vec![answer, usage, Delta::Finished(FinishReason::Stop)]
        } else {
            let call = Delta::ToolCall {
                index: 0,
                id: Some(format!("call_{}", calls.made)),
                name: Some(self.tool.to_owned()),
                arguments: (self.arguments)(calls.made),
                item_id: None,
            };
            calls.left -= 1;
            calls.made += 1;
            vec![call, usage, Delta::Finished(FinishReason::ToolCalls)]
        };
        stream::iter(deltas.into_iter().map(Ok)).boxed()
    }
}
