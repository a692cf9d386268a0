//! What people add to an agent.

use crate::hooks::HookConfig;
use crate::skills::SkillSources;

/// What the user and the project add to the agent of a conversation.
#[derive(Clone, Default)]
pub struct Extensions {
    /// Instructions for certain kinds of work. Without any sources the agent knows nothing of skills.
    pub skills: Option<SkillSources>,
    /// What runs when the agent does something.
    pub hooks: HookConfig,
}
