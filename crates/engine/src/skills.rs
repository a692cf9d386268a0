//! The skills of a conversation: those of its workspace, which only the executor reads, and those brought along.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use deft_executor::{GatheredFile, RequestError};
use deft_skills::{Files, PROJECT_FOLDERS, Roots, Skill, Skills, agent_file_names};
use deft_workspace::Workspace;

use crate::actor::{ConnectError, connected};

/// How the names of files end that may hold a skill.
const ENDING: &str = ".md";

/// Where the skills of a conversation come from.
#[derive(Clone, Debug, Default)]
pub struct SkillSources {
    /// Whether those of the workspace count.
    pub project: ProjectSkills,
    /// Others, which count where the workspace has none of the same name.
    pub others: Vec<Skill>,
    /// The names of those that somebody does not want.
    pub disabled: Vec<String>,
}

/// Whether the skills of a workspace count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectSkills {
    /// They do.
    Used,
    /// They do not.
    #[default]
    LeftOut,
}

/// Why the skills of a workspace cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindSkillsError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// The skills as the tools of a conversation know them.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Option<Arc<Skills>>>>);

impl Shelf {
    pub(crate) fn fill(&self, skills: Skills) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(skills));
    }

    pub(crate) fn is_filled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// All there are; none before they were found.
    pub(crate) fn skills(&self) -> Arc<Skills> {
        let shelf = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.clone().unwrap_or_default()
    }
}

impl SkillSources {
    /// All of them, with those of the workspace or without.
    pub(crate) fn joined(&self, project: Skills) -> Skills {
        project.and(self.others.iter().cloned()).without(&self.disabled)
    }

    /// Reads those of the workspace, if they count, and puts the others behind them.
    pub(crate) async fn find(&self, workspace: &dyn Workspace) -> Result<Skills, FindSkillsError> {
        let project = match self.project {
            ProjectSkills::Used => of_workspace(workspace).await?,
            ProjectSkills::LeftOut => Skills::default(),
        };
        Ok(self.joined(project))
    }
}

/// The skills of a workspace, read by its executor. What is wrong with others `deft skills` tells.
async fn of_workspace(workspace: &dyn Workspace) -> Result<Skills, FindSkillsError> {
    let client = connected(workspace).await?;
    let gathered = client
        .gather(&agent_file_names(), PROJECT_FOLDERS, &[ENDING])
        .await?;
    let roots = Roots {
        workspace: Some(client.hello().workspace.clone()),
        ..Roots::default()
    };
    Ok(Skills::load(&Gathered::from(gathered), &roots).0)
}

/// Files that an executor has sent.
struct Gathered(BTreeMap<String, Option<String>>);

impl From<Vec<GatheredFile>> for Gathered {
    fn from(files: Vec<GatheredFile>) -> Self {
        Self(files.into_iter().map(|file| (file.path, file.text)).collect())
    }
}

impl Files for Gathered {
    fn list(&self, directory: &str) -> Vec<String> {
        let start = format!("{}/", directory.trim_end_matches('/'));
        let below = self.0.keys().filter(|path| path.starts_with(&start));
        below.cloned().collect()
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let text = self.0.get(path).ok_or(io::ErrorKind::NotFound)?;
        text.clone()
            .ok_or_else(|| io::Error::other("it is no text, or leads out of the workspace"))
    }
}
