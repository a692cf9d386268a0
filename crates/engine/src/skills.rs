//! The skills of a conversation: those of its workspace, and those brought along.

use std::sync::{Arc, Mutex, PoisonError};

use deft_skills::{AgentDefinition, Skill, Skills};

use crate::extensions::{Found, OfProject};
use crate::skill_content::SkillFiles;
use crate::trust::{self, Decision, Decisions, Provided};

/// Where the skills of a conversation come from.
#[derive(Clone, Default)]
pub struct SkillSources {
    /// Whether those of the workspace count.
    pub project: OfProject,
    /// Others, which count where the workspace has none of the same name.
    pub others: Vec<Skill>,
    /// The names of those that somebody does not want.
    pub disabled: Vec<String>,
    /// Where the files of the user's own skills are read; without it they are not.
    pub files: Option<SkillFiles>,
}

impl SkillSources {
    /// All of them, those of the project first.
    pub(crate) fn joined(&self, project: Skills) -> Skills {
        project.and(self.others.iter().cloned()).without(&self.disabled)
    }
}

/// The skills as the tools of a conversation know them.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Option<Arc<Stock>>>>);

/// What is on the shelf.
#[derive(Default)]
pub(crate) struct Stock {
    pub(crate) skills: Skills,
    pub(crate) agents: Vec<AgentDefinition>,
    /// Notes of earlier conversations, as a part of the prompt.
    pub(crate) notes: Option<String>,
    decisions: Decisions,
    /// What the project brings along that would run if somebody agreed.
    pub(crate) provided: Vec<Provided>,
    /// The workspace, as its executor names it.
    pub(crate) workspace: String,
    /// Whether the workspace could be read: if not, it is tried again.
    is_whole: bool,
}

impl Stock {
    /// Whether it is what would be found now: nobody has decided otherwise, and nothing may run that was perhaps changed.
    pub(crate) fn is_current(&self, decisions: &Decisions) -> bool {
        let is_known = |provided: &Provided| {
            let decided = decisions.about(&provided.fingerprint);
            self.decisions.about(&provided.fingerprint) == decided && decided != Some(Decision::Allow)
        };
        self.provided.iter().all(is_known)
    }

    /// What nobody has decided about.
    pub(crate) fn undecided(&self) -> Vec<Provided> {
        let is_open = |provided: &&Provided| self.decisions.about(&provided.fingerprint).is_none();
        self.provided.iter().filter(is_open).cloned().collect()
    }

    /// Whether a skill may run commands.
    pub(crate) fn may_run(&self, skill: &Skill) -> bool {
        trust::skill_may_run(skill, &self.provided, &self.decisions, &self.workspace)
    }
}

impl Shelf {
    pub(crate) fn fill(&self, found: Found, is_whole: bool) {
        let stock = Stock {
            skills: found.skills,
            agents: found.agents,
            notes: found.notes,
            decisions: found.decisions,
            provided: found.provided,
            workspace: found.workspace,
            is_whole,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(stock));
    }

    pub(crate) fn empty(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether nothing was put there yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    pub(crate) fn is_filled(&self) -> bool {
        self.stock().is_whole
    }

    /// All there is; nothing before it was found.
    pub(crate) fn stock(&self) -> Arc<Stock> {
        let stock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stock.clone().unwrap_or_default()
    }
}
