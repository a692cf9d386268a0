//! Puts the parts together: store, model, workspace, conversation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use deft_engine::{Conversation, Limits, Memory, Models, Outfit, Parts, RealWorld, Safety, World};
use deft_llm::{
    AwsSettings, Condition, Model, ModelSettings, NamedModel, OpenModelError, PrefixWatch, Prices, Proxies,
    Registry, RetryPolicy,
};
use deft_store::{ConversationRecord, Durability, NewConversation, Options, Owner, SqliteStore, Store};
use deft_tools::{Preset, SecretSet, TerminalOptions, ToolContext, Toolbox};
use deft_types::{ConfirmationPolicy, ConversationId, Extra, Money, Secret, SecurityAnalyzer, ToolSpec};
use deft_workspace::sandbox::Gap;
use deft_workspace::{Workspace, WorkspaceName};
use uuid::Uuid;

use crate::agents;
use crate::mcp;
use crate::settings::{self, ModelTable, Settings, prepare_data_dir};
use crate::toolbox::toolbox;
use crate::workspace;

/// Calls of one reply that may run at the same time.
const PARALLEL_CALLS: usize = 8;

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

/// Which model to use: the one that is set, else the one that answered last.
pub(crate) async fn model_for(
    settings: &Settings,
    store: &dyn Store,
    conversation: Option<ConversationId>,
) -> anyhow::Result<Opened> {
    let name = match (&settings.model.value, conversation) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(id)) => deft_engine::load(store, id).await?.model,
        (None, None) => None,
    };
    let Some(name) = name else {
        bail!(
            "no model is set: pass --model PROVIDER/NAME, or set LLM_MODEL (and LLM_API_KEY or LLM_BASE_URL), \
             or try `deft demo`, which needs neither"
        );
    };
    open_model(&name, settings)
}

/// A model, and the name by which it can be opened again.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) model: Arc<dyn Model>,
}

/// Opens a model by its name or by one of the user's own.
pub(crate) fn open_model(name: &str, settings: &Settings) -> anyhow::Result<Opened> {
    Ok(Opened {
        name: name.to_owned(),
        model: registry(name, settings).open(name)?,
    })
}

/// The models that the user has given names.
struct NamedModels(Settings);

impl Models for NamedModels {
    fn names(&self) -> Vec<String> {
        self.0.models.keys().cloned().collect()
    }

    fn open(&self, name: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        registry(name, &self.0).open(name)
    }
}

/// All models, to open one of them.
fn registry<'a>(name: &'a str, settings: &'a Settings) -> Registry<'a> {
    let named = settings
        .models
        .iter()
        .map(|(name, table)| (name.clone(), named_model(table, settings)));
    // The key and the address that are set are meant for the model that is set, not for those that stand in for it.
    let reach = move |other: &str| {
        if other == name {
            settings_for(name, settings)
        } else {
            providers_own(other, settings)
        }
    };
    Registry {
        named: named.collect(),
        settings: Box::new(reach),
        prefixes: PrefixWatch::default(),
    }
}

/// How a model is reached that a client of the server names. The key and the address that are set are meant for
/// the model that is set.
pub(crate) fn reached_by_client(name: &str, settings: &Settings) -> ModelSettings {
    if settings.model.value.as_deref() == Some(name) {
        settings_for(name, settings)
    } else {
        providers_own(name, settings)
    }
}

/// How a model is reached as its provider's own tools would.
fn providers_own(name: &str, settings: &Settings) -> ModelSettings {
    ModelSettings {
        api_key: providers_key(name),
        base_url: providers_address(name),
        ..model_settings(settings)
    }
}

/// What a model's name, or one of the user's own, stands for, and how it is reached.
pub(crate) fn reached(name: &str, settings: &Settings) -> (String, ModelSettings) {
    match settings.models.get(name) {
        Some(table) => {
            let named = named_model(table, settings);
            (named.model, named.settings)
        }
        None => (name.to_owned(), settings_for(name, settings)),
    }
}

/// How a model without a table of its own is reached.
fn settings_for(name: &str, settings: &Settings) -> ModelSettings {
    let common = model_settings(settings);
    ModelSettings {
        api_key: settings.api_key.value.clone().or_else(|| providers_key(name)),
        base_url: common.base_url.clone().or_else(|| providers_address(name)),
        ..common
    }
}

/// What is common to all models.
fn model_settings(settings: &Settings) -> ModelSettings {
    ModelSettings {
        api_key: None,
        base_url: settings
            .base_url
            .value
            .as_ref()
            .map(|url| url.as_str().to_owned()),
        connect_timeout: settings.connect_timeout.value,
        idle_timeout: settings.idle_timeout.value,
        retry: RetryPolicy {
            attempts: u32::try_from(settings.model_attempts.value).unwrap_or(u32::MAX),
            total_timeout: settings.total_timeout.value,
            ..RetryPolicy::default()
        },
        proxies: Proxies::from_variables(|name| std::env::var(name).ok()),
        ca_file: settings.ca_file.value.clone(),
        aws: Some(AwsSettings::from_variables(|name| std::env::var(name).ok())),
        ..ModelSettings::default()
    }
}

/// A model with a table of its own. Neither the common key nor the common address is meant for it.
fn named_model(table: &ModelTable, settings: &Settings) -> NamedModel {
    let from_variable = || {
        table
            .api_key_env
            .as_ref()
            .and_then(|name| std::env::var(name).ok())
            .map(Secret::new)
    };
    let api_key = table
        .api_key
        .clone()
        .or_else(from_variable)
        .or_else(|| providers_key(&table.model));
    let images = table
        .images
        .iter()
        .map(|name| (Condition::HasImage, name.clone()));
    let long = table
        .long
        .iter()
        .map(|route| (Condition::AtLeast(route.tokens), route.model.clone()));
    NamedModel {
        model: table.model.clone(),
        settings: ModelSettings {
            api_key,
            base_url: table
                .base_url
                .as_ref()
                .map(|url| url.as_str().to_owned())
                .or_else(|| providers_address(&table.model)),
            extra_headers: table.headers.clone().into_iter().collect(),
            api_mode: table.api_mode,
            api_version: table.api_version.clone(),
            extended_thinking_budget: table.thinking_budget,
            tuning: table.tuning(),
            prices: table
                .price
                .map(|[input, output]| Prices::flat(per_token(input), per_token(output))),
            capability_overrides: table.known_capabilities(),
            ..model_settings(settings)
        },
        fallback: table.fallback.clone(),
        routes: images.chain(long).collect(),
        classes: table.task_classes(),
    }
}

/// People name prices for a million tokens.
fn per_token(price: Money) -> Money {
    Money::from_picodollars(price.as_picodollars() / 1_000_000)
}

/// The key that the provider's own tools would use.
fn providers_key(model: &str) -> Option<Secret<String>> {
    let variable = deft_llm::key_variable(model)?;
    std::env::var(variable).ok().map(Secret::new)
}

/// The address that the provider's own tools would use.
fn providers_address(model: &str) -> Option<String> {
    let variable = deft_llm::address_variable(model)?;
    std::env::var(variable).ok().filter(|address| !address.is_empty())
}

/// Begins a conversation in a workspace.
pub(crate) async fn create(
    store: &dyn Store,
    workspace: &WorkspaceName,
) -> anyhow::Result<ConversationRecord> {
    let id = ConversationId(Uuid::new_v4()); // told apart by how they begin
    let conversation = NewConversation {
        id,
        created_at: RealWorld.now(),
        workspace: workspace::kept(workspace),
        settings: serde_json::Value::Null,
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
) -> anyhow::Result<Conversation> {
    let preset = Preset::for_model(&opened.model.profile().name);
    open_as(settings, store, opened, record, &|tool| preset.has(tool), 0).await
}

/// The same for an agent that has only some of the tools, so many levels below the one that the user talks to.
pub(crate) async fn open_as(
    settings: &Settings,
    store: Arc<dyn Store>,
    opened: Opened,
    record: &ConversationRecord,
    has: &(dyn Fn(&str) -> bool + Sync),
    depth: u32,
) -> anyhow::Result<Conversation> {
    let place = workspace::open(&record.workspace, settings, record.id)?;
    for gap in place.gaps.iter().copied() {
        tell(gap);
    }
    let context = context(&place);
    let mut tools = toolbox(&context, TerminalOptions::default())?.specs();
    tools.retain(|tool| has(tool.name()));
    let host = Toolbox::host();
    let taken = tools
        .iter()
        .chain(&host.specs())
        .map(|tool| tool.name().to_owned())
        .collect();
    let served = mcp::offer::from_elsewhere(settings, &context, taken).await?;
    let host = served.into_iter().fold(host, Toolbox::with);
    let helpers = agents::Helpers::of(settings, &store, record, depth);
    let lease = store.acquire(record.id, &Owner::this_process()).await?;
    let parts = Parts {
        store,
        lease,
        model: opened.model,
        model_name: opened.name,
        models: Some(Arc::new(NamedModels(settings.clone()))),
        agents: helpers,
        workspace: place.workspace,
        directory: place.root.display().to_string(),
        tools,
        host,
        responses: BTreeMap::new(),
        world: Arc::new(RealWorld),
        limits: Limits {
            max_steps: u32::try_from(settings.max_steps.value).unwrap_or(u32::MAX),
            parallel_calls: PARALLEL_CALLS,
            stuck_detection: true,
            max_cost: settings.max_cost.value,
        },
        safety: safety(),
        memory: Memory::default(),
        outfit: Outfit {
            secrets: SecretSet::default(),
            servers: mcp::offer::beside_the_files(settings)?,
            checkpoints: true,
        },
    };
    Ok(Conversation::open(parts).await?)
}

/// Everybody who can judges; nobody is asked, for there may be nobody there.
fn safety() -> Safety {
    Safety {
        policy: ConfirmationPolicy::NeverConfirm,
        analyzer: Some(SecurityAnalyzer::Ensemble {
            analyzers: vec![
                SecurityAnalyzer::Model,
                SecurityAnalyzer::Pattern(Extra::new()),
                SecurityAnalyzer::PolicyRail(Extra::new()),
            ],
            propagate_unknown: false,
        }),
    }
}

/// Where the tools of a conversation run, and which there are.
pub(crate) fn place(
    settings: &Settings,
    id: ConversationId,
    root: &Path,
) -> anyhow::Result<(Arc<dyn Workspace>, Vec<ToolSpec>)> {
    let place = workspace::open(&root.display().to_string(), settings, id)?;
    let tools = toolbox(&context(&place), TerminalOptions::default())?.specs();
    Ok((place.workspace, tools))
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
fn tell(gap: Gap) {
    anstream::eprintln!("deft: note: {gap}");
}
