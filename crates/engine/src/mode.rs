//! Whether an agent works, or only plans.

use deft_types::{Content, ToolSpec};
use serde::{Deserialize, Serialize};

use crate::conversation::Outfit;

/// What an agent is to do. That it can do no more is seen to by its workspace, and by the tools it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The task.
    #[default]
    Act,
    /// Look around, and write a plan for the task.
    Plan,
}

/// What an agent is told when its plan is approved.
pub const APPROVED: &str = "The plan is approved, as it stands in its file now: it may have been changed since you wrote \
                            it, so read it again. Then carry it out; all tools are there for it.";

/// Read with each message to an agent that plans.
const PLAN_ONLY: &str = "[Plan mode: look around and write the plan for this with `planning_file_editor`; nothing else \
                         can be changed. When the plan is whole, call `finish` and sum it up. It is carried out when the \
                         user has approved it.]";

/// The tools of our own that change nothing but notes.
pub(crate) const NOTES: [&str; 2] = ["planning_file_editor", "task_tracker"];
/// The kind of actions of tools that others offer, whose word about what they change is not taken.
pub(crate) const OF_OTHERS: &str = "MCPToolAction";

impl Mode {
    /// Whether an agent may have a tool.
    pub(crate) fn allows(self, tool: &ToolSpec) -> bool {
        match self {
            Self::Act => true,
            Self::Plan => {
                let is_ours = tool.definition.action_type != OF_OTHERS;
                is_ours && (tool.is_read_only() || NOTES.contains(&tool.name()))
            }
        }
    }

    /// What an executor is given. Whoever only plans needs no servers, which might do anything, and changes nothing that
    /// could be undone.
    pub(crate) fn fitted(self, outfit: Outfit) -> Outfit {
        match self {
            Self::Act => outfit,
            Self::Plan => Outfit {
                servers: None,
                elsewhere: None,
                checkpoints: false,
                ..outfit
            },
        }
    }

    /// What a message is read with.
    pub(crate) fn note(self) -> Vec<Content> {
        match self {
            Self::Act => Vec::new(),
            Self::Plan => vec![Content::text(PLAN_ONLY)],
        }
    }
}
