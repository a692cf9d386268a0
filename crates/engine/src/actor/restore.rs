//! The files of the workspace become what they were. That takes its time, and the conversation hears what it is told meanwhile.

use deft_store::StoreError;
use deft_tools::{CheckpointId, Overwrite, Restored};
use deft_types::{EventId, Source, Status};
use futures::FutureExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::files::workspace;
use super::handle::Answered;
use super::work::{Outcome, Work};
use crate::command::CommandError;
use crate::state::{self, key};
use crate::turn::Draft;

const WENT_ON: &str = "the files are what they were, but the conversation went on meanwhile and stays where it is. Rewind it \
                       alone if that is still wanted";

/// What is to be done once the files are what they were.
pub(crate) struct Restoring {
    /// What they are restored to.
    to: CheckpointId,
    /// Where the conversation goes then, if it does.
    then: Option<EventId>,
    /// Where it stood.
    stood: Option<EventId>,
    request: Option<(EventId, &'static str)>,
    tell: Tell,
}

/// Answers whoever asked for it.
pub(super) type Tell = Box<dyn FnOnce(Result<Restored, CommandError>) -> Answered + Send>;

impl Actor {
    /// Begins, in a conversation that does nothing else; goes to an event afterwards.
    pub(super) fn restore_files(
        &mut self,
        to: CheckpointId,
        overwrite: Overwrite,
        then: Option<EventId>,
        tell: Tell,
    ) -> Option<Answered> {
        let cancel = CancellationToken::new();
        let may = self.may_change_files();
        let client = match may.and_then(|()| self.idle_executor(cancel.clone())) {
            Ok(client) => client,
            Err(error) => return Some(tell(Err(error))),
        };
        let restoring = Restoring {
            to,
            then,
            stood: self.state.leaf.clone(),
            request: self.request.take(),
            tell,
        };
        let restore = async move {
            let restored = async { client.await?.restore(to, overwrite).await.map_err(workspace) };
            Outcome::Restored(restored.await, restoring)
        };
        self.work = Some(Work::Restore {
            future: restore.boxed(),
            cancel,
        });
        None
    }

    /// Notes what came of it, goes where it was to go, and answers.
    pub(super) async fn take_restored(
        &mut self,
        restored: Result<Restored, CommandError>,
        restoring: Restoring,
    ) {
        let restored = match restored {
            Ok(restored) => self
                .note_restored(restoring.to, restored)
                .await
                .map_err(Into::into),
            Err(error) => Err(error),
        };
        let restored = match (restored, restoring.then) {
            (Ok(_), Some(_))
                if self.state.leaf != restoring.stood || self.state.status == Status::Running =>
            {
                Err(CommandError::Workspace(WENT_ON.to_owned()))
            }
            (Ok(restored), Some(to)) => self.go_back(to).await.map(|()| restored),
            (restored, _) => restored,
        };
        self.request = restoring.request;
        self.tell((restoring.tell)(restored)).await;
    }

    async fn note_restored(&mut self, to: CheckpointId, restored: Restored) -> Result<Restored, StoreError> {
        let told = state::update(
            key::RESTORED,
            json!({"checkpoint": to, "undo": restored.undo, "changed": restored.changes.len()}),
        );
        self.record(vec![Draft::new(Source::Environment, told)]).await?;
        Ok(restored)
    }
}
