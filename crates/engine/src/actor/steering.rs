//! What stops a run, and what moves it to another place of the log.

use std::time::Duration;

use deft_executor::{Client, Update};
use deft_llm::Request;
use deft_store::StoreError;
use deft_types::{
    ActionId, Event, EventBody, EventId, FailureKind, InterruptEvent, PauseEvent, Source, Status,
};
use serde_json::json;

use super::Actor;
use super::calls::Calls;
use super::execute;
use super::refine::Reviewing;
use super::work::{Outcome, Work};
use crate::aside::Snapshot;
use crate::branch;
use crate::budget::{Limit, Reached};
use crate::command::{CommandError, ExecutorFate};
use crate::live::Live;
use crate::state::{self, key};
use crate::status::Trigger;
use crate::turn::{Draft, failure};

/// The result of a call that somebody stopped.
const INTERRUPTED: &str = "Interrupted by the user before it was completed.";
/// The result of a call that took longer than the run may.
const TIME_IS_OVER: &str = "Stopped before it was completed: the time for this run is over.";
/// How long a tool that was told to stop may take to say what it had done.
const STOP_GRACE: Duration = Duration::from_millis(700);
/// The same for an agent with a task, which has to stop its own tools first.
const TASK_GRACE: Duration = Duration::from_secs(2);
/// How long files may take to be restored that are half restored.
const RESTORE_GRACE: Duration = Duration::from_mins(1);
/// How long an executor may take to end everything it started.
const END_GRACE: Duration = Duration::from_secs(5);

/// What is left of work that was stopped.
#[derive(Default)]
struct Stopped {
    /// What calls had done.
    results: Vec<(ActionId, Draft)>,
    /// What the model had said.
    said: Vec<Draft>,
}

impl Actor {
    /// Stands at another event. What has ended has ended still, as in the contract: the next message goes on from there.
    pub(super) async fn navigate(&mut self, to: Option<EventId>) -> Result<(), CommandError> {
        self.stand_at(to, |_| Trigger::Reject).await
    }

    /// Goes back to an event, to go on from there: what is to be answered there is not answered yet.
    pub(super) async fn go_back(&mut self, to: EventId) -> Result<(), CommandError> {
        let trigger = |there: Option<&Event>| {
            if there.is_some_and(ends_turn) {
                Trigger::Reject
            } else {
                Trigger::Move
            }
        };
        self.stand_at(Some(to), trigger).await
    }

    /// What was open there is not run: it has a result elsewhere, or was given up. Both are one append, so that no crash
    /// leaves open what may have run. `trigger` says what it means for the status to stand at an event.
    async fn stand_at(
        &mut self,
        to: Option<EventId>,
        trigger: impl FnOnce(Option<&Event>) -> Trigger,
    ) -> Result<(), CommandError> {
        self.finish_record().await;
        if self.state.status == Status::Running || self.work.is_some() {
            return Err(CommandError::Running);
        }
        let events = branch::read_all(self.store.as_ref(), self.lease.conversation()).await?;
        let known = |id: &EventId| {
            let mut nodes = events.iter().filter(|event| branch::is_node(event));
            let found = nodes.find(|event| event.id == *id);
            found.ok_or_else(|| CommandError::NoSuchEvent(id.clone()))
        };
        let moved = trigger(to.as_ref().map(known).transpose()?);
        let mut drafts = vec![Draft::new(
            Source::Environment,
            state::update(key::LEAF, json!(to)),
        )];
        drafts.extend(self.status_after(moved));
        drafts.extend(self.forget_session());
        let there = branch::fold_at(&events, to);
        drafts.extend(there.open_calls.iter().map(|call| {
            let text = "No result is known here: the conversation went on from this place.".to_owned();
            Draft::new(
                Source::Agent,
                failure(&call.event.tool_call, text, FailureKind::AgentAction),
            )
        }));
        let before = std::mem::replace(&mut self.state, there);
        let moved = self.record(drafts).await;
        match moved {
            Ok(()) => self.reviewing = Reviewing::default(), // it was about another place
            Err(_) => self.state = before,
        }
        Ok(moved?)
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot, CommandError> {
        if let Some(spent) = self.spent_budget() {
            return Err(CommandError::BudgetSpent(spent));
        }
        Ok(Snapshot {
            model: self.model.clone(),
            judge: self.judging_model(),
            request: Request {
                messages: self.state.view.whole_messages(),
                tools: self.tools.schemas(),
                cache_key: Some(self.lease.conversation().to_string()),
            },
            asked: self.asked_aside(),
        })
    }

    pub(super) async fn pause(&mut self) -> Result<(), StoreError> {
        self.drop_held();
        let Some(paused) = self.status_after(Trigger::Pause) else {
            return Ok(());
        };
        self.ends_step = self.state.status == Status::Running;
        self.leave_seeking();
        self.work.take_if(|work| matches!(work, Work::Await { .. }));
        self.record(vec![paused, Draft::new(Source::User, PauseEvent::default())])
            .await
    }

    /// Stops what is under way, gives every open call its result, and pauses.
    pub(super) async fn interrupt(&mut self) -> Result<(), StoreError> {
        self.drop_held();
        let stopped = self.stop_work().await?;
        let paused = self.status_after(Trigger::Interrupt);
        if paused.is_none() && self.state.open_calls.is_empty() && stopped.said.is_empty() {
            return Ok(());
        }
        let mut ending: Vec<_> = paused.into_iter().collect();
        ending.push(Draft::new(Source::User, InterruptEvent::default()));
        self.record_stopped(stopped, INTERRUPTED, ending).await
    }

    /// Stops what is under way because the time for the run is over: one command can take longer than all of it.
    pub(super) async fn stop_in_time(&mut self) -> Result<(), StoreError> {
        let stopped = self.stop_work().await?;
        // What was stopped may have been the review of a result that is there.
        let is_over = self.state.status != Status::Running && self.state.open_calls.is_empty();
        if is_over && stopped.said.is_empty() {
            return Ok(());
        }
        let ending = self.out_of(Reached::Here(Limit::Time));
        self.record_stopped(stopped, TIME_IS_OVER, ending).await
    }

    /// Stores what is left of work that was stopped, and a result for every open call that has none.
    async fn record_stopped(
        &mut self,
        stopped: Stopped,
        reason: &str,
        ending: Vec<Draft>,
    ) -> Result<(), StoreError> {
        let answered: Vec<_> = stopped.results.iter().map(|(call, _)| call.clone()).collect();
        let mut drafts: Vec<_> = self.spent().into_iter().collect();
        if !stopped.said.is_empty() {
            drafts.extend(self.unseen());
        }
        drafts.extend(stopped.said);
        drafts.extend(stopped.results.into_iter().map(|(_, result)| result));
        for call in self
            .state
            .open_calls
            .iter()
            .filter(|call| !answered.contains(&call.id))
        {
            drafts.push(Draft::new(
                Source::Agent,
                failure(&call.event.tool_call, reason.to_owned(), FailureKind::AgentAction),
            ));
        }
        let calls: Vec<_> = self.state.open_calls.iter().map(|call| call.id.clone()).collect();
        drafts.extend(ending);
        self.record(drafts).await?;
        if let Some(executor) = &self.executor {
            for call in calls {
                executor.acknowledge(call).await;
            }
        }
        Ok(())
    }

    /// Ends the work under way. Tools get a moment to say what they had done by then.
    async fn stop_work(&mut self) -> Result<Stopped, StoreError> {
        let mut stopped = Stopped::default();
        self.leave_seeking();
        self.keep_uncriticised().await?;
        match self.work.take() {
            Some(Work::Model {
                item, tally, heard, ..
            }) => {
                stopped.said = heard.interrupted(&item);
                if stopped.said.is_empty() {
                    self.live.show(Live::ReplyAborted { item });
                }
                self.count_cut_off(&tally).await?;
            }
            // An executor that is being started must be known, to be ended.
            Some(connecting @ Work::Connect { .. }) => self.work = Some(connecting),
            // What becomes of the files is told when it is known.
            Some(Work::Restore { future, cancel }) => {
                cancel.cancel();
                self.work = Some(Work::Restore { future, cancel });
            }
            Some(Work::Summary { tally, .. }) => {
                self.tell_condensed(|| Err(CommandError::Interrupted));
                self.count_cut_off(&tally).await?;
            }
            Some(Work::Calls(calls)) => stopped.results = self.stop_calls(calls).await,
            Some(Work::Hooks { future, cancel }) => {
                cancel.cancel();
                let _ = tokio::time::timeout(STOP_GRACE, future).await; // nobody asks any more what they say
            }
            Some(Work::Rerun { future, cancel }) => {
                cancel.cancel();
                if let Ok(Outcome::Reran { rerun, request, done }) =
                    tokio::time::timeout(STOP_GRACE, future).await
                {
                    self.take_rerun(rerun, request, done).await?;
                }
            }
            Some(Work::Turn(turn)) => stopped.said = self.stop_turn(*turn).await,
            // The executor finishes a record without us, and a program nobody talks to is ended there.
            Some(
                Work::Record { .. }
                | Work::Review { .. }
                | Work::Reach { .. }
                | Work::Await { .. }
                | Work::LookUp { .. }
                | Work::Seek(_)
                | Work::Begin { .. },
            )
            | None => {}
        }
        Ok(stopped)
    }

    async fn stop_calls(&mut self, mut calls: Calls) -> Vec<(ActionId, Draft)> {
        let mut results = Vec::new();
        if !self.is_writer().await {
            return results;
        }
        calls.cancel().await;
        let grace = if calls.are_here() { TASK_GRACE } else { STOP_GRACE };
        let deadline = tokio::time::Instant::now() + grace;
        let mut ended = Vec::new();
        while let Ok(Some(outcome)) = tokio::time::timeout_at(deadline, calls.next()).await {
            ended.push(outcome);
        }
        ended.extend(calls.ended_early()); // one that does not stop keeps nobody else's result
        for outcome in ended {
            let Outcome::Tool { call, update } = outcome else {
                continue;
            };
            if update == Update::Lost {
                self.executor = None;
            }
            results.extend(execute::result_of(&call, update).map(|result| (call.id, result)));
        }
        results
    }

    pub(super) async fn end_work(&mut self, fate: ExecutorFate) {
        let mut work = self.work.take();
        if let Err(error) = self.keep_uncriticised().await {
            tracing::warn!(%error, "the last reply is not kept");
        }
        if let Some(Work::Restore { future, cancel }) = &mut work {
            cancel.cancel();
            if let Ok(Outcome::Restored(restored, restoring)) =
                tokio::time::timeout(RESTORE_GRACE, future).await
            {
                self.take_restored(restored, restoring).await;
            }
        }
        if let Some(Work::Model { tally, .. } | Work::Summary { tally, .. }) = &work
            && let Err(error) = self.count_cut_off(tally).await
        {
            tracing::warn!(%error, "what the last call used is not counted");
        }
        // Whoever took the conversation over has the executor too.
        if fate == ExecutorFate::Keep || !self.is_writer().await {
            return;
        }
        let client = match (self.executor.take(), work) {
            (Some(client), _) => Some(client),
            (None, Some(mut connecting @ Work::Connect { .. })) => {
                match tokio::time::timeout(END_GRACE, connecting.next()).await {
                    Ok(Some(Outcome::Connected(Ok((client, _))))) => Some(client),
                    _ => None,
                }
            }
            // None was needed by us, but one of before may still be there.
            (None, _) => match self.workspace.find().await {
                Some(stream) => Client::connect(stream).await.ok(),
                None => None,
            },
        };
        if let Some(client) = client {
            let end = async {
                client.shutdown().await;
                self.workspace.ended().await;
            };
            let _ = tokio::time::timeout(END_GRACE, end).await;
        }
    }
}

/// Whether nothing is left to answer behind an event.
fn ends_turn(event: &Event) -> bool {
    match &event.body {
        EventBody::Message(_) => event.source == Source::Agent,
        EventBody::Observation(result) => result.observation.kind() == "FinishObservation",
        _ => false,
    }
}
