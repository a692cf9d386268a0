//! What the conversations of a server are made of.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use deft_engine::{Memory, Mode, Models, SubAgentKind, SubAgents};
use deft_llm::{Finding, Found, LOCAL_PATIENCE, Model, discover, usual_places};
use deft_mcp::{Login, TokenStore};
use deft_server::{
    ClientModel, Composition, Demo, McpOutfit, McpTrial, McpTried, Offer, Packages, Place, Worktree,
};
use deft_skills::{AgentDefinition, Skill};
use deft_store::{ConversationRecord, Store};
use deft_types::{ConversationId, ToolSpec};
use deft_workspace::WorkspaceName;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::agents;
use crate::client_model;
use crate::compose;
use crate::demo;
use crate::mcp;
use crate::models::OLLAMA_HOST;
use crate::settings::{Settings, Surroundings};
use crate::skills;
use crate::workspace::{self, Pool};
use crate::worktree;

/// The parts of conversations, made as the user's settings say.
pub(super) struct Parts {
    settings: RwLock<Arc<Settings>>,
    /// Workspaces that are ready.
    pub(super) pool: Option<Pool>,
    /// Where the server was started.
    folder: PathBuf,
    /// Where Ollama is, if that was said.
    ollama_host: Option<String>,
}

impl Parts {
    pub(super) fn new(settings: Settings, surroundings: &Surroundings) -> anyhow::Result<Self> {
        let ollama_host = surroundings.env.get(OLLAMA_HOST);
        let settings = Arc::new(settings);
        Ok(Self {
            pool: Pool::new(Arc::clone(&settings))?,
            settings: RwLock::new(settings),
            ollama_host: ollama_host.filter(|host| !host.is_empty()).cloned(),
            folder: surroundings.current_dir.clone(),
        })
    }

    /// Those in force.
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says what the sandbox of a directory cannot keep up here, unless agents work elsewhere.
    pub(super) fn tell_gaps(&self) {
        let settings = self.settings();
        if let None | Some(WorkspaceName::Sandbox(_)) = settings.workspace.value {
            let gaps = workspace::gaps(&settings, &self.folder);
            gaps.iter().for_each(compose::tell);
        }
    }

    /// From now on others count, for whatever is opened.
    pub(super) fn replace(&self, mut settings: Settings) {
        settings.data_dir = self.settings().data_dir.clone(); // the store is open there
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        tracing::info!("the settings were read again");
    }
}

impl Composition for Parts {
    fn model(&self, wanted: &ClientModel) -> Result<Arc<dyn Model>, String> {
        client_model::open(wanted, &self.settings()).map_err(|error| crate::output::one_sentence(&error))
    }

    fn memory(&self) -> Memory {
        compose::memory(&self.settings())
            .inspect_err(|error| tracing::warn!(%error, "summaries are written by the agent's own model"))
            .unwrap_or_default()
    }

    fn title_model(&self) -> Option<Arc<dyn Model>> {
        let settings = self.settings();
        compose::named(&settings, &settings.title_model, "title_model")
            .inspect_err(|error| tracing::warn!(%error, "titles are not asked of the model that is set"))
            .ok()?
    }

    fn resolve(&self, name: WorkspaceName) -> Result<String, String> {
        // The sandbox is whoever started the server's to give up.
        let is_given_up = matches!(self.settings().workspace.value, Some(WorkspaceName::Local(_)));
        if matches!(name, WorkspaceName::Local(_)) && !is_given_up {
            return Err(
                "This server does not give up the sandbox for a client: name a path, or have whoever runs it set \
                 `workspace` to local:PATH"
                    .to_owned(),
            );
        }
        let name = workspace::resolve(name).map_err(|error| crate::output::one_sentence(&error))?;
        Ok(workspace::kept(&name))
    }

    fn ready(&self, workspace: &str) -> Option<ConversationId> {
        self.pool.as_ref()?.take(workspace)
    }

    fn own_copy<'a>(
        &'a self,
        id: ConversationId,
        root: &'a Path,
        wanted: &'a Worktree,
        beneath: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<Option<PathBuf>, String>> {
        async move {
            let made = worktree::make(&self.settings(), id, root, wanted, beneath).await;
            made.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn place(&self, id: ConversationId, root: &Path) -> Result<Place, String> {
        let (workspace, tools) = compose::place(&self.settings(), id, root)
            .map_err(|error| crate::output::one_sentence(&error))?;
        Ok(Place { workspace, tools })
    }

    fn forget(&self, id: ConversationId) -> Result<(), String> {
        let removed = crate::workspace::remove(&self.settings(), id);
        removed.map_err(|error| crate::output::one_sentence(&error))
    }

    fn remove<'a>(&'a self, id: ConversationId, root: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let settings = self.settings();
            let removed = async {
                worktree::remove(&settings, id).await?;
                workspace::left::remove(&root.display().to_string(), &settings, id).await
            };
            removed.await.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn pause<'a>(&'a self, id: ConversationId, root: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let settings = self.settings();
            let paused = async {
                worktree::keep(&settings, id).await?;
                workspace::unused::pause(&root.display().to_string(), &settings, id).await
            };
            paused.await.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn collect_orphans<'a>(&'a self, store: &'a dyn Store) -> BoxFuture<'a, Result<Vec<String>, String>> {
        async move {
            let settings = self.settings();
            let collected = async {
                let mut removed = worktree::collect(&settings, store).await?;
                removed.extend(workspace::unused::collect(&settings, store).await?);
                anyhow::Ok(removed)
            };
            collected
                .await
                .map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn place_to_plan(&self, id: ConversationId, root: &Path) -> Result<Place, String> {
        let (workspace, tools) = compose::place_in(Mode::Plan, &self.settings(), id, root)
            .map_err(|error| crate::output::one_sentence(&error))?;
        Ok(Place { workspace, tools })
    }

    fn models(&self) -> Option<Arc<dyn Models>> {
        Some(compose::named_models(&self.settings()))
    }

    fn agents(
        &self,
        store: &Arc<dyn Store>,
        parent: &ConversationRecord,
        model: &ClientModel,
        tools: &[ToolSpec],
        servers: &McpOutfit,
    ) -> Option<Arc<dyn SubAgents>> {
        Some(agents::Helpers::of_client(
            &self.settings(),
            store,
            parent,
            model,
            tools,
            servers,
        ))
    }

    fn tools(&self) -> Vec<ToolSpec> {
        compose::tools_of_workspaces(&self.settings()).unwrap_or_default()
    }

    fn skills(&self) -> Vec<Skill> {
        skills::of_user()
    }

    fn built_in_agents(&self) -> Vec<SubAgentKind> {
        agents::built_in()
    }

    fn users_agents(&self) -> Vec<AgentDefinition> {
        agents::of_user()
    }

    fn packages(&self) -> Option<Arc<dyn Packages>> {
        let surroundings = Surroundings::of_this_process().ok()?;
        Some(Arc::new(skills::installed(&surroundings)?))
    }

    fn try_mcp<'a>(
        &'a self,
        root: &'a Path,
        trial: McpTrial<'a>,
    ) -> BoxFuture<'a, Result<Option<McpTried>, String>> {
        async move {
            let tried = mcp::trial::one(&self.settings(), root, trial).await;
            tried.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn ca_file(&self) -> Option<PathBuf> {
        self.settings().ca_file.value.clone()
    }

    fn login_mcp<'a>(
        &'a self,
        servers: &'a Value,
        redirect: &'a str,
        tokens: Arc<dyn TokenStore>,
    ) -> BoxFuture<'a, Result<Login, String>> {
        async move {
            let begun = mcp::trial::login(&self.settings(), servers, redirect, tokens).await;
            begun.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn mcp(
        &self,
        place: (ConversationId, &Path),
        servers: &Value,
        variable: &dyn Fn(&str) -> Option<String>,
        tokens: Arc<dyn TokenStore>,
    ) -> Result<McpOutfit, String> {
        let named = compose::servers_of_client(&self.settings(), place, servers, variable, tokens);
        named.map_err(|error| crate::output::one_sentence(&error))
    }

    fn offer(&self) -> Offer {
        let settings = self.settings();
        Offer {
            model: settings.model.value.clone(),
            models: settings.models.keys().cloned().collect(),
            folder: match &settings.workspace.value {
                None => self.folder.display().to_string(),
                Some(name) => workspace::kept(&workspace::resolve(name.clone()).unwrap_or(name.clone())),
            },
        }
    }

    fn check<'a>(&'a self, wanted: &'a ClientModel) -> BoxFuture<'a, Result<Vec<Finding>, String>> {
        async move {
            let checked = client_model::check(wanted, &self.settings()).await;
            checked.map_err(|error| crate::output::one_sentence(&error))
        }
        .boxed()
    }

    fn local_models(&self) -> BoxFuture<'_, Vec<Found>> {
        let places = usual_places(self.ollama_host.as_deref());
        discover(places, LOCAL_PATIENCE).boxed()
    }

    fn demo(&self) -> Result<Demo, String> {
        let folder = demo::new_project().map_err(|error| crate::output::one_sentence(&error))?;
        Ok(Demo {
            folder: folder.display().to_string(),
            task: demo::TASK.to_owned(),
        })
    }
}
