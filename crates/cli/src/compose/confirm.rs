//! What waits for the user's word: said once, it holds whenever the conversation goes on.

use deft_engine::Conversation;
use deft_skills::Permission;
use deft_types::{ConfirmationPolicy, SecurityRisk};

use crate::settings::{Settings, Source};

/// Keeps with the conversation what the user wants to be asked about. A flag or a variable is a word about it; a file is
/// one about all of which nothing else was said.
pub(crate) async fn keep(settings: &Settings, conversation: &Conversation) -> anyhow::Result<()> {
    let counts = match settings.confirm.source {
        Source::Flag(_) | Source::Environment(_) => true,
        Source::File { .. } => conversation.inspect().await?.policy.is_none(),
        Source::Default => false,
    };
    if counts {
        let policy = policy(settings, Some(settings.confirm.value));
        conversation.set_policy(policy).await?;
    }
    Ok(())
}

/// What waits for a person: nothing, for there may be nobody there, unless somebody wants it. Whoever names a judge wants
/// what it finds dangerous to wait.
pub(super) fn policy(settings: &Settings, permission: Option<Permission>) -> ConfirmationPolicy {
    let risky = |confirm_unknown| ConfirmationPolicy::ConfirmRisky {
        threshold: SecurityRisk::High,
        confirm_unknown,
    };
    match permission {
        Some(Permission::AlwaysConfirm) => ConfirmationPolicy::AlwaysConfirm,
        Some(Permission::ConfirmRisky) => risky(true),
        None | Some(Permission::NeverConfirm) if settings.judge_model.value.is_some() => risky(false),
        None | Some(Permission::NeverConfirm) => ConfirmationPolicy::NeverConfirm,
    }
}
