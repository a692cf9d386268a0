//! Puts the parts together: store, model, workspace, conversation.

pub(crate) mod budget;
pub(crate) mod confirm;
mod model;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use deft_browse::Reachable;
use deft_engine::{
    Above, Brief, Conversation, Extensions, Limits, Mode, Notes, OfProject, Outfit, Parts, RealWorld, Safety,
    SecretSources, SkillSources, Supervision, World,
};
use deft_mcp::TokenStore;
use deft_server::{ClientModel, McpOutfit};
use deft_skills::AgentDefinition;
use deft_store::{ConversationRecord, Durability, NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{Preset, TerminalOptions, ToolContext, Toolbox};
use deft_types::{ConversationId, Extra, SecurityAnalyzer, Tokens, ToolSpec};
use deft_workspace::{Workspace, WorkspaceName};
use serde_json::json;
use uuid::Uuid;

use self::model::refinement;
pub(crate) use self::model::{Opened, model_for, named_models, open_model, reached, reached_by_client};
pub(crate) use self::model::{memory, named};
use crate::agents;
use crate::hooks;
use crate::mcp;
use crate::settings::{self, Settings, prepare_data_dir};
use crate::skills;
use crate::toolbox::toolbox;
use crate::workspace;

/// Calls of one reply that may run at the same time.
const PARALLEL_CALLS: usize = 8;
/// The setting of a conversation that does a part of another's work: the other.
const PARENT: &str = "parent_conversation_id";

/// Conversations read at once.
const PAGE: usize = 50;

/// The store's file in the data directory.
pub(crate) const STORE_FILE: &str = "deft.db";

/// Opens the store in the data directory, which is made if it is missing.
pub(crate) fn open_store(settings: &Settings) -> anyhow::Result<Arc<dyn Store>> {
    let directory = &settings.data_dir.value;
    prepare_data_dir(directory)?;
    let durability = match settings.durability.value {
        settings::Durability::Process => Durability::Process,
        settings::Durability::Fsync => Durability::Fsync,
    };
    let store = SqliteStore::open(
        directory.join(STORE_FILE),
        Options {
            durability,
            ..Options::default()
        },
    )?;
    Ok(Arc::new(store))
}

/// Whether anything has been stored yet.
pub(crate) fn has_store(settings: &Settings) -> bool {
    settings.data_dir.value.join(STORE_FILE).exists()
}

/// The conversation whose id begins so.
pub(crate) async fn find(store: &dyn Store, prefix: &str) -> anyhow::Result<ConversationRecord> {
    if !prefix.contains(|character: char| character.is_ascii_hexdigit()) {
        bail!("'{prefix}' is no id of a conversation; `deft list` shows them all");
    }
    let found = store.find(prefix).await?;
    match found.as_slice() {
        [] => bail!("no conversation has an id that begins with '{prefix}'; `deft list` shows them all"),
        [id] => store
            .conversation(*id)
            .await?
            .context("the conversation was deleted just now"),
        _ => bail!("more than one conversation has an id that begins with '{prefix}'; give more of it"),
    }
}

/// The newest conversation that a person has begun.
pub(crate) async fn newest(store: &dyn Store) -> anyhow::Result<ConversationRecord> {
    let mut last = None;
    loop {
        let page = store.list(last, PAGE).await?;
        last = page.last().map(ConversationRecord::cursor);
        if last.is_none() {
            bail!("there is no conversation to go on with; start one with `deft run -t TASK`");
        }
        for record in page {
            if !has_parent(store, record.id).await? {
                return Ok(record);
            }
        }
    }
}

/// Whether a conversation does a part of another's work.
pub(crate) async fn has_parent(store: &dyn Store, id: ConversationId) -> anyhow::Result<bool> {
    Ok(parent_of(store, id).await?.is_some())
}

/// The conversation whose work it does a part of.
pub(crate) async fn parent_of(
    store: &dyn Store,
    id: ConversationId,
) -> anyhow::Result<Option<ConversationId>> {
    let settings = store.settings(id).await?.unwrap_or_default();
    Ok(serde_json::from_value(settings[PARENT].clone()).ok())
}

/// Begins a conversation in a workspace.
pub(crate) async fn create(
    store: &dyn Store,
    workspace: &WorkspaceName,
) -> anyhow::Result<ConversationRecord> {
    let id = ConversationId(Uuid::new_v4()); // told apart by how they begin
    create_as(store, id, workspace, None).await
}

/// The same with an id that is known before, and as a part of the work of another.
pub(crate) async fn create_as(
    store: &dyn Store,
    id: ConversationId,
    workspace: &WorkspaceName,
    parent: Option<ConversationId>,
) -> anyhow::Result<ConversationRecord> {
    let conversation = NewConversation {
        id,
        created_at: RealWorld.now(),
        workspace: workspace::kept(workspace),
        settings: parent.map_or_else(serde_json::Value::default, |parent| json!({ PARENT: parent })),
        owner: None,
    };
    store.create(conversation).await?;
    store
        .conversation(id)
        .await?
        .context("the conversation was deleted just now")
}

/// Becomes the writer of a conversation and loads it.
pub(crate) async fn open(
    settings: &Settings,
    store: Arc<dyn Store>,
    opened: Opened,
    record: &ConversationRecord,
    mode: Mode,
) -> anyhow::Result<Conversation> {
    let preset = match mode {
        Mode::Act => Preset::for_model(&opened.model.profile().name),
        Mode::Plan => Preset::Planning,
    };
    let role = Role {
        has: &|tool| preset.has(tool),
        depth: 0,
        above: None,
        mode,
        definition: None,
        skills: Vec::new(),
        servers: None,
        client: None,
    };
    open_as(settings, store, opened, record, role).await
}

/// What an agent is among others.
pub(crate) struct Role<'a> {
    /// Which tools it has.
    pub(crate) has: &'a (dyn Fn(&str) -> bool + Sync),
    /// How many levels it is below the one that the user talks to.
    pub(crate) depth: u32,
    /// Who gave it its task.
    pub(crate) above: Option<Above>,
    /// Whether it works, or only plans.
    pub(crate) mode: Mode,
    /// Who it is, where somebody has written that down.
    pub(crate) definition: Option<&'a AgentDefinition>,
    /// The skills that stand in its prompt whole.
    pub(crate) skills: Vec<String>,
    /// The MCP servers that it has instead of the user's own.
    pub(crate) servers: Option<McpOutfit>,
    /// What a client has said of the models below its conversation: neither they nor those below them have others.
    pub(crate) client: Option<ClientModel>,
}

/// The same for an agent with a role of its own.
pub(crate) async fn open_as(
    settings: &Settings,
    store: Arc<dyn Store>,
    opened: Opened,
    record: &ConversationRecord,
    role: Role<'_>,
) -> anyhow::Result<Conversation> {
    let definition = role.definition;
    let policy = confirm::of_role(settings, &role);
    let place = workspace::open_in(role.mode, &record.workspace, settings, record.id)?;
    for gap in place.gaps.iter().copied() {
        tell(gap);
    }
    let context = context(&place);
    let mut tools = toolbox(&context, TerminalOptions::default(), Reachable::default())?.specs();
    tools.retain(|tool| (role.has)(tool.name()));
    let host = Toolbox::host();
    let models = role.client.is_none().then(|| named_models(settings));
    let (offered, client) = (role.servers.clone(), role.client);
    let helpers = agents::Helpers::of(settings, &store, record, role.depth, &tools, (offered, client));
    let servers = match role.servers {
        Some(servers) => servers,
        None => mcp::offer::of_user(settings, &context)?,
    };
    let lease = store.acquire(record.id, &Owner::this_process()).await?;
    let parts = Parts {
        store,
        lease,
        model: opened.model,
        model_name: opened.name,
        models,
        agents: Some(helpers),
        workspace: place.workspace,
        directory: place.root.display().to_string(),
        tools,
        host,
        responses: responses(definition),
        world: Arc::new(RealWorld),
        limits: Limits {
            max_steps: u32::try_from(settings.max_steps.value).unwrap_or(u32::MAX),
            parallel_calls: PARALLEL_CALLS,
            stuck_detection: true,
            max_cost: settings.max_cost.value,
            max_tokens: settings.max_tokens.value.map(Tokens),
            max_time: settings.max_time.value,
            max_agents: u32::try_from(settings.max_agents.value).ok(),
            max_depth: u32::try_from(settings.max_depth.value)
                .ok()
                .map(|most| most.saturating_sub(role.depth)),
        },
        safety: Safety {
            policy,
            analyzer: Some(analyzer(settings)),
        },
        memory: agents::defined::memory(settings, definition)?,
        outfit: Outfit {
            secrets: SecretSources::default(), // an agent with a task has those of whoever gave it
            servers: servers.beside,
            elsewhere: servers.elsewhere,
            filter: servers.filter,
            checkpoints: true,
        },
        extensions: Extensions {
            skills: Some(SkillSources {
                project: OfProject::Used,
                others: skills::of_user(),
                disabled: Vec::new(),
                files: Some(Arc::new(skills::Disk)),
            }),
            hooks: hooks::of_user()?,
            project_hooks: servers.of_project,
            agents: agents::of_user(),
            brief: Brief {
                role: definition.map(|definition| definition.instructions.clone()),
                skills: role.skills,
                ..Brief::default()
            },
            notes: Notes::Used {
                of_user: skills::notes_of_user(),
            },
        },
        external: None,
        supervision: Supervision {
            mode: role.mode,
            judge: named(settings, &settings.judge_model, "judge_model")?,
            refinement: refinement(settings)?,
            titles: match role.depth {
                0 => named(settings, &settings.title_model, "title_model")?,
                _ => None, // nobody reads what a task is called
            },
            title_prompt: None,
            above: role.above,
            ..Supervision::default()
        },
    };
    Ok(Conversation::open(parts).await?)
}

/// What an agent gives, as its definition says.
fn responses(definition: Option<&AgentDefinition>) -> BTreeMap<String, serde_json::Value> {
    let schema = definition.and_then(|definition| definition.declared.output_schema.clone());
    schema
        .into_iter()
        .map(|schema| ("finish".to_owned(), schema))
        .collect()
}

/// Everybody who can judges.
fn analyzer(settings: &Settings) -> SecurityAnalyzer {
    let mut analyzers = vec![
        SecurityAnalyzer::Model,
        SecurityAnalyzer::Pattern(Extra::new()),
        SecurityAnalyzer::PolicyRail(Extra::new()),
    ];
    if settings.judge_model.value.is_some() {
        analyzers.push(SecurityAnalyzer::Judge(Extra::new()));
    }
    SecurityAnalyzer::Ensemble {
        analyzers,
        propagate_unknown: false,
    }
}

/// Where the tools of a conversation run, and which there are.
pub(crate) fn place(
    settings: &Settings,
    id: ConversationId,
    root: &Path,
) -> anyhow::Result<(Arc<dyn Workspace>, Vec<ToolSpec>)> {
    place_in(Mode::Act, settings, id, root)
}

/// The same for an agent that works, or only plans.
pub(crate) fn place_in(
    mode: Mode,
    settings: &Settings,
    id: ConversationId,
    root: &Path,
) -> anyhow::Result<(Arc<dyn Workspace>, Vec<ToolSpec>)> {
    let place = workspace::open_in(mode, &root.display().to_string(), settings, id)?;
    let tools = toolbox(&context(&place), TerminalOptions::default(), Reachable::default())?.specs();
    Ok((place.workspace, tools))
}

/// The tools that every workspace has. Nothing is started for this.
pub(crate) fn tools_of_workspaces(settings: &Settings) -> anyhow::Result<Vec<ToolSpec>> {
    let context = ToolContext {
        workspace: "/".into(),
        private_dir: settings.data_dir.value.clone(), // it is there
        env: Vec::new(),
    };
    Ok(toolbox(&context, TerminalOptions::default(), Reachable::default())?.specs())
}

/// The MCP servers that a client of the server gives to its agent.
pub(crate) fn servers_of_client(
    settings: &Settings,
    (id, root): (ConversationId, &Path),
    servers: &serde_json::Value,
    variable: &dyn Fn(&str) -> Option<String>,
    tokens: Arc<dyn TokenStore>,
) -> anyhow::Result<McpOutfit> {
    let name: WorkspaceName = root.display().to_string().parse()?;
    let context = ToolContext {
        workspace: name.root(),
        private_dir: workspace::executor_directory(&settings.data_dir.value, id, Mode::Act)?,
        env: Vec::new(),
    };
    mcp::offer::of_client(settings, &context, servers, variable, tokens)
}

/// What tools need to know to describe themselves.
fn context(place: &workspace::Opened) -> ToolContext {
    ToolContext {
        workspace: place.root.clone(),
        private_dir: place.directory.clone(),
        env: Vec::new(),
    }
}

/// On standard error, beside whatever is shown of the conversation.
#[allow(clippy::print_stderr)] // this is the command line
pub(crate) fn tell(gap: impl std::fmt::Display) {
    anstream::eprintln!("deft: note: {gap}");
}
