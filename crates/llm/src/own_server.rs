//! Models on servers of one's own, which call tools by themselves, or only nearly.
//!
//! Some such servers hand on a call as the model wrote it, as text, and its reasoning between tags. Others refuse
//! every request that offers tools, because a setting or the model's template is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::prompted::{CallReader, PromptedModel};
use crate::{Delta, Model, ModelError, ModelProfile, Request, TokenCount};

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A server of one's own: the same model may call as it should and not.
    OwnServer,
    /// Perhaps one, perhaps a gateway to a large provider. Whoever has once called as it should always does: what
    /// looks like a call in its words is quoted.
    Anybody,
}

/// A model whose calls are found wherever they stand, and asked for in words once its server refuses tools.
pub(crate) struct OwnServerModel {
    native: Arc<dyn Model>,
    in_words: Arc<PromptedModel>,
    behind: Behind,
    refuses_tools: Arc<AtomicBool>,
    has_called: Arc<AtomicBool>,
}

impl OwnServerModel {
    pub(crate) fn new(native: Arc<dyn Model>, behind: Behind) -> Self {
        Self {
            in_words: Arc::new(PromptedModel(Arc::clone(&native))),
            native,
            behind,
            refuses_tools: Arc::default(),
            has_called: Arc::default(),
        }
    }
}

impl Model for OwnServerModel {
    fn profile(&self) -> &ModelProfile {
        self.native.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let is_trusted = self.behind == Behind::Anybody && self.has_called.load(Ordering::Relaxed);
        if request.tools.is_empty() || is_trusted {
            return self.native.stream(request);
        }
        if self.refuses_tools.load(Ordering::Relaxed) {
            return self.in_words.stream(request);
        }
        let (native, in_words) = (Arc::clone(&self.native), Arc::clone(&self.in_words));
        let (refuses_tools, has_called) = (Arc::clone(&self.refuses_tools), Arc::clone(&self.has_called));
        Box::pin(async_stream::try_stream! {
            let mut reader = CallReader::of_offered(Arc::clone(&request.tools));
            let mut reply = native.stream(request.clone());
            let mut first = reply.next().await;
            if let Some(Err(error)) = &first && is_refusal_of_tools(error) {
                refuses_tools.store(true, Ordering::Relaxed);
                reply = in_words.stream(request);
                while let Some(delta) = reply.next().await {
                    yield delta?;
                }
                return;
            }
            while let Some(delta) = first {
                let delta = delta?;
                if matches!(delta, Delta::ToolCall { .. }) {
                    has_called.store(true, Ordering::Relaxed);
                }
                for delta in reader.read(delta) {
                    yield delta;
                }
                first = reply.next().await;
            }
        })
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        if self.refuses_tools.load(Ordering::Relaxed) {
            self.in_words.count(request)
        } else {
            self.native.count(request)
        }
    }
}

/// Whether a server says that tools are what it does not take: Ollama, llama.cpp and vLLM each have their own words.
fn is_refusal_of_tools(error: &ModelError) -> bool {
    let (ModelError::BadRequest { detail } | ModelError::Unavailable { detail }) = error else {
        return false;
    };
    let detail = detail.to_lowercase();
    let reasons = [
        "support tool",
        "tools is not supported",
        "tools are not supported",
        "--jinja",
        "auto-tool-choice",
    ];
    reasons.iter().any(|reason| detail.contains(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_tools_is_told_from_other_failures() {
        let refused = |detail: &str| ModelError::BadRequest {
            detail: detail.to_owned(),
        };
        assert!(is_refusal_of_tools(&refused("gemma:2b does not support tools")));
        assert!(is_refusal_of_tools(&refused(
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"
        )));
        assert!(is_refusal_of_tools(&ModelError::Unavailable {
            detail: "tools param requires --jinja flag".to_owned()
        }));
        assert!(!is_refusal_of_tools(&refused("the model does not exist")));
        assert!(!is_refusal_of_tools(&refused("tool_call_id is missing")));
        assert!(!is_refusal_of_tools(&refused(
            "Unsupported parameter: 'parallel_tool_calls'"
        )));
        assert!(!is_refusal_of_tools(&ModelError::Network {
            detail: "does not support tools".to_owned()
        }));
    }
}
