//! What people add to an agent, and how it is found.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use deft_executor::{Client, RequestError};
use deft_skills::{
    AGENT_FOLDERS, AgentDefinition, Files, MEMORY_FILE, MEMORY_FOLDER, PLUGIN_FOLDERS, PROJECT_FOLDERS,
    Skills, agent_file_names, memory, without_doubles,
};
use deft_store::{Store, StoreError};
use deft_workspace::{Glance, Workspace};
use serde_json::{Map, Value};

use crate::actor::{ConnectError, connected};
use crate::brief::Brief;
use crate::hooks::HookConfig;
use crate::plugin_servers;
use crate::skills::SkillSources;
use crate::trust::{self, Decisions, HOOKS_FILE, Provided};

/// The folder of a project that holds its notes.
const OPENHANDS: &str = ".openhands";
/// How the names of files end that are read.
const ENDINGS: [&str; 2] = [".md", ".json"];

/// Bytes of a script that a decision is bound to: as many as the command line reads of a file.
const MAX_SCRIPT: u64 = 1024 * 1024;

/// What the user and the project add to the agent of a conversation.
#[derive(Clone, Default)]
pub struct Extensions {
    /// Instructions for certain kinds of work. Without any sources the agent knows nothing of skills.
    pub skills: Option<SkillSources>,
    /// What runs when the agent does something.
    pub hooks: HookConfig,
    /// Whether the project's hooks run as well, once they are trusted.
    pub project_hooks: OfProject,
    /// Agents that can be given tasks, beside those that the project defines.
    pub agents: Vec<AgentDefinition>,
    /// What is said to the agent beside its tasks.
    pub brief: Brief,
    /// What was noted in earlier conversations.
    pub notes: Notes,
}

/// Notes of earlier conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Notes {
    /// They stand in the prompt, those of the project and these of the user.
    Used {
        /// The user's own, if there are any.
        of_user: Option<String>,
    },
    /// They do not.
    #[default]
    LeftOut,
}

/// Whether something of the workspace counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfProject {
    /// It does.
    Used,
    /// It does not.
    #[default]
    LeftOut,
}

/// All that was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) skills: Skills,
    pub(crate) hooks: HookConfig,
    pub(crate) agents: Vec<AgentDefinition>,
    /// MCP servers of plugins and microagents, by name.
    pub(crate) servers: Map<String, Value>,
    /// What people have decided about things of the project.
    pub(crate) decisions: Decisions,
    /// What the project brings along that would run if somebody agreed, decided about or not.
    pub(crate) provided: Vec<Provided>,
    /// The workspace, as its executor names it.
    pub(crate) workspace: String,
    /// Notes of earlier conversations, as a part of the prompt.
    pub(crate) notes: Option<String>,
}

/// Why the files of a workspace cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("it takes too long")]
    TooLong,
}

/// How long reading the files of a workspace may take that is there. To make it may take as long as its kind allows.
const READ_LIMIT: Duration = Duration::from_mins(1);

impl Extensions {
    /// Whether anything of the workspace counts.
    pub(crate) fn reads_project(&self) -> bool {
        let skills = self.skills.as_ref().map(|skills| skills.project);
        skills == Some(OfProject::Used)
            || self.project_hooks == OfProject::Used
            || self.notes != Notes::LeftOut
    }

    /// What was brought along.
    pub(crate) fn own(&self) -> Found {
        let sources = self.skills.as_ref();
        Found {
            skills: sources
                .map(|sources| sources.joined(Skills::default()))
                .unwrap_or_default(),
            hooks: self.hooks.clone(),
            agents: self.agents.clone(),
            notes: self.noted(None),
            ..Found::default()
        }
    }

    /// The notes that are used, with those of the project.
    fn noted(&self, project: Option<&str>) -> Option<String> {
        match &self.notes {
            Notes::Used { of_user } => memory(of_user.as_deref(), project),
            Notes::LeftOut => None,
        }
    }

    /// What was brought along, and what is in the workspace, which only the executor reads.
    pub(crate) async fn find(
        &self,
        workspace: &dyn Workspace,
        store: &dyn Store,
    ) -> Result<Found, FindError> {
        let mut found = self.own();
        let Some(files) = Gathered::at_a_glance(workspace).await? else {
            return Ok(found);
        };
        found.workspace.clone_from(&files.workspace);
        found.notes = self.noted(files.notes().as_deref());
        found.decisions = Decisions::load(store).await?;
        if let Some(sources) = self
            .skills
            .as_ref()
            .filter(|skills| skills.project == OfProject::Used)
        {
            let skills = trust::skills_of_project(&files, &found.workspace, files.repository.clone());
            found.skills = sources.joined(skills);
        }
        let running = found.skills.all().iter();
        let running = running.filter_map(|skill| trust::of_skill(&files, skill, &found.workspace));
        let running: Vec<_> = running.collect();
        if self.project_hooks == OfProject::Used {
            found.add_hooks(&files);
            found.add_agents(&files);
            found.add_servers(&files);
            found.add_servers_of_skills(&running);
        }
        found.provided.extend(running);
        Ok(found)
    }
}

impl Found {
    /// Adds the hooks of the project and its plugins, those that may run.
    fn add_hooks(&mut self, files: &Gathered) {
        for (text, provided) in trust::hooks(files, &self.workspace) {
            let may_run = self.decisions.allow(&provided.fingerprint);
            let path = provided.path.clone();
            self.provided.push(provided);
            if !may_run {
                continue;
            }
            let parsed = serde_json::from_str(&text).map_err(|error| error.to_string());
            match parsed.and_then(|value| HookConfig::parse_kept(&value).map_err(|error| error.to_string())) {
                Ok(hooks) => self.hooks = std::mem::take(&mut self.hooks).and(hooks),
                Err(error) => {
                    tracing::warn!(%error, path, "hooks of the project cannot be used");
                }
            }
        }
    }

    /// Adds the MCP servers of the project's plugins, those that may run.
    fn add_servers(&mut self, files: &Gathered) {
        for (text, provided) in trust::servers(files, &self.workspace) {
            if self.decisions.allow(&provided.fingerprint) {
                self.servers.extend(plugin_servers::programs(&text));
            }
            self.provided.push(provided);
        }
    }
}

impl Found {
    /// Adds the MCP servers of microagents: the user's own, and those of the project that may run.
    fn add_servers_of_skills(&mut self, provided: &[Provided]) {
        for skill in self.skills.all().iter().filter(|skill| !skill.servers.is_empty()) {
            if trust::skill_may_run(skill, provided, &self.decisions, &self.workspace) {
                self.servers
                    .extend(plugin_servers::programs_among(&skill.servers));
            }
        }
    }

    /// Adds the agents that the project defines, if they may be used.
    fn add_agents(&mut self, files: &Gathered) {
        let (defined, mut own) = (trust::agents(files, &self.workspace), Vec::new());
        for (agent, provided) in defined {
            if self.decisions.allow(&provided.fingerprint) {
                own.push(agent);
            }
            self.provided.push(provided);
        }
        self.agents = without_doubles(own.into_iter().chain(std::mem::take(&mut self.agents)));
    }
}

/// Files of a workspace that add something to agents, as its executor has sent them.
pub struct Gathered {
    texts: BTreeMap<String, Option<String>>,
    /// The top of the repository that the workspace is a part of, where that is another directory.
    repository: Option<String>,
    workspace: String,
}

impl Gathered {
    /// Has them sent by whoever sees them: the workspace is made only if nobody else does. None, where there are none yet.
    async fn at_a_glance(workspace: &dyn Workspace) -> Result<Option<Self>, FindError> {
        match workspace.glance().await.map_err(ConnectError::from)? {
            Glance::Nothing => Ok(None),
            Glance::Beside { stream, root } => {
                let client = Client::connect(stream).await.map_err(ConnectError::from)?;
                let files = Self::in_time(&client, Some(&root)).await;
                client.shutdown().await; // it has no other task
                files.map(Some)
            }
            Glance::Opened(stream) => {
                let client = match Client::connect(stream).await {
                    Err(_) => connected(workspace).await?, // it was just about to end itself
                    Ok(client) => client,
                };
                Self::in_time(&client, None).await.map(Some)
            }
        }
    }

    async fn in_time(client: &Client, root: Option<&str>) -> Result<Self, FindError> {
        let files = tokio::time::timeout(READ_LIMIT, Self::seen(client, root)).await;
        Ok(files.map_err(|_| FindError::TooLong)??)
    }

    /// As they are called from where their directory is `root` and nothing around it is seen.
    fn seen_from(self, root: &str) -> Self {
        let below = format!("{}/", self.workspace.trim_end_matches('/'));
        let texts = self.texts.into_iter();
        let texts =
            texts.filter_map(|(path, text)| Some((format!("{root}/{}", path.strip_prefix(&below)?), text)));
        Self {
            texts: texts.collect(),
            repository: None,
            workspace: root.to_owned(),
        }
    }

    /// Has them sent.
    pub async fn of_workspace(client: &Client) -> Result<Self, RequestError> {
        Self::seen(client, None).await
    }

    /// As they are called where their directory is `root`, if not where the client sees it.
    async fn seen(client: &Client, root: Option<&str>) -> Result<Self, RequestError> {
        let notes = format!("{OPENHANDS}/{MEMORY_FOLDER}");
        let own = [HOOKS_FILE, notes.as_str()];
        let folders = [PROJECT_FOLDERS, AGENT_FOLDERS, PLUGIN_FOLDERS, &own].concat();
        let gathered = client.gather(&agent_file_names(), &folders, &ENDINGS).await?;
        let texts = gathered.files.into_iter().map(|file| (file.path, file.text));
        let there = client.hello().workspace.clone();
        let mut files = Self {
            texts: texts.collect(),
            repository: gathered.repository,
            workspace: there.clone(),
        };
        if let Some(root) = root {
            files = files.seen_from(root);
        }
        for script in trust::scripts(&files, &files.workspace, files.repository.clone()) {
            let inside = script.strip_prefix(&files.workspace).unwrap_or(&script);
            if let Some(text) = read_script(client, &format!("{there}{inside}")).await {
                files.texts.insert(script, Some(text));
            }
        }
        Ok(files)
    }

    /// What earlier conversations have noted of the project.
    fn notes(&self) -> Option<String> {
        let roots = [Some(&self.workspace), self.repository.as_ref()];
        let mut roots = roots.into_iter().flatten();
        roots.find_map(|root| self.read(&format!("{root}/{OPENHANDS}/{MEMORY_FILE}")).ok())
    }
}

/// The text of a file, if it is there and a text.
async fn read_script(client: &Client, path: &str) -> Option<String> {
    let mut download = client.read(path, 0, Some(MAX_SCRIPT)).await.ok()?;
    let mut bytes = Vec::new();
    while let Some(piece) = download.next().await.ok()? {
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).ok()
}

impl Files for Gathered {
    fn list(&self, directory: &str) -> Vec<String> {
        let start = format!("{}/", directory.trim_end_matches('/'));
        let below = self.texts.keys().filter(|path| path.starts_with(&start));
        below.cloned().collect()
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let text = self.texts.get(path).ok_or(io::ErrorKind::NotFound)?;
        text.clone()
            .ok_or_else(|| io::Error::other("it is no text, or leads out of the workspace"))
    }
}
