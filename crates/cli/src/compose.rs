//! Puts the parts together: store, model, workspace, conversation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use deft_engine::{Conversation, Limits, Parts, RealWorld, World};
use deft_llm::{Model, ModelSettings};
use deft_store::{ConversationRecord, Durability, NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{ToolContext, Toolbox};
use deft_types::{ConversationId, Secret};
use deft_workspace::LocalWorkspace;
use serde::{Deserialize, Serialize};

use crate::settings::{self, Settings, prepare_data_dir};

/// A Unix socket's path has at most 108 bytes with its end mark.
const MAX_SOCKET_PATH: usize = 107;

/// What a conversation remembers of how it was started.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    model: String,
}

/// Opens the store in the data directory, which is made if it is missing.
pub(crate) fn open_store(settings: &Settings) -> anyhow::Result<Arc<dyn Store>> {
    let directory = &settings.data_dir.value;
    prepare_data_dir(directory)?;
    let durability = match settings.durability.value {
        settings::Durability::Process => Durability::Process,
        settings::Durability::Fsync => Durability::Fsync,
    };
    let store = SqliteStore::open(
        directory.join("deft.db"),
        Options {
            durability,
            ..Options::default()
        },
    )?;
    Ok(Arc::new(store))
}

/// The conversation whose id begins so.
pub(crate) async fn find(store: &dyn Store, prefix: &str) -> anyhow::Result<ConversationRecord> {
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

/// The newest conversation.
pub(crate) async fn newest(store: &dyn Store) -> anyhow::Result<ConversationRecord> {
    let newest = store.list(None, 1).await?.pop();
    newest.context("there is no conversation to go on with; start one with `deft run -t TASK`")
}

/// Which model to use: the one that is set, else the one the conversation had.
pub(crate) async fn model_for(
    settings: &Settings,
    store: &dyn Store,
    conversation: Option<ConversationId>,
) -> anyhow::Result<Arc<dyn Model>> {
    let remembered = match conversation {
        Some(id) => store
            .settings(id)
            .await?
            .and_then(|value| Remembered::deserialize(value).ok()),
        None => None,
    };
    let name = settings
        .model
        .value
        .clone()
        .or(remembered.map(|remembered| remembered.model));
    let Some(name) = name else {
        bail!(
            "no model is set: pass --model PROVIDER/NAME, or set LLM_MODEL (and LLM_API_KEY or LLM_BASE_URL), \
             or try `deft demo`, which needs neither"
        );
    };
    open_model(&name, settings)
}

/// Opens a model with the key that is set, else with the one its provider's own tools would use.
pub(crate) fn open_model(name: &str, settings: &Settings) -> anyhow::Result<Arc<dyn Model>> {
    Ok(deft_llm::open(name, &model_settings(name, settings))?)
}

/// What a model is opened with: what is set, else what its provider's own tools would use.
pub(crate) fn model_settings(name: &str, settings: &Settings) -> ModelSettings {
    let variable = |name: Option<&str>| name.and_then(|name| std::env::var(name).ok());
    let providers_key = || variable(deft_llm::key_variable(name)).map(Secret::new);
    let base_url = settings.base_url.value.as_ref();
    ModelSettings {
        api_key: settings.api_key.value.clone().or_else(providers_key),
        base_url: base_url
            .map(|url| url.as_str().to_owned())
            .or_else(|| variable(deft_llm::address_variable(name))),
        connect_timeout: settings.connect_timeout.value,
        idle_timeout: settings.idle_timeout.value,
    }
}

/// Begins a conversation in a directory.
pub(crate) async fn create(
    store: &dyn Store,
    model: &dyn Model,
    workspace: &Path,
) -> anyhow::Result<ConversationRecord> {
    let id = ConversationId(RealWorld.new_id());
    let remembered = Remembered {
        model: model.profile().name.clone(),
    };
    let conversation = NewConversation {
        id,
        created_at: RealWorld.now(),
        workspace: workspace.display().to_string(),
        settings: serde_json::to_value(remembered)?,
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
    model: Arc<dyn Model>,
    record: &ConversationRecord,
) -> anyhow::Result<Conversation> {
    let root = PathBuf::from(&record.workspace);
    let directory = executor_directory(&settings.data_dir.value, record.id);
    let workspace = LocalWorkspace {
        program: PathBuf::from("/proc/self/exe"), // stays right when the file is replaced by an update
        root: root.clone(),
        directory: directory.clone(),
        linger: settings.executor_linger.value,
        quiet_limit: settings.terminal_no_change_timeout.value,
    };
    if !root.is_dir() {
        return Err(deft_workspace::WorkspaceError::Missing(root).into());
    }
    let context = ToolContext {
        workspace: root,
        private_dir: directory,
        env: Vec::new(),
    };
    let tools = Toolbox::standard(context)?.specs();
    let lease = store.acquire(record.id, &Owner::this_process()).await?;
    let parts = Parts {
        store,
        lease,
        model,
        workspace: Arc::new(workspace),
        directory: record.workspace.clone(),
        tools,
        world: Arc::new(RealWorld),
        limits: Limits {
            max_steps: u32::try_from(settings.max_steps.value).unwrap_or(u32::MAX),
            max_cost: settings.max_cost.value,
        },
    };
    Ok(Conversation::open(parts).await?)
}

/// Where a conversation's executor has its socket: in the data directory, unless that makes the socket's path
/// longer than the system allows.
fn executor_directory(data_dir: &Path, id: ConversationId) -> PathBuf {
    let hex = id.hex();
    let directory = data_dir.join("executors").join(&hex);
    if directory.as_os_str().len() + 1 + deft_executor::daemon::SOCKET.len() <= MAX_SOCKET_PATH {
        return directory;
    }
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("deft-{user}")).join(hex)
}
