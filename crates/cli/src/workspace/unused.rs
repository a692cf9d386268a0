//! What was made for a workspace, when it is not used any more.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use deft_docker::{Container, DockerError};
use deft_engine::Mode;
use deft_executor::Client;
use deft_store::Store;
use deft_types::ConversationId;
use deft_workspace::{Workspace, WorkspaceName, remove_stand_ins};

use super::{elsewhere, executor_directory, executors, kubernetes, left, pool, remote};
use crate::settings::Settings;

/// What is younger is left alone: somebody may just be making it.
const ORPHAN_AGE: Duration = Duration::from_mins(10);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes the container, the pod with its volume, the hosted sandbox, our files on the other machine, or what a killed
/// sandbox left in the directory of a conversation. What was there before stays.
pub(crate) async fn remove(kept: &str, settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    match kept.parse()? {
        WorkspaceName::Docker(_) => elsewhere::engine()?.remove_of(&id.to_string()).await?,
        WorkspaceName::Kubernetes(image) => kubernetes::open(&image, settings, id)?.remove().await?,
        WorkspaceName::Remote(url) => remote::open(&url, settings, id)?.remove().await?,
        WorkspaceName::Ssh(place) => {
            let directory = executor_directory(&settings.data_dir.value, id, Mode::Act)?;
            elsewhere::ssh(&place, settings, id, &directory).remove().await?;
        }
        WorkspaceName::Sandbox(path) => {
            if let Ok(policy) = super::policy(settings) {
                let _ = remove_stand_ins(&policy, &path); // the directory may be gone, with all that was in it
            }
        }
        WorkspaceName::Local(_) => {}
    }
    Ok(())
}

/// Lets the workspace of a conversation sleep until it is next opened: a container or hosted sandbox as a whole, elsewhere
/// what commands have left running.
pub(crate) async fn pause(kept: &str, settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    match kept.parse()? {
        WorkspaceName::Docker(image) => elsewhere::docker(&image, settings, id)?.pause().await?,
        WorkspaceName::Remote(url) => {
            let place = remote::open(&url, settings, id)?;
            place.pause().await?;
            let_sleep(&place).await?; // of a server that is not ours to pause
        }
        WorkspaceName::Kubernetes(_)
        | WorkspaceName::Local(_)
        | WorkspaceName::Sandbox(_)
        | WorkspaceName::Ssh(_) => let_sleep(super::open(kept, settings, id)?.workspace.as_ref()).await?,
    }
    Ok(())
}

async fn let_sleep(workspace: &dyn Workspace) -> anyhow::Result<()> {
    if let Some(stream) = workspace.find().await {
        Client::connect(stream).await?.sleep().await?;
    }
    Ok(())
}

/// Removes containers, pods, volumes and our own files of conversations that are not in the store, and what else than
/// those files was made for one in which nothing has happened for longer than is set; gives their ids.
pub(crate) async fn collect(settings: &Settings, store: &dyn Store) -> anyhow::Result<Vec<String>> {
    let oldest = settings
        .workspace_max_age
        .value
        .and_then(|days| SystemTime::now().checked_sub(DAY.checked_mul(u32::try_from(days).ok()?)?));
    let mut removed = executors::collect(settings, store).await?;
    removed.extend(collect_containers(settings, store, oldest).await?);
    removed.extend(left::collect(settings).await);
    let owner = kubernetes::owner(settings);
    let ready = pool::noted(settings);
    for cluster in kubernetes::used(settings)? {
        let made = cluster.conversations(&owner).await?;
        let mut known = in_use(made, store, oldest).await?;
        known.extend(ready.iter().cloned());
        let is_known = |id: &str| known.contains(id);
        let collected = cluster.collect_orphans(&owner, is_known, ORPHAN_AGE, SystemTime::now());
        removed.extend(collected.await?);
    }
    Ok(removed)
}

/// Without an engine there are none.
async fn collect_containers(
    settings: &Settings,
    store: &dyn Store,
    oldest: Option<SystemTime>,
) -> anyhow::Result<Vec<String>> {
    let Ok(engine) = elsewhere::engine() else {
        return Ok(Vec::new());
    };
    let owner = settings.data_dir.value.display().to_string();
    let containers = match engine.containers(&owner).await {
        Err(DockerError::Down { .. } | DockerError::NoPermission(_)) => return Ok(Vec::new()),
        containers => containers?,
    };
    let conversations = containers
        .iter()
        .map(|container| container.conversation().to_owned());
    let conversations: Vec<_> = conversations.collect();
    let stored = in_use(conversations.clone(), store, None).await?;
    let young = in_use(conversations, store, oldest).await?;
    let ready = pool::noted(settings);
    let is_known = |id: &str| stored.contains(id) || ready.contains(id);
    let orphans = engine.collect_orphans(&owner, is_known, ORPHAN_AGE, SystemTime::now());
    let mut removed = orphans.await?;
    // One that runs is in use, however long nothing has happened: its executor ends when nobody wants anything of it.
    let is_aged = |container: &Container| {
        let id = container.conversation();
        stored.contains(id) && !young.contains(id) && container.state != "running"
    };
    if oldest.is_some() {
        removed.extend(engine.remove_unused(&owner, is_aged).await?);
    }
    Ok(removed)
}

/// Those that are in the store and not older than this. One whose id cannot be read is nobody's to remove.
async fn in_use(
    conversations: Vec<String>,
    store: &dyn Store,
    oldest: Option<SystemTime>,
) -> anyhow::Result<HashSet<String>> {
    let mut known = HashSet::new();
    for conversation in conversations {
        let is_known = match conversation.parse() {
            Ok(id) => {
                let record = store.conversation(id).await?;
                record.is_some_and(|record| oldest.is_none_or(|oldest| record.updated_at >= oldest))
            }
            Err(_) => true,
        };
        if is_known {
            known.insert(conversation);
        }
    }
    Ok(known)
}
