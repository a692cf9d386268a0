//! The skills of a conversation.

use std::collections::BTreeSet;

use crate::agent::{AgentDefinition, is_agent_file};
use crate::catalogue;
use crate::discover::{Roots, discover};
use crate::dynamic::Invoked;
use crate::files::{Files, below, directory_of, name_of};
use crate::glob;
use crate::inject::{self, Injection};
use crate::problem::{Fault, Problem};
use crate::registry::Offer;
use crate::skill::{Kind, Origin, Skill, is_skill_file};
use crate::trigger;

/// Characters of the skills that stand in an agent's prompt because its definition names them.
const MAX_PRELOADED: usize = 100_000;

/// All that were found, the ones that count most first.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    all: Vec<Skill>,
    workspace: String,
}

impl Skills {
    /// Finds and reads all skills. What is wrong with single files is told beside.
    pub fn load(files: &impl Files, roots: &Roots) -> (Self, Vec<Problem>) {
        let found = discover(files, roots);
        let skills = Self {
            all: found.skills,
            workspace: roots.workspace.clone().unwrap_or_default(),
        };
        (skills, found.problems)
    }

    /// All of them.
    pub fn all(&self) -> &[Skill] {
        &self.all
    }

    /// The skill of this name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.all.iter().find(|skill| skill.name == name)
    }

    /// Of these, which count where none of the same name is there already.
    #[must_use]
    pub fn and(mut self, others: impl IntoIterator<Item = Skill>) -> Self {
        for other in others {
            if self.get(&other.name).is_none() {
                self.all.push(other);
            }
        }
        self
    }

    /// Without those that somebody does not want.
    #[must_use]
    pub fn without(mut self, names: &[String]) -> Self {
        self.all.retain(|skill| !names.contains(&skill.name));
        self
    }

    /// The instructions that always count, as a part of the prompt.
    pub fn repo_context(&self) -> Option<String> {
        let always = self.all.iter().filter(|skill| skill.kind == Kind::Repo);
        catalogue::repo_context(always.collect::<Vec<_>>().as_slice(), |path| self.shown(path))
    }

    /// The skills that a model can ask for, as a part of the prompt.
    pub fn catalogue(&self) -> Option<String> {
        let listed: Vec<_> = self.all.iter().filter(|skill| is_offered(skill)).collect();
        catalogue::catalogue(&listed)
    }

    /// What a message brings in. A skill that is among `already` stays out, unless what is said behind its word is a part
    /// of it.
    pub fn triggered_by(&self, text: &str, already: &BTreeSet<String>) -> Vec<Injection> {
        let said = |skill: &Skill| {
            let mut triggers = skill.triggers.iter();
            triggers.find_map(|trigger| Some((trigger.clone(), trigger::behind(trigger, text)?)))
        };
        // What depends on the message is another text each time.
        let is_new = |skill: &Skill| !already.contains(&skill.name) || inject::takes_arguments(skill);
        self.all
            .iter()
            .filter(|skill| skill.kind != Kind::PathRule && is_new(skill))
            .filter_map(|skill| {
                let (keyword, rest) = said(skill)?;
                Some(inject::triggered(skill, keyword, rest, &self.shown(&skill.path)))
            })
            .collect()
    }

    /// Whether touching a file may bring in something that is not among `already`.
    pub fn has_path_rules(&self, already: &BTreeSet<String>) -> bool {
        let is_new = |skill: &Skill| skill.kind == Kind::PathRule && !already.contains(&skill.name);
        self.all.iter().any(is_new)
    }

    /// What touching a file brings in.
    pub fn for_path(&self, path: &str, already: &BTreeSet<String>) -> Vec<Injection> {
        let relative = match below(path, &self.workspace) {
            Some(relative) => relative,
            None if path.starts_with('/') => return Vec::new(),
            None => path.trim_start_matches("./"),
        };
        let touches = |skill: &&Skill| skill.paths.iter().any(|pattern| glob::fits(pattern, relative));
        self.all
            .iter()
            .filter(|skill| skill.kind == Kind::PathRule && !already.contains(&skill.name))
            .filter(touches)
            .map(|skill| inject::touched(skill, relative, &self.shown(&skill.path)))
            .collect()
    }

    /// The texts of skills that an agent is to have from the beginning, and what is to be said of those that it does
    /// not get.
    pub fn preloaded(&self, names: &[String]) -> (Vec<String>, Vec<String>) {
        let (mut texts, mut problems, mut length) = (Vec::new(), Vec::new(), 0);
        for name in names {
            let Some(skill) = self.get(name) else {
                problems.push(format!("There is no skill named '{name}'."));
                continue;
            };
            let text = inject::preloaded(skill, &self.shown(&skill.path)).text;
            length += text.len();
            if length > MAX_PRELOADED {
                problems.push(format!("The skill '{name}' is too long to stand in the prompt."));
            } else {
                texts.push(text);
            }
        }
        (texts, problems)
    }

    /// The skill of this name, if a model may ask for it.
    pub fn offered(&self, name: &str) -> Option<&Skill> {
        self.get(name).filter(|skill| is_offered(skill))
    }

    /// What a model can ask for, as the registry tells it.
    pub fn offers(&self) -> Vec<Offer<'_>> {
        let offered = self.all.iter().filter(|skill| is_offered(skill));
        offered.map(Skill::offer).collect()
    }

    /// The text of a skill that a model asked for. Commands in it are marked, not run.
    pub fn invoke(&self, skill: &Skill) -> Invoked {
        inject::invoked(skill, &self.shown(skill.folder()))
    }

    /// A path as seen from the workspace.
    fn shown(&self, path: &str) -> String {
        below(path, &self.workspace).unwrap_or(path).to_owned()
    }
}

/// Whether a model may ask for it.
fn is_offered(skill: &Skill) -> bool {
    match skill.kind {
        Kind::Agent | Kind::Knowledge | Kind::Task => !skill.disable_model_invocation,
        Kind::Repo | Kind::PathRule => false,
    }
}

/// What is wrong with one skill: a file, or a folder with a `SKILL.md`; or with all in the folders below.
pub fn validate(files: &impl Files, path: &str) -> Vec<Problem> {
    let path = path.trim_end_matches('/');
    let mut below = files.list(path);
    below.retain(|file| is_skill_file(file) && file != path);
    let own = below.iter().find(|file| directory_of(file) == path);
    if own.is_none() && !below.is_empty() {
        return below.iter().flat_map(|file| validate(files, file)).collect();
    }
    let file = own.map_or(path, String::as_str).to_owned();
    if files.read(&file).is_ok_and(|text| text.trim().is_empty()) {
        let fault = Fault::Empty;
        return vec![Problem { path: file, fault }];
    }
    if is_agent_file(&file) && !is_skill_file(&file) {
        return AgentDefinition::read(files, &file, Origin::Project)
            .err()
            .into_iter()
            .collect();
    }
    let faults = match files.read(&file) {
        Ok(text) => match Skill::parse(&file, &text, name_of(&file), Origin::Project) {
            Ok((_, faults)) => faults,
            Err(fault) => vec![fault],
        },
        Err(error) => vec![Fault::Unreadable {
            reason: error.to_string(),
        }],
    };
    faults
        .into_iter()
        .map(|fault| Problem {
            path: file.clone(),
            fault,
        })
        .collect()
}
