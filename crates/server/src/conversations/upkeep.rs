//! What is done for conversations without a request: after a start, from time to time, and before the end.

use std::sync::Arc;
use std::time::Duration;

use deft_engine::ExecutorFate;
use deft_store::Search;
use deft_types::{ConversationId, Status};

use super::{CLOSE_LIMIT, Conversations};
use crate::failure::Failure;
use crate::resident::{Farewell, Resident};

/// Conversations that are looked up at once, of those that were running when the server died.
const PAGE: usize = 100;

impl Conversations {
    /// Loads those that were running when a server died: they are paused, and can be run again.
    pub(crate) async fn recover(&self) {
        let mut search = Search {
            status: Some(Status::Running),
            ..Search::default()
        };
        loop {
            let mut cut_off = match self.catalog.store.search(search, PAGE + 1).await {
                Ok(cut_off) => cut_off,
                Err(error) => {
                    return tracing::warn!(%error, "cannot look for conversations that were cut off");
                }
            };
            let next = (cut_off.len() > PAGE).then(|| cut_off.pop()).flatten();
            for record in cut_off {
                let Ok(resident) = self.resident(record.id).await else {
                    continue; // deleted meanwhile
                };
                // One that another process runs is not cut off.
                let _ = resident.engine.get_or_try_init(|| self.load(&resident)).await;
            }
            let Some(next) = next else { return };
            search.from = Some(next.id);
        }
    }

    /// Pauses what runs and brings everything to disk, before the machine is put to sleep. What has not come to a
    /// boundary by then goes on when the machine wakes.
    pub(crate) async fn rest(&self) -> Result<(), Failure> {
        let running: Vec<_> = {
            let residents = self.residents();
            let running = residents.values().filter(|resident| resident.is_running());
            running.cloned().collect()
        };
        let pause = async |resident: Arc<Resident>| {
            self.pause(&resident).await?;
            self.settled(&resident).await
        };
        let all = futures::future::join_all(running.into_iter().map(pause));
        if let Ok(paused) = tokio::time::timeout(CLOSE_LIMIT, all).await {
            paused.into_iter().collect::<Result<Vec<_>, _>>()?;
        } else {
            tracing::warn!("not every conversation could be paused in time");
        }
        Ok(self.catalog.store.sync().await?)
    }

    /// How often to look for idle ones.
    pub(crate) fn sweep_interval(&self) -> Duration {
        self.idle_limit / 4
    }

    /// Takes those out of memory that nobody has had to do with for long. Gives those that had an engine.
    pub(crate) async fn unload_idle(&self) -> Vec<ConversationId> {
        let is_idle =
            |resident: &Arc<Resident>| !resident.is_running() && resident.idle_for() >= self.idle_limit;
        // The map's own is the only one: no request and no socket has it.
        let unused = |resident: &&Arc<Resident>| Arc::strong_count(resident) == 1 && is_idle(resident);
        let candidates: Vec<_> = self.residents().values().filter(unused).cloned().collect();
        let mut unloaded = Vec::new();
        for resident in candidates {
            let engine = resident.engine.get().map(|running| &running.conversation);
            let state = match engine {
                Some(engine) => engine.inspect().await.ok(),
                None => None,
            };
            if state.is_some_and(|state| state.status == Status::Running) {
                continue; // it goes on though nobody has asked for it by a request of its own
            }
            {
                let mut residents = self.residents();
                if Arc::strong_count(&resident) > 2 || !is_idle(&resident) {
                    continue; // somebody has come
                }
                residents.remove(&resident.id);
            }
            if let Some(engine) = engine {
                engine.close(ExecutorFate::Keep).await;
                unloaded.push(resident.id);
            }
        }
        unloaded
    }

    /// Pauses what runs, says goodbye to all who watch, and leaves the executors alone: the next server finds
    /// them.
    pub(crate) async fn stop(&self) {
        let residents: Vec<_> = self.residents().drain().map(|(_, resident)| resident).collect();
        let stop = |resident: Arc<Resident>| async move {
            let Some(running) = resident.engine.get() else {
                resident.farewell.send_replace(Some(Farewell::Stopping));
                return;
            };
            if let Err(error) = running.conversation.pause().await {
                tracing::warn!(conversation = %resident.id, %error, "a conversation could not be paused");
            }
            resident.farewell.send_replace(Some(Farewell::Stopping));
            running.conversation.close(ExecutorFate::Keep).await;
        };
        let all = async {
            self.goals.stop().await;
            futures::future::join_all(residents.into_iter().map(stop)).await;
            self.watchers.close();
            self.watchers.wait().await;
        };
        if tokio::time::timeout(CLOSE_LIMIT, all).await.is_err() {
            tracing::warn!("not every conversation could be paused in time");
        }
    }
}
