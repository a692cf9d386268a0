//! Agents that are given tasks by other agents.

pub(crate) mod defined;
mod kind;
pub(crate) mod own_branch;
mod unfinished;

use std::sync::Arc;

use deft_engine::{BegunTask, Mode, Order, OwnBranch, SubAgent, SubAgentKind, SubAgents, usage_of_task};
use deft_server::{ClientModel, McpOutfit, children_of, note_child};
use deft_skills::{AgentDefinition, Origin, Problem, agents_in, agents_of_plugins, without_doubles};
use deft_store::{ConversationRecord, Store, StoreError};
use deft_tools::Preset;
use deft_types::{ConversationId, Isolation, Money, ToolSpec};
use deft_workspace::WorkspaceName;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use uuid::Uuid;

use self::kind::{KINDS, Kind, looks_only};
use self::own_branch::Copy;
use crate::client_model;
use crate::compose::{self, Opened};
use crate::settings::{Settings, Surroundings, USER_DIR};
use crate::skills::Disk;

/// The beginning of a task's id; its conversation's id follows.
const ID_PREFIX: &str = "task_";

/// Levels of agents whose logs are read.
const MAX_LEVELS: u32 = 8;

/// Tools that can do all that those can do which only look.
const READERS: [&str; 2] = ["terminal", "file_editor"];

/// Starts agents for the conversation of another.
pub(crate) struct Helpers {
    settings: Settings,
    store: Arc<dyn Store>,
    parent: ConversationRecord,
    depth: u32,
    /// The parent's tools: nobody below it has others.
    tools: Vec<String>,
    /// What their model is, where a client of the server has said it.
    model: Option<ClientModel>,
    /// The MCP servers of a conversation of the server; the user's own otherwise.
    servers: Option<McpOutfit>,
}

impl Helpers {
    /// Those of a conversation.
    pub(crate) fn of(
        settings: &Settings,
        store: &Arc<dyn Store>,
        parent: &ConversationRecord,
        depth: u32,
        tools: &[ToolSpec],
        (servers, model): (Option<McpOutfit>, Option<ClientModel>),
    ) -> Arc<dyn SubAgents> {
        Arc::new(Self {
            settings: settings.clone(),
            store: store.clone(),
            parent: parent.clone(),
            depth,
            tools: names_of(tools),
            model,
            servers,
        })
    }

    /// Those of a conversation of the server, whose model a client has named.
    pub(crate) fn of_client(
        settings: &Settings,
        store: &Arc<dyn Store>,
        parent: &ConversationRecord,
        model: &ClientModel,
        tools: &[ToolSpec],
        servers: &McpOutfit,
    ) -> Arc<dyn SubAgents> {
        Arc::new(Self {
            settings: settings.clone(),
            store: store.clone(),
            parent: parent.clone(),
            depth: 0,
            tools: names_of(tools),
            model: Some(model.clone()),
            servers: Some(servers.clone()),
        })
    }

    /// The model that is set for agents with tasks, else the one of whoever gives the task.
    async fn model(&self, settings: &Settings) -> anyhow::Result<Opened> {
        match (&settings.agents_model.value, &self.model) {
            (Some(name), _) => compose::open_model(name, settings),
            (None, Some(wanted)) => Ok(Opened {
                name: wanted.llm["model"].as_str().unwrap_or_default().to_owned(),
                model: client_model::open(wanted, settings)?,
            }),
            (None, None) => compose::model_for(settings, self.store.as_ref(), Some(self.parent.id)).await,
        }
    }

    /// The MCP servers of whoever gives the task, held to what they were there.
    async fn servers(&self) -> anyhow::Result<Option<McpOutfit>> {
        let Some(servers) = self.servers.clone() else {
            return Ok(None);
        };
        let above = deft_engine::load(self.store.as_ref(), self.parent.id).await?;
        Ok(Some(servers.held_to(&above.seen_servers())))
    }

    /// Opens the conversation of an agent. One that cannot be opened, or is not wanted any more, leaves nothing behind.
    async fn start(&self, order: Order<'_>) -> anyhow::Result<SubAgent> {
        let record = self.conversation(order.resume, order.isolation).await?;
        let started = tokio::select! {
            started = self.start_in(&record, &order) => started,
            () = order.cancel.cancelled() => Err(anyhow::anyhow!("it was stopped")),
        };
        if started.is_err() && order.resume.is_none() {
            let removed = unfinished::remove(&self.settings, self.store.as_ref(), &record).await;
            if let Err(error) = removed {
                tracing::warn!(%error, id = %record.id, "what was begun of a task cannot be removed");
            }
        }
        started
    }

    async fn start_in(&self, record: &ConversationRecord, order: &Order<'_>) -> anyhow::Result<SubAgent> {
        let definition = order.definition;
        let task_id = task_id(record.id);
        let own_branch = if Copy::is_place_of(&record.workspace, record.id) {
            let (parent, own) = (
                (&*self.parent.workspace, self.parent.id),
                (&*record.workspace, record.id),
            );
            let copy = Copy::make(&self.settings, parent, own, &task_id).await?;
            Some(Box::new(copy) as Box<dyn OwnBranch>)
        } else {
            None
        };
        let mut settings = self.settings.clone();
        let model = match definition {
            Some(definition) => self.restrict(&mut settings, definition).await?,
            None => self.model(&settings).await?,
        };
        let preset = Preset::for_model(&model.model.profile().name);
        let kind = Kind::find(order.kind);
        let has = |tool: &str| {
            let of_kind = match definition {
                Some(definition) if !definition.tools.is_empty() => {
                    definition.tools.iter().any(|name| name == tool)
                }
                _ => kind.map_or_else(|| preset.has(tool), |kind| kind.has(tool, preset)),
            };
            of_kind && self.allows(tool)
        };
        let store = self.store.clone();
        let conversation = Box::pin(compose::open_as(
            &settings,
            store,
            model,
            record,
            compose::Role {
                has: &has,
                depth: self.depth + 1,
                above: Some(order.above.clone()),
                mode: Mode::Act,
                definition,
                skills: order.skills.clone(),
                servers: self.servers().await?,
                client: self.model.clone(),
            },
        ))
        .await?;
        Ok(SubAgent {
            task_id,
            conversation,
            own_branch,
        })
    }

    /// Whether nobody gets more by a tool than whoever gives the task has. Whoever has a shell or an editor can read.
    fn allows(&self, tool: &str) -> bool {
        let has = |wanted: &str| self.tools.iter().any(|name| name == wanted);
        has(tool) || (looks_only(tool) && READERS.into_iter().any(has))
    }

    /// The conversation of a task: a new one in its place, or one that is taken up again where it was.
    async fn conversation(
        &self,
        resume: Option<&str>,
        isolation: Isolation,
    ) -> anyhow::Result<ConversationRecord> {
        let store = self.store.as_ref();
        if let Some(task) = resume {
            let record = compose::find(store, task.strip_prefix(ID_PREFIX).unwrap_or(task)).await?;
            let parent = compose::parent_of(store, record.id).await?;
            anyhow::ensure!(
                parent == Some(self.parent.id),
                "{task} belongs to the conversation that this one was copied from; give the task anew"
            );
            return Ok(record);
        }
        let parents: WorkspaceName = self.parent.workspace.parse()?;
        let id = ConversationId(Uuid::new_v4());
        let workspace = match isolation {
            Isolation::Shared => parents,
            Isolation::Worktree => own_branch::workspace_of(&parents, id)?,
        };
        let record = compose::create_as(store, id, &workspace, Some(self.parent.id)).await?;
        note_child(store, self.parent.id, id).await?;
        Ok(record)
    }
}

impl Helpers {
    /// Holds an agent to what its definition says; gives its model. Only the user's own names stand for models there: a
    /// file of a repository must not say where keys are sent.
    async fn restrict(
        &self,
        settings: &mut Settings,
        definition: &AgentDefinition,
    ) -> anyhow::Result<Opened> {
        if let Some(steps) = definition.max_steps {
            settings.max_steps.value = settings.max_steps.value.min(steps);
        }
        if let Some(cost) = definition.max_cost.and_then(|cost| Money::try_from(cost).ok()) {
            let most = settings.max_cost.value.map_or(cost, |most| most.min(cost));
            settings.max_cost.value = Some(most);
        }
        match &definition.model {
            None => self.model(settings).await,
            Some(name) if settings.models.contains_key(name) => compose::open_model(name, settings),
            Some(name) => anyhow::bail!(
                "the agent {} wants the model '{name}', and the user has none of that name",
                definition.name
            ),
        }
    }
}

fn names_of(tools: &[ToolSpec]) -> Vec<String> {
    tools.iter().map(|tool| tool.name().to_owned()).collect()
}

/// The agents that come with this program.
pub(crate) fn built_in() -> Vec<SubAgentKind> {
    let kind = |kind: Kind| SubAgentKind {
        name: kind.name.to_owned(),
        description: kind.description.to_owned(),
    };
    KINDS.map(kind).to_vec()
}

/// The agents that the user keeps for all projects. What is wrong with others `deft skills list` tells.
pub(crate) fn of_user() -> Vec<AgentDefinition> {
    without_doubles(files_of_user().into_iter().flatten())
}

/// The same with what is wrong with their files.
pub(crate) fn files_of_user() -> Vec<Result<AgentDefinition, Problem>> {
    let home = Surroundings::of_this_process().ok().and_then(|found| found.home);
    let folders = |name: &'static str| {
        let directories = [".agents", USER_DIR, ".openhands"];
        let home = home.iter();
        home.flat_map(move |home| {
            directories.map(|directory| home.join(directory).join(name).display().to_string())
        })
    };
    let own = folders("agents").flat_map(|folder| agents_in(&Disk, &folder, Origin::User));
    let of_plugins = folders("plugins").flat_map(|folder| agents_of_plugins(&Disk, &folder, Origin::User));
    own.chain(of_plugins).collect()
}

impl SubAgents for Helpers {
    fn kinds(&self) -> Vec<SubAgentKind> {
        built_in()
    }

    fn begun(&self) -> BoxFuture<'_, Result<Vec<BegunTask>, String>> {
        async move {
            let begun = begun_below(self.store.as_ref(), self.parent.id, String::new(), MAX_LEVELS).await;
            begun.map_err(|error| error.to_string())
        }
        .boxed()
    }

    fn open<'a>(&'a self, order: Order<'a>) -> BoxFuture<'a, Result<SubAgent, String>> {
        async move {
            let Order { kind, definition, .. } = order;
            if definition.is_none() && Kind::find(kind).is_none() {
                let names = KINDS.map(|kind| kind.name).join(", ");
                return Err(format!("there is no kind '{kind}'; there are {names}"));
            }
            self.start(order).await.map_err(|error| format!("{error:#}"))
        }
        .boxed()
    }
}

/// The tasks of the agents below a conversation, by their logs. What one that died had not heard of is there, too.
fn begun_below(
    store: &dyn Store,
    parent: ConversationId,
    above: String,
    levels: u32,
) -> BoxFuture<'_, Result<Vec<BegunTask>, StoreError>> {
    async move {
        let settings = store.settings(parent).await?.unwrap_or_default();
        let mut begun = Vec::new();
        for child in children_of(&settings).iter().filter_map(id_in) {
            let settings = store.settings(child).await?.unwrap_or_default();
            if !settings["request"].is_null() {
                continue; // a client began it, and has given it a budget of its own
            }
            let usage_id = format!("{above}{}", usage_of_task(&task_id(child)));
            let state = deft_engine::load(store, child).await?;
            begun.push(BegunTask {
                usage_id: usage_id.clone(),
                stats: state.stats,
                told: state.last_user_message_id,
            });
            if levels > 0 {
                let below = begun_below(store, child, format!("{usage_id}:"), levels - 1);
                begun.extend(below.await?);
            }
        }
        Ok(begun)
    }
    .boxed()
}

fn id_in(value: &Value) -> Option<ConversationId> {
    serde_json::from_value(value.clone()).ok()
}

fn task_id(id: ConversationId) -> String {
    format!("{ID_PREFIX}{}", short(id))
}

fn short(id: ConversationId) -> String {
    id.hex()[..8].to_owned()
}
