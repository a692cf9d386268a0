//! What was made for a workspace, when it is not used any more.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use deft_docker::DockerError;
use deft_store::Store;
use deft_types::ConversationId;
use deft_workspace::WorkspaceName;

use super::{elsewhere, kubernetes, remote};
use crate::settings::Settings;

/// Containers that are younger are left alone: somebody may just be making them.
const ORPHAN_AGE: Duration = Duration::from_mins(10);

/// Removes the container, the pod with its volume, or the sandbox of a conversation. What was there before stays.
pub(crate) async fn remove(kept: &str, settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    match kept.parse()? {
        WorkspaceName::Docker(image) => elsewhere::docker(&image, settings, id)?.remove().await?,
        WorkspaceName::Kubernetes(image) => kubernetes::open(&image, settings, id)?.remove().await?,
        WorkspaceName::Remote(url) => remote::open(&url, settings, id)?.remove().await?,
        WorkspaceName::Local(_) | WorkspaceName::Sandbox(_) | WorkspaceName::Ssh(_) => {}
    }
    Ok(())
}

/// Lets the container or the sandbox of a conversation sleep. A pod cannot: its executor ends by itself.
pub(crate) async fn pause(kept: &str, settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    match kept.parse()? {
        WorkspaceName::Docker(image) => elsewhere::docker(&image, settings, id)?.pause().await?,
        WorkspaceName::Remote(url) => remote::open(&url, settings, id)?.pause().await?,
        WorkspaceName::Kubernetes(_)
        | WorkspaceName::Local(_)
        | WorkspaceName::Sandbox(_)
        | WorkspaceName::Ssh(_) => {}
    }
    Ok(())
}

/// Removes containers of conversations that are not in the store; gives their ids. Without an engine there are none.
pub(crate) async fn collect(settings: &Settings, store: &dyn Store) -> anyhow::Result<Vec<String>> {
    let Ok(engine) = elsewhere::engine() else {
        return Ok(Vec::new());
    };
    let owner = settings.data_dir.value.display().to_string();
    let mut known = HashSet::new();
    let containers = match engine.containers(&owner).await {
        Err(DockerError::Down { .. } | DockerError::NoPermission(_)) => return Ok(Vec::new()),
        containers => containers?,
    };
    for container in containers {
        // One whose id cannot be read is nobody's to remove.
        let is_known = match container.conversation().parse() {
            Ok(id) => store.conversation(id).await?.is_some(),
            Err(_) => true,
        };
        if is_known {
            known.insert(container.conversation().to_owned());
        }
    }
    let is_known = |id: &str| known.contains(id);
    let removed = engine.collect_orphans(&owner, is_known, ORPHAN_AGE, SystemTime::now());
    Ok(removed.await?)
}
