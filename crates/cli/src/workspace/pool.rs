//! Workspaces that are ready before a conversation wants one.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use deft_executor::Client;
use deft_types::ConversationId;
use deft_workspace::WorkspaceName;
use tokio::sync::Notify;
use uuid::Uuid;

use super::unused;
use crate::exit::UsageError;
use crate::output::one_sentence;
use crate::settings::Settings;

/// The most that are kept ready.
const MAX_SIZE: u64 = 100;
/// How often those that are ready are looked at, and how long nothing is tried after a failure.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How long their removal may take when the server stops. What is left is removed by the next one.
const REMOVE_LIMIT: Duration = Duration::from_secs(30);
/// Where those that nobody has taken are noted, in the data directory.
const NOTES: &str = "pool";

/// Containers or pods, each made for a conversation that is not there yet, under the id that it will have. So nothing
/// tells them from others, and none is ever shared.
pub(crate) struct Pool {
    settings: Arc<Settings>,
    /// Which workspace, as it is kept with a conversation.
    name: String,
    size: usize,
    ready: Mutex<VecDeque<Ready>>,
    taken: Notify,
}

struct Ready {
    id: ConversationId,
    /// An executor ends itself when nobody talks to it.
    client: Client,
}

/// The conversations for which workspaces are ready: they are not in the store yet.
pub(super) fn noted(settings: &Settings) -> HashSet<String> {
    let notes = std::fs::read_dir(settings.data_dir.value.join(NOTES));
    let notes = notes.into_iter().flatten().flatten();
    notes
        .filter_map(|note| note.file_name().into_string().ok())
        .collect()
}

impl Pool {
    /// The one that is set, if any is.
    pub(crate) fn new(settings: Arc<Settings>) -> anyhow::Result<Option<Self>> {
        let size = match settings.workspace_pool.value {
            None => return Ok(None),
            Some(size) => usize::try_from(size.min(MAX_SIZE))?,
        };
        let Some(name @ (WorkspaceName::Docker(_) | WorkspaceName::Kubernetes(_))) =
            &settings.workspace.value
        else {
            let sentence = "workspace_pool keeps containers or pods ready: set `workspace` to docker:IMAGE or \
                            k8s:IMAGE, or leave it out";
            return Err(UsageError(sentence.to_owned()).into());
        };
        let name = super::kept(&super::resolve(name.clone())?);
        Ok(Some(Self {
            settings,
            name,
            size,
            ready: Mutex::default(),
            taken: Notify::new(),
        }))
    }

    /// One that is ready, for a new conversation with this workspace, which must have its id.
    pub(crate) fn take(&self, name: &str) -> Option<ConversationId> {
        if name != self.name {
            return None;
        }
        let id = {
            let mut ready = self.ready();
            let reachable = ready.iter().position(|ready| !ready.client.is_closed())?;
            ready.remove(reachable)?.id
        };
        self.taken.notify_one();
        // Still noted, the next server would remove it.
        std::fs::remove_file(self.note(id)).ok()?;
        Some(id)
    }

    /// Makes them, and others for those that were taken or have ended. Never ends by itself.
    pub(crate) async fn keep_full(&self) {
        self.remove_all().await; // what a server that was killed left behind
        loop {
            self.remove_lost().await;
            let is_full = self.ready().len() >= self.size;
            if !is_full {
                match self.make().await {
                    Ok(ready) => {
                        self.ready().push_back(ready);
                        continue;
                    }
                    Err(error) => {
                        let reason = one_sentence(&error);
                        tracing::warn!(reason, "no workspace can be made ready");
                    }
                }
            }
            let _ = tokio::time::timeout(LOOK_EVERY, self.taken.notified()).await;
        }
    }

    /// Removes those whose executor is out of reach: nobody could be given them.
    async fn remove_lost(&self) {
        let is_lost = |ready: &&Ready| ready.client.is_closed();
        let lost: Vec<_> = self.ready().iter().filter(is_lost).map(|lost| lost.id).collect();
        self.ready().retain(|ready| !lost.contains(&ready.id));
        let notes: Vec<_> = lost.into_iter().map(|id| self.note(id)).collect();
        futures::future::join_all(notes.iter().map(|note| self.remove(note))).await;
    }

    /// Removes those that nobody has taken.
    pub(crate) async fn close(&self) {
        self.ready().clear();
        if tokio::time::timeout(REMOVE_LIMIT, self.remove_all())
            .await
            .is_err()
        {
            tracing::warn!("not every workspace that was ready could be removed in time");
        }
    }

    async fn make(&self) -> anyhow::Result<Ready> {
        let id = ConversationId(Uuid::new_v4());
        let note = self.note(id);
        std::fs::create_dir_all(self.notes())
            .and_then(|()| std::fs::write(&note, &self.name))
            .with_context(|| format!("cannot write {}", note.display()))?;
        let made = async {
            let stream = super::open(&self.name, &self.settings, id)?
                .workspace
                .open()
                .await?;
            anyhow::Ok(Client::connect(stream).await?)
        };
        match made.await {
            Ok(client) => Ok(Ready { id, client }),
            Err(error) => {
                self.remove(&note).await;
                Err(error)
            }
        }
    }

    async fn remove_all(&self) {
        let notes = std::fs::read_dir(self.notes()).into_iter().flatten().flatten();
        let removals: Vec<PathBuf> = notes.map(|note| note.path()).collect();
        futures::future::join_all(removals.iter().map(|note| self.remove(note))).await;
    }

    /// Removes what a note is about, and the note.
    async fn remove(&self, note: &Path) {
        let name = std::fs::read_to_string(note).unwrap_or_default();
        let id = note.file_name().and_then(|id| id.to_str()?.parse().ok());
        let removed = match id {
            Some(id) => unused::remove(&name, &self.settings, id).await,
            None => Ok(()), // nothing of ours
        };
        match removed {
            Ok(()) => drop(std::fs::remove_file(note)), // else it is tried again
            Err(error) => {
                let reason = one_sentence(&error);
                tracing::warn!(reason, "a workspace that was ready cannot be removed");
            }
        }
    }

    fn notes(&self) -> PathBuf {
        self.settings.data_dir.value.join(NOTES)
    }

    fn note(&self, id: ConversationId) -> PathBuf {
        self.notes().join(id.to_string())
    }

    fn ready(&self) -> MutexGuard<'_, VecDeque<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
