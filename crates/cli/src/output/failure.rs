//! Failures, with what a person can do about them.

use deft_types::{Classification, FailureKind};

use super::clip::Clip;
use super::page::Page;

/// What happened where a workspace could not be opened.
pub(super) const NO_WORKSPACE: &str = "The workspace cannot be used";

/// What happened where the user's own budget is spent, not what a provider grants.
pub(super) const AT_LIMIT: &str = "Stopped";

/// What happened where a model cannot read all that it must.
pub(super) const TOO_LONG: &str = "Too long";

/// Shows what happened and, where it helps, what to do next.
pub(super) fn render(page: &mut Page, what: &str, detail: &str, classification: Option<&Classification>) {
    page.clipped(
        page.style.error,
        "",
        &format!("{what}: {}", detail.trim()),
        Clip::OUTPUT,
    );
    if let Some(remedy) = classification.and_then(|failure| remedy(what, failure.kind)) {
        page.line(page.style.warning, &format!("→ {remedy}"));
    }
}

fn remedy(what: &str, kind: FailureKind) -> Option<&'static str> {
    match kind {
        _ if what == TOO_LONG => Some(
            "Say less in one message, let the model read more (`context_window` of its table, or its server's \
             setting), or choose another with --model.",
        ),
        // What is wrong with it, and what to do about that, is in the detail. This is for whoever has done it.
        _ if what == NO_WORKSPACE => Some(
            "`deft doctor -w WORKSPACE` tries whether it can be opened now; then go on with the conversation.",
        ),
        _ if what == AT_LIMIT => {
            Some("Go on with the conversation under a higher limit, such as --max-cost.")
        }
        FailureKind::Auth => {
            Some("Set LLM_API_KEY, or api_key in ~/.deft/deft.toml, to a key that is valid.")
        }
        FailureKind::Quota => {
            Some("Top up the account with the provider, or choose another model with --model.")
        }
        FailureKind::RateLimit => {
            Some("Wait until the server takes requests again, then go on with the conversation.")
        }
        FailureKind::Config => Some("Look at what is set with `deft config`, and correct it."),
        FailureKind::Transient => Some(
            "Go on with the conversation; if it fails again, `deft models test` says which part does not work.",
        ),
        FailureKind::Internal => Some("Go on with the conversation; if it fails again, please report it."),
        // The agent is told and goes on by itself.
        FailureKind::AgentAction | FailureKind::Unknown => None,
    }
}
