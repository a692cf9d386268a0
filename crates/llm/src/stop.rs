//! Why a reply ended, in the words that Anthropic and Bedrock share.

use crate::blocks::Blocks;
use crate::{FinishReason, ModelError};

/// The reason behind a provider's word. `None`: the reply ended without one.
pub(crate) fn finish_reason(word: Option<&str>, blocks: &Blocks) -> Result<FinishReason, ModelError> {
    match word {
        Some("model_context_window_exceeded") if blocks.is_empty() => {
            Err(ModelError::ContextWindowExceeded {
                detail: "there was no room left for a reply".to_owned(),
            })
        }
        Some("max_tokens" | "model_context_window_exceeded") => Ok(FinishReason::Length),
        Some("refusal" | "content_filtered" | "guardrail_intervened") => Ok(FinishReason::ContentFilter),
        Some(word @ ("malformed_tool_use" | "malformed_model_output")) => Err(ModelError::Protocol {
            detail: format!("the provider gave the reply up: {word}"),
        }),
        _ if blocks.calls_tools() => Ok(FinishReason::ToolCalls),
        Some("tool_use") => Err(ModelError::Protocol {
            detail: "the reply calls a tool, and the call is missing".to_owned(),
        }),
        None if blocks.is_empty() => Err(ModelError::Protocol {
            detail: "it holds no reply".to_owned(),
        }),
        Some(_) | None => Ok(FinishReason::Stop),
    }
}
