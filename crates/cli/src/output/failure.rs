//! Failures, with what a person can do about them.

use deft_types::{Classification, FailureKind};

use super::clip::Clip;
use super::page::Page;

/// Shows what happened and, where it helps, what to do next.
pub(super) fn render(page: &mut Page, what: &str, detail: &str, classification: Option<&Classification>) {
    page.clipped(
        page.style.error,
        "",
        &format!("{what}: {}", detail.trim()),
        Clip::OUTPUT,
    );
    if let Some(remedy) = classification.and_then(|failure| remedy(failure.kind)) {
        page.line(page.style.warning, &format!("→ {remedy}"));
    }
}

fn remedy(kind: FailureKind) -> Option<&'static str> {
    match kind {
        FailureKind::Auth => {
            Some("Set LLM_API_KEY, or api_key in ~/.deft/deft.toml, to a key that is valid.")
        }
        FailureKind::Quota => {
            Some("Top up the account with the provider, or choose another model with --model.")
        }
        FailureKind::RateLimit => Some("Wait a minute, then go on with the conversation."),
        FailureKind::Config => Some("Look at what is set with `deft config`, and correct it."),
        FailureKind::Transient => Some("Go on with the conversation; if it fails again, check the network."),
        FailureKind::Internal => Some("Go on with the conversation; if it fails again, please report it."),
        // The agent is told and goes on by itself.
        FailureKind::AgentAction | FailureKind::Unknown => None,
    }
}
