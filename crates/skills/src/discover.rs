//! Where skills are looked for, in the order in which they count.

use std::collections::HashSet;

use crate::files::{Files, below, directory_of, name_of};
use crate::plugin::PLUGIN_FOLDERS;
use crate::problem::{Fault, Problem};
use crate::skill::{Kind, Origin, Skill, is_skill_file};

/// Skills that are kept.
const MAX_SKILLS: usize = 500;
/// Folders of a project that hold skills.
pub const PROJECT_FOLDERS: &[&str] = &[".agents/skills", ".openhands/skills", ".openhands/microagents"];
/// Folders of a user's directory that hold skills.
const USER_FOLDERS: &[&str] = &["skills", "microagents"];
/// Files that agents read, each with the name of the skill that it becomes.
const AGENT_FILES: &[(&str, &str)] = &[
    ("agents.md", "agents"),
    ("agent.md", "agents"),
    (".cursorrules", "cursorrules"),
    ("claude.md", "claude"),
    ("gemini.md", "gemini"),
    (".openhands_instructions", "openhands_instructions"),
];

/// The names of files that agents read, in small letters, wherever in a project they are.
pub fn agent_file_names() -> Vec<&'static str> {
    AGENT_FILES.iter().map(|(file, _)| *file).collect()
}

/// The directories to look in.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// The directory that is worked in.
    pub workspace: Option<String>,
    /// The top of its repository, where that is another one.
    pub repository: Option<String>,
    /// The user's home directory.
    pub home: Option<String>,
    /// Directories of the user's own files, such as `~/.deft`, the one that counts most first.
    pub user: Vec<String>,
}

/// What was found so far.
pub(crate) struct Found<'f, F> {
    pub(crate) files: &'f F,
    pub(crate) skills: Vec<Skill>,
    pub(crate) problems: Vec<Problem>,
    /// Texts of files for agents: one that is a link to another counts once.
    texts: HashSet<String>,
}

/// Looks everywhere.
pub(crate) fn discover<'f, F: Files>(files: &'f F, roots: &Roots) -> Found<'f, F> {
    let mut found = Found::nothing(files);
    let project: Vec<_> = roots.workspace.iter().chain(&roots.repository).collect();
    if let Some(workspace) = &roots.workspace {
        found.agent_files(workspace, Nested::Included);
    }
    if let Some(repository) = &roots.repository {
        found.agent_files(repository, Nested::LeftOut);
    }
    for root in &project {
        for folder in PROJECT_FOLDERS {
            found.folder(&format!("{root}/{folder}"), Origin::Project);
        }
        for folder in PLUGIN_FOLDERS {
            found.plugins(&format!("{root}/{folder}"), Origin::Project);
        }
    }
    if let Some(home) = &roots.home {
        found.folder(&format!("{home}/.agents/skills"), Origin::User);
    }
    for user in &roots.user {
        for folder in USER_FOLDERS {
            found.folder(&format!("{user}/{folder}"), Origin::User);
        }
    }
    if let Some(home) = &roots.home {
        found.plugins(&format!("{home}/.agents/plugins"), Origin::User);
    }
    for user in &roots.user {
        found.plugins(&format!("{user}/plugins"), Origin::User);
    }
    found
}

/// Whether files in folders count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nested {
    Included,
    LeftOut,
}

impl<'f, F: Files> Found<'f, F> {
    pub(crate) fn nothing(files: &'f F) -> Self {
        Self {
            files,
            skills: Vec::new(),
            problems: Vec::new(),
            texts: HashSet::new(),
        }
    }

    /// `AGENTS.md` and its relatives: always read at the top, below when a file beside them is touched.
    fn agent_files(&mut self, root: &str, nested: Nested) {
        let mut listed = self.files.tracked(root);
        listed.sort_by_key(|path| (path.matches('/').count(), path.clone()));
        for (file, name) in AGENT_FILES {
            for path in listed
                .iter()
                .filter(|path| name_of(path).eq_ignore_ascii_case(file))
            {
                let Some(relative) = below(path, root) else {
                    continue;
                };
                let folder = directory_of(relative);
                if folder.split('/').any(|part| part.starts_with('.')) {
                    continue; // not part of the project's own files
                }
                if nested == Nested::LeftOut && !folder.is_empty() {
                    continue;
                }
                self.agent_file(path, name, folder);
            }
        }
    }

    fn agent_file(&mut self, path: &str, name: &str, folder: &str) {
        let Some(text) = self.read(path) else {
            return;
        };
        if !self.texts.insert(format!("{folder}\n{text}")) {
            return;
        }
        let name = if folder.is_empty() {
            name.to_owned()
        } else {
            format!("{name}:{folder}")
        };
        let Some(mut skill) = self.parse(path, &text, &name, Origin::Project) else {
            return;
        };
        if !folder.is_empty() {
            skill.kind = Kind::PathRule;
            skill.paths = vec![format!("/{folder}/**")];
        }
        self.keep(skill);
    }

    /// A folder of skills: `NAME/SKILL.md` with what belongs to it, and single files.
    pub(crate) fn folder(&mut self, folder: &str, origin: Origin) {
        let mut listed = self.files.list(folder);
        listed.sort();
        let homes: Vec<String> = listed
            .iter()
            .filter(|path| is_skill_file(path))
            .map(|path| directory_of(path).to_owned())
            .collect();
        for path in &listed {
            let is_markdown = path.len() > 3 && path.to_lowercase().ends_with(".md");
            let belongs_to_other =
                homes.iter().any(|home| below(path, home).is_some()) && !is_skill_file(path);
            if !is_markdown || belongs_to_other || name_of(path).eq_ignore_ascii_case("readme.md") {
                continue;
            }
            let relative = below(path, folder).unwrap_or(path);
            let name = relative[..relative.len() - 3].to_owned();
            if let Some(text) = self.read(path)
                && let Some(mut skill) = self.parse(path, &text, &name, origin)
            {
                if is_skill_file(path) {
                    let home = directory_of(path);
                    let own = listed.iter().filter_map(|other| below(other, home));
                    let is_resource = |file: &&str| {
                        ["scripts/", "references/", "assets/"]
                            .iter()
                            .any(|start| file.starts_with(start))
                    };
                    skill.resources = own.filter(is_resource).map(str::to_owned).collect();
                }
                self.keep(skill);
            }
        }
    }

    pub(crate) fn read(&mut self, path: &str) -> Option<String> {
        match self.files.read(path) {
            Ok(text) => Some(text),
            Err(error) => {
                let reason = error.to_string();
                self.complain(path, Fault::Unreadable { reason });
                None
            }
        }
    }

    pub(crate) fn parse(&mut self, path: &str, text: &str, name: &str, origin: Origin) -> Option<Skill> {
        match Skill::parse(path, text, name, origin) {
            Ok((skill, faults)) => {
                for fault in faults {
                    self.complain(path, fault);
                }
                Some(skill)
            }
            Err(fault) => {
                self.complain(path, fault);
                None
            }
        }
    }

    /// The first of a name counts.
    pub(crate) fn keep(&mut self, skill: Skill) {
        if let Some(winner) = self.skills.iter().find(|other| other.name == skill.name) {
            let (name, winner) = (skill.name.clone(), winner.path.clone());
            if winner != skill.path {
                self.complain(&skill.path, Fault::Shadowed { name, winner });
            }
        } else if self.skills.len() >= MAX_SKILLS {
            self.complain(&skill.path, Fault::TooMany { limit: MAX_SKILLS });
        } else {
            self.skills.push(skill);
        }
    }

    fn complain(&mut self, path: &str, fault: Fault) {
        self.problems.push(Problem {
            path: path.to_owned(),
            fault,
        });
    }
}
