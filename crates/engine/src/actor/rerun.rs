//! Does again in the workspace what was done in it.

use std::collections::HashMap;

use deft_executor::{Client, Outcome as CallOutcome, Update};
use deft_store::StoreError;
use deft_types::{Action, ActionEvent, ActionId, EventBody, EventId, Source, ToolSpec};
use futures::FutureExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::handle::{Answered, answer};
use super::work::{Outcome, Work};
use crate::branch;
use crate::command::{CommandError, Done};
use crate::rerun::Rerun;
use crate::state::{self, key};
use crate::turn::Draft;

/// How the ids begin of calls that are made again: they stand in no log.
const ID_PREFIX: &str = "rerun-";

/// A call that was made, and whether it failed.
struct Past {
    /// What it is called now.
    id: ActionId,
    tool: String,
    action: Action,
    failed: bool,
}

impl Actor {
    /// Begins, in a conversation that does nothing else.
    pub(super) async fn rerun(&mut self, done: Done<Rerun>) -> Option<Answered> {
        let cancel = CancellationToken::new();
        let may = self.may_change_files();
        let client = match may.and_then(|()| self.idle_executor(cancel.clone())) {
            Ok(client) => client,
            Err(error) => return Some(answer(done, Err(error))),
        };
        let calls = match self.past_calls().await {
            Ok(calls) => calls,
            Err(error) => return Some(answer(done, Err(error))),
        };
        let secrets = self.outfit.secrets.values.clone();
        let stop = cancel.clone();
        let request = self.request.take();
        let again = async move {
            let rerun = async {
                let client = client.await?;
                client.set_secrets(secrets).await;
                Ok(run_all(&client, calls, &stop).await)
            };
            let rerun = rerun.await;
            Outcome::Reran { rerun, request, done }
        };
        self.work = Some(Work::Rerun {
            future: again.boxed(),
            cancel,
        });
        None
    }

    /// Notes what came of it.
    pub(super) async fn take_rerun(
        &mut self,
        rerun: Result<Rerun, CommandError>,
        request: Option<(EventId, &'static str)>,
        done: Done<Rerun>,
    ) -> Result<(), StoreError> {
        let rerun = match rerun {
            Ok(rerun) => rerun,
            Err(error) => {
                let _ = done.send(Err(error));
                return Ok(());
            }
        };
        let told = state::update(key::RERUN, json!(rerun));
        self.request = request;
        let mut drafts = vec![Draft::new(Source::Environment, told)];
        drafts.extend(self.note(&rerun));
        let noted = self.record(drafts).await;
        let _ = done.send(noted.clone().map(|()| rerun).map_err(Into::into));
        noted
    }

    /// The calls on the way to here that ran beside the files and may have changed something.
    async fn past_calls(&mut self) -> Result<Vec<Past>, StoreError> {
        let events = branch::read_all(self.store.as_ref(), self.lease.conversation()).await?;
        let way = branch::path(&events, self.state.leaf.as_ref());
        let results: HashMap<_, _> = way
            .iter()
            .filter_map(|event| match &event.body {
                EventBody::Observation(result) => Some((&result.action_id, result.observation.is_error())),
                _ => None,
            })
            .collect();
        let changes = |action: &ActionEvent| {
            let tool = self.tools.find(&action.tool_name);
            self.host.get(&action.tool_name).is_none() && !tool.is_some_and(ToolSpec::is_read_only)
        };
        let past = way.iter().filter_map(|event| match &event.body {
            EventBody::Action(action) if changes(action) => Some(Past {
                id: EventId(format!("{ID_PREFIX}{}", self.world.new_id())),
                tool: action.tool_name.clone(),
                action: action.action.clone()?,
                failed: *results.get(&event.id)?,
            }),
            _ => None,
        });
        Ok(past.collect())
    }
}

async fn run_all(client: &Client, calls: Vec<Past>, stop: &CancellationToken) -> Rerun {
    let mut rerun = Rerun {
        of: calls.len(),
        ..Rerun::default()
    };
    for past in calls {
        let Past { tool, failed, .. } = &past;
        match run_one(client, &past, stop).await {
            Err(reason) if !*failed || stop.is_cancelled() => {
                rerun.stopped = Some(format!("call {} ({tool}): {reason}", rerun.done + 1));
                break;
            }
            Ok(()) | Err(_) => rerun.done += 1,
        }
    }
    rerun
}

async fn run_one(client: &Client, past: &Past, stop: &CancellationToken) -> Result<(), String> {
    let id = past.id.clone();
    let mut running = client
        .call(id.clone(), past.tool.clone(), past.action.clone())
        .await;
    let ended = loop {
        let update = tokio::select! {
            update = running.next() => update,
            () = stop.cancelled() => {
                client.cancel(id.clone()).await;
                running.next().await
            }
        };
        match update {
            Update::Output(_) => {}
            Update::Ended(outcome) => break outcome,
            Update::Unknown | Update::Lost => return Err("the workspace cannot be reached".to_owned()),
        }
    };
    client.acknowledge(id).await;
    match ended {
        _ if stop.is_cancelled() => Err("it was interrupted".to_owned()),
        CallOutcome::Observed { observation } if observation.is_error() => {
            Err(deft_types::text_of(&observation.content()))
        }
        CallOutcome::Observed { .. } => Ok(()),
        CallOutcome::Failed { message } => Err(message),
    }
}
