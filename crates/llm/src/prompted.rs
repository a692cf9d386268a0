//! Models that cannot call tools by themselves: calls are asked for, and come back, as text.
//!
//! The tools are described in the system message together with a form to write calls in, such as
//! `<function=terminal> <parameter=command>ls</parameter> </function>`.
//!
//! Earlier calls are shown to the model in that form, their results as messages of the user, and what it
//! writes in that form becomes tool calls again. A call that cannot be read, or that the limit of the output cut
//! off, becomes a call whose arguments are its text as it stands. That is not JSON, so who runs tools rejects it
//! with the usual answer to such arguments, and the model tries again. Nothing half-read runs.

mod form;
mod history;
mod instructions;
mod parser;
mod reader;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use deft_types::Tokens;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

pub(crate) use self::form::CALL_END;
pub(crate) use self::reader::CallReader;
use crate::{Delta, FinishReason, Model, ModelError, ModelProfile, Request, TokenCount, Usage, tokens};

/// A model goes on after its call only to imagine the result. Past this many bytes of it, it is stopped.
const MAX_STRAY_BYTES: usize = 2_000;

/// A model that is asked for tool calls in words.
pub(crate) struct PromptedModel(pub(crate) Arc<dyn Model>);

impl Model for PromptedModel {
    fn profile(&self) -> &ModelProfile {
        self.0.profile()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async_stream::try_stream! {
            let mut reader = CallReader::new(Arc::clone(&request.tools));
            let request = history::as_text(&request);
            let asked = tokens::estimate(&request);
            let mut said = 0;
            let mut reply = inner.stream(request);
            while let Some(delta) = reply.next().await {
                let delta = delta?;
                if let Delta::Text(text) = &delta {
                    said += tokens::of_text(text);
                }
                for delta in reader.read(delta) {
                    yield delta;
                }
                if reader.stray_bytes() > MAX_STRAY_BYTES {
                    // The provider's counts would come at the end, which is not waited for.
                    let usage = Usage { prompt: asked, completion: Tokens(said), ..Usage::default() };
                    yield inner.profile().priced(Delta::Usage(usage));
                    yield Delta::Finished(FinishReason::ToolCalls);
                    return;
                }
            }
        })
    }

    fn count(&self, request: Request) -> BoxFuture<'static, TokenCount> {
        self.0.count(history::as_text(&request))
    }
}
