//! What the actor asks of the workspace besides calls: records of it, and the way back to them.

use std::time::Duration;

use deft_executor::Client;
use deft_store::StoreError;
use deft_tools::{Change, CheckpointId};
use deft_types::{Source, Status, ToolSpec};
use futures::future::BoxFuture;
use futures::{FutureExt, TryFutureExt};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::work::{self, Outcome, Work};
use crate::command::{CommandError, Done};
use crate::mode::Mode;
use crate::secret_lookup::SecretSources;
use crate::state::{self, OpenCall, key};
use crate::turn::Draft;

/// Why no file is changed for an agent that plans.
const PLANS: &str = "the agent only plans, so no file of the workspace is changed. Let it work (approve the plan, or leave plan \
                     mode), then go back; the conversation alone can be rewound now";

/// How long a turn may wait until the workspace is recorded; then it goes on without.
const RECORD_LIMIT: Duration = Duration::from_secs(10);
/// How long a workspace may take to answer somebody who waits.
const PREVIEW_LIMIT: Duration = Duration::from_secs(30);
/// How many may wait for one at once.
const MAX_PREVIEWS: usize = 8;
const UNREACHED: &str =
    "the workspace does not answer; look whether its machine or container is there, and try again";

/// What is noted of the files that the agent changes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Noted {
    /// What it left: what changes from now on is somebody else's work.
    #[default]
    Settled,
    /// What they were before this turn.
    BeforeTurn,
    /// What they were before an earlier turn, and not yet what it left.
    BeforeEarlierTurn,
}

impl Noted {
    /// The user has said something, whether the agent has ended or not.
    pub(crate) fn begin_turn(&mut self) {
        if *self == Self::BeforeTurn {
            *self = Self::BeforeEarlierTurn;
        }
    }
}

impl Actor {
    /// Begins to record the workspace before the first calls of a turn that may change it; whether it has.
    pub(crate) fn record_turn(&mut self, client: &Client, calls: &[OpenCall]) -> bool {
        let changes = |call: &OpenCall| {
            let tool = self.tools.find(&call.event.tool_name);
            self.unsent.contains(&call.id) && !tool.is_some_and(ToolSpec::is_read_only)
        };
        calls.iter().any(changes) && self.record_workspace(client)
    }

    /// Begins to record the workspace, once a turn; whether it has.
    pub(super) fn record_workspace(&mut self, client: &Client) -> bool {
        if !self.outfit.checkpoints || self.noted == Noted::BeforeTurn {
            return false;
        }
        self.noted = Noted::BeforeTurn;
        let label = self.state.last_user_message_id.as_ref().map(ToString::to_string);
        let client = client.clone();
        let record = async move {
            let taken =
                tokio::time::timeout(RECORD_LIMIT, client.checkpoint(label.unwrap_or_default())).await;
            let taken = taken.map_err(|_| "it takes too long".to_owned());
            let taken = taken.and_then(|taken| taken.map_err(|error| error.to_string()));
            if let Err(error) = &taken {
                tracing::warn!(%error, "the workspace could not be recorded");
            }
            Outcome::Recorded(taken.ok())
        };
        self.work = Some(Work::Record {
            future: record.boxed(),
        });
        true
    }

    pub(crate) async fn take_checkpoint(&mut self, id: Option<CheckpointId>) -> Result<(), StoreError> {
        let Some(id) = id else { return Ok(()) };
        let told = state::update(key::CHECKPOINT, json!(id));
        self.record(vec![Draft::new(Source::Environment, told)]).await
    }

    /// Has the executor note what the agent left, so that what changes from now on is known to be somebody else's.
    pub(crate) fn settle_files(&mut self) {
        let Some(client) = self
            .executor
            .clone()
            .filter(|_| self.noted != Noted::Settled && self.work.is_none())
        else {
            return;
        };
        self.noted = Noted::Settled;
        let settle = async move {
            if let Err(error) = client.settle().await {
                tracing::warn!(%error, "what the agent left could not be recorded");
            }
            Outcome::Recorded(None)
        };
        self.work = Some(Work::Record {
            future: settle.boxed(),
        });
    }

    pub(crate) async fn set_secrets(&mut self, secrets: SecretSources) -> Result<(), StoreError> {
        self.secrets.set(secrets.values.clone()); // before anything can show them
        if let Some(client) = &self.executor {
            client.set_secrets(secrets.values.clone()).await;
        }
        let told = state::update(key::SECRETS, json!(secrets.names()));
        self.record(vec![Draft::new(Source::Environment, told)]).await?;
        self.outfit.secrets = secrets;
        self.asked_secrets.clear();
        self.hand_down();
        if let Some(external) = &mut self.external {
            external.leave(); // its variables are those it was started with
        }
        Ok(())
    }

    /// Tells what going back would change, apart from the conversation, but not longer than that is open.
    pub(super) fn preview_files(&mut self, to: CheckpointId, done: Done<Vec<Change>>) {
        while self.previews.try_join_next().is_some() {}
        if self.previews.len() >= MAX_PREVIEWS {
            let _ = done.send(Err(CommandError::Running));
            return;
        }
        let client = self.idle_executor(CancellationToken::new()); // nobody stops it
        self.previews.spawn(async move {
            let preview = async {
                let client = client?.await?;
                let preview = tokio::time::timeout(PREVIEW_LIMIT, client.preview(to)).await;
                preview.map_err(|_| workspace(UNREACHED))?.map_err(workspace)
            };
            let _ = done.send(preview.await);
        });
    }

    /// Whether files are being changed for somebody: no run begins among them.
    pub(super) fn changes_files(&self) -> bool {
        matches!(self.work, Some(Work::Restore { .. } | Work::Rerun { .. }))
    }

    /// Refuses what would change files while the agent only plans, for whom the workspace can only be read.
    pub(super) fn may_change_files(&self) -> Result<(), CommandError> {
        match self.mode {
            Mode::Act => Ok(()),
            Mode::Plan => Err(CommandError::Workspace(PLANS.to_owned())),
        }
    }

    /// Reaches the executor of a conversation that does nothing else, and that hears what it is told meanwhile. Until it is
    /// reached that can be stopped.
    pub(super) fn idle_executor(
        &mut self,
        stop: CancellationToken,
    ) -> Result<BoxFuture<'static, Result<Client, CommandError>>, CommandError> {
        let mut record = self.ending_record();
        if self.state.status == Status::Running || self.work.is_some() {
            return Err(CommandError::Running);
        }
        let there = self.executor.clone().filter(|client| !client.is_closed());
        let (place, live) = (self.workspace.clone(), self.live.clone());
        let reach = async move {
            if let Some(record) = &mut record {
                let _ = tokio::time::timeout(RECORD_LIMIT, record.next()).await;
            }
            if let Some(client) = there {
                return Ok(client);
            }
            let connect = live.show_preparation(place.as_ref(), work::connected(place.as_ref()));
            connect.map_err(workspace).await
        };
        let reach = async move {
            let reached = stop.run_until_cancelled_owned(reach).await;
            reached.unwrap_or(Err(CommandError::Interrupted))
        };
        Ok(reach.boxed())
    }

    /// Waits for the record of a turn that has ended.
    pub(super) async fn finish_record(&mut self) {
        if let Some(mut record) = self.ending_record() {
            let _ = tokio::time::timeout(RECORD_LIMIT, record.next()).await;
        }
    }

    fn ending_record(&mut self) -> Option<Work> {
        let has_ended = self.state.status != Status::Running;
        self.work
            .take_if(|work| has_ended && matches!(work, Work::Record { .. }))
    }
}

pub(super) fn workspace(error: impl std::fmt::Display) -> CommandError {
    CommandError::Workspace(error.to_string())
}
