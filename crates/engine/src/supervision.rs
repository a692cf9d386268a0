//! Who watches over an agent.

use std::sync::Arc;

use deft_llm::{CallLog, Model};

use crate::above::Above;
use crate::budget::Purse;
use crate::critic::Refinement;
use crate::hosts::Attendance;
use crate::mode::Mode;

/// Who watches over the agent, and on whose budget it draws.
#[derive(Clone, Default)]
pub struct Supervision {
    /// Whether it works, or only plans.
    pub mode: Mode,
    /// Who judges actions where a judge is asked for, and whether a goal is reached; without it, the model that answers.
    pub judge: Option<Arc<dyn Model>>,
    /// A service elsewhere that judges actions where one is asked for: it is asked like the judge, and answers like one.
    pub monitor: Option<Arc<dyn Model>>,
    /// Whether and how the result of a turn is criticised before the turn ends.
    pub refinement: Option<Refinement>,
    /// Who gives it a title after the first message; without it, the first words of that are the title.
    pub titles: Option<Arc<dyn Model>>,
    /// What is asked for in a title, in the client's words.
    pub title_prompt: Option<String>,
    /// The conversation that gave the task.
    pub above: Option<Above>,
    /// What it and others have together, where no conversation gave it a task.
    pub purse: Option<Purse>,
    /// Whether it may also give tasks to agents with names, beside those of the `task` tool.
    pub delegates: bool,
    /// Whether somebody is there to be asked for hosts that no rule names.
    pub attendance: Attendance,
    /// Calls of its models that are to be told whole, where somebody wants to see them.
    pub calls: CallLog,
}
