//! Runs the calls of replies, and takes what became of them.

use deft_executor::{Outcome as CallOutcome, Update};
use deft_store::StoreError;
use deft_types::{Action, Extra, FailureKind, Observation, ObservationEvent, Source, ToolSpec};
use serde_json::json;
use uuid::Uuid;

use super::Actor;
use super::calls::{Ask, Calls};
use super::work::Work;
use crate::model_tools::INSPECT_IMAGE;
use crate::route_task::ROUTE_TASK;
use crate::state::{self, OpenCall, key};
use crate::task_tool::cut_off;
use crate::turn::{Draft, failure};
use crate::world::Point;

/// How often a call's executor may be lost before the call counts as lost too.
const MAX_LOSSES: u32 = 3;
/// The result of a call whose executor is gone.
const LOST: &str = "The process that ran this call is gone, and its result with it. The call may have done all, some \
                    or none of its work: look before you repeat it.";

impl Actor {
    /// Runs the next calls that can run together: those up to the first that runs at another place. A call of which
    /// nobody can tell any more whether it ran before is not run again.
    pub(super) async fn execute(&mut self) -> Result<(), StoreError> {
        self.heed_secrets_above().await?;
        let mut lost_calls = Vec::new();
        let mut here = Vec::new();
        let mut there = Vec::new();
        for call in self
            .state
            .open_calls
            .iter()
            .take(self.limits.parallel_calls.max(1))
        {
            if call.event.action.is_none() {
                lost_calls.push(lost(call)); // never valid; its answer was cut off
                continue;
            }
            match self.host.get(&call.event.tool_name) {
                Some(_) if !there.is_empty() => break,
                Some(tool) => {
                    if self.unsent.contains(&call.id) || self.may_repeat(call) {
                        here.push((tool, call.clone()));
                    } else {
                        lost_calls.push(self.lost_here(call));
                    }
                }
                None if here.is_empty() => there.push(call.clone()),
                None => break,
            }
        }
        if !lost_calls.is_empty() {
            return self.record(lost_calls).await;
        }
        if there.is_empty() {
            for (_, call) in &here {
                self.unsent.remove(&call.id);
            }
            // To find the images takes the longer the more was said, so it is done only for those who want one.
            if here.iter().any(|(_, call)| call.event.tool_name == INSPECT_IMAGE) {
                self.images.set(self.state.view.images());
            }
            if here.iter().any(|(_, call)| call.event.tool_name == ROUTE_TASK) {
                self.said.set(&self.state.view.messages());
            }
            for (_, call) in here.iter().filter(|(_, call)| !call.waiting.is_empty()) {
                self.tasks.approve(call.id.clone(), call.waiting.clone());
            }
            self.fill_purse();
            self.hand_down();
            let here = here
                .into_iter()
                .map(|(tool, call)| (tool, self.trace.tool_call(&call), call));
            self.work = Some(Work::Calls(Calls::here(here.collect(), &self.live, &self.world)));
            return Ok(());
        }
        self.execute_there(there).await
    }

    async fn execute_there(&mut self, calls: Vec<OpenCall>) -> Result<(), StoreError> {
        let Some(client) = self.executor.clone().filter(|client| !client.is_closed()) else {
            self.connect();
            return Ok(());
        };
        if self.record_turn(&client, &calls) || self.look_up_secrets(&calls) {
            return Ok(());
        }
        let executor = client.hello().instance;
        let mut lost_calls = Vec::new();
        let mut asked = Vec::new();
        for call in calls {
            if self.unsent.remove(&call.id) || self.may_repeat(&call) {
                asked.push((Ask::Call, self.trace.tool_call(&call), call));
            } else if call.executors.contains(&executor) {
                asked.push((Ask::Collect, self.trace.tool_call(&call), call));
            } else {
                lost_calls.push(lost(&call));
            }
        }
        if !asked.is_empty() {
            self.work = Some(Work::Calls(Calls::executor(
                client,
                asked,
                self.live.clone(),
                self.world.clone(),
            )));
        }
        self.record(lost_calls).await
    }

    /// Calls that another executor may have run are lost with it.
    pub(super) async fn record_executor(&mut self, instance: Uuid) -> Result<(), StoreError> {
        let mut drafts = vec![Draft::new(
            Source::Environment,
            state::update(key::EXECUTOR, json!(instance)),
        )];
        for call in &self.state.open_calls {
            if !call.executors.is_empty() && !self.unsent.contains(&call.id) && !self.may_repeat(call) {
                drafts.push(lost(call));
            }
        }
        self.record(drafts).await
    }

    /// The result of a call whose process has died. An agent that worked on a task there can be told to go on.
    fn lost_here(&self, call: &OpenCall) -> Draft {
        match (&call.event.action, self.tasks.cut_off_in(&call.id)) {
            (Some(Action::Task(action)), Some(task)) => {
                self.tasks.give(task.clone(), action.subagent_type.clone());
                let result = observed(call, cut_off(&task, action).into());
                Draft::new(Source::Environment, result)
            }
            _ => lost(call),
        }
    }

    pub(super) fn may_repeat(&self, call: &OpenCall) -> bool {
        let name = &call.event.tool_name;
        match self.host.get(name) {
            Some(tool) => tool.may_repeat(),
            None => self.tools.find(name).is_some_and(ToolSpec::is_idempotent),
        }
    }

    pub(super) async fn take_tool(&mut self, call: &OpenCall, update: Update) -> Result<(), StoreError> {
        match update {
            Update::Unknown => {
                // The only executor that could have heard of it has not: it never ran. What a server elsewhere offered, and
                // does not offer now, may have run in a process that is gone.
                let name = &call.event.tool_name;
                let is_executors = self.tools.find(name).is_some() && self.host.get(name).is_none();
                if is_executors
                    && call
                        .executors
                        .iter()
                        .all(|executor| Some(*executor) == self.state.executor)
                {
                    self.unsent.insert(call.id.clone());
                    return Ok(());
                }
                self.record(vec![lost(call)]).await
            }
            Update::Lost => {
                self.executor = None; // connect again and ask there
                self.work = None; // for all of them
                self.trouble.losses += 1;
                if self.trouble.losses < MAX_LOSSES {
                    return Ok(());
                }
                self.trouble.losses = 0;
                self.record(vec![lost(call)]).await
            }
            update @ (Update::Ended(_) | Update::Output(_)) => {
                if let Some(waiting) = self.tasks.begun_to_wait(&call.id) {
                    return self.take_waiting(call, waiting).await;
                }
                let observed = matches!(update, Update::Ended(CallOutcome::Observed { .. }));
                let switch_to = switched_to(&update);
                let mut drafts: Vec<_> = self.spent().into_iter().chain(self.new_delegates()).collect();
                let mut result = result_of(call, update);
                drafts.extend(self.requested(result.as_mut()).await);
                drafts.extend(self.add_path_rules(call, result.as_mut()));
                self.tell_hooks(call, result.as_ref());
                drafts.extend(result);
                self.trouble.losses = 0;
                // A message that came meanwhile has not been answered, and a call that a person changed comes behind.
                let is_last = self.state.open_calls.len() == 1 && !self.state.view.has_waiting();
                if call.event.tool_name == "finish" && observed && is_last {
                    drafts.extend(self.turn_ended());
                }
                self.record(drafts).await?;
                self.world.reached(Point::BeforeAcknowledge);
                if let Some(executor) = &self.executor {
                    executor.acknowledge(call.id.clone()).await;
                }
                self.world.reached(Point::AfterAcknowledge);
                if let Some((name, models)) = switch_to.zip(self.models.clone())
                    && let Ok(model) = models.open(&name)
                {
                    self.switch_model(name, model).await?;
                }
                Ok(())
            }
        }
    }
}

/// The model that a call asks for.
fn switched_to(update: &Update) -> Option<String> {
    match update {
        Update::Ended(CallOutcome::Observed { observation }) => match observation.as_ref() {
            Observation::SwitchLLM(switch) if !switch.is_error => Some(switch.profile_name.clone()),
            Observation::ClassifyAndSwitchLLM(switch) if !switch.is_error => switch.model.clone(),
            _ => None,
        },
        _ => None,
    }
}

/// The event that answers a call, where there is an answer.
pub(super) fn result_of(call: &OpenCall, update: Update) -> Option<Draft> {
    match update {
        Update::Ended(CallOutcome::Observed { observation }) => {
            Some(Draft::new(Source::Environment, observed(call, *observation)))
        }
        Update::Ended(CallOutcome::Failed { message }) => {
            let error = format!("Error executing tool '{}': {message}", call.event.tool_name);
            Some(Draft::new(
                Source::Agent,
                failure(&call.event.tool_call, error, FailureKind::AgentAction),
            ))
        }
        Update::Output(_) | Update::Unknown | Update::Lost => None,
    }
}

fn lost(call: &OpenCall) -> Draft {
    Draft::new(
        Source::Agent,
        failure(&call.event.tool_call, LOST.to_owned(), FailureKind::Internal),
    )
}

fn observed(call: &OpenCall, observation: Observation) -> ObservationEvent {
    ObservationEvent {
        tool_name: call.event.tool_name.clone(),
        tool_call_id: call.event.tool_call_id.clone(),
        observation,
        action_id: call.id.clone(),
        extended_content: Vec::new(),
        extra: Extra::new(),
    }
}
