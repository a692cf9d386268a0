//! What waits for the user's word: said once, it holds whenever the conversation goes on.

use deft_engine::Conversation;
use deft_skills::Permission;
use deft_types::{ConfirmationPolicy, SecurityRisk};

use super::Role;
use crate::settings::{Settings, Source};

/// Keeps with the conversation what the user wants to be asked about. A flag or a variable is a word about it; a file is
/// one about all of which nothing else was said, and is read each time. A judge who is named now was not meant by an
/// earlier word that nothing is to wait.
pub(crate) async fn keep(settings: &Settings, conversation: &Conversation) -> anyhow::Result<()> {
    let has_new_judge = is_word(&settings.judge_model.source)
        && conversation.inspect().await?.policy == Some(ConfirmationPolicy::NeverConfirm);
    if is_word(&settings.confirm.source) || has_new_judge {
        let policy = policy(settings, Some(settings.confirm.value));
        conversation.set_policy(policy).await?;
    }
    Ok(())
}

/// Whether something is said of this conversation.
fn is_word(source: &Source) -> bool {
    matches!(source, Source::Flag(_) | Source::Environment(_))
}

/// The policy where a conversation has none of its own: that of the user's file, and below it that of the agent's
/// definition.
pub(super) fn of_role(settings: &Settings, role: &Role) -> ConfirmationPolicy {
    let confirm = &settings.confirm;
    let permission = match role.depth {
        0 => (!is_word(&confirm.source)).then_some(confirm.value),
        _ => role.definition.and_then(|definition| definition.permission),
    };
    policy(settings, permission)
}

/// What waits for a person: nothing, for there may be nobody there, unless somebody wants it. Whoever names a judge wants
/// what it finds dangerous to wait.
fn policy(settings: &Settings, permission: Option<Permission>) -> ConfirmationPolicy {
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
