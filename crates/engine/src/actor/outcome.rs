//! The loop: what to do next, and what to make of what came.

use deft_executor::{Outcome as CallOutcome, Update};
use deft_llm::{FinishReason, Model, ModelError, Reply, Request, Spent};
use deft_store::StoreError;
use deft_types::{
    Classification, ConversationErrorEvent, EventId, Extra, FailureKind, Message, MessageEvent, Observation,
    ObservationEvent, Role, Source, Stats, Tokens, ToolSpec,
};
use serde_json::json;
use uuid::Uuid;

use super::Actor;
use super::calls::{Ask, Calls};
use super::spending;
use super::tally::Tally;
use super::work::{Outcome, Work};
use crate::model_tools::ModelUse;
use crate::risk::Verdict;
use crate::state::{self, OpenCall, key};
use crate::status::Trigger;
use crate::stuck::Circle;
use crate::turn::{self, Draft, Turn, failure};
use crate::world::Point;

/// Empty replies in a row after which the agent counts as stuck.
const MAX_SILENT_REPLIES: u32 = 3;
/// How often a call's executor may be lost before the call counts as lost too.
const MAX_LOSSES: u32 = 3;
/// The result of a call whose executor is gone.
const LOST: &str = "The process that ran this call is gone, and its result with it. The call may have done all, some \
                    or none of its work: look before you repeat it.";

impl Actor {
    /// Begins the next piece of work, or stores why there is none: open calls come before a new model call.
    pub(crate) async fn advance(&mut self) -> Result<(), StoreError> {
        if self.begin_hooks() {
            return Ok(());
        }
        if !self.state.open_calls.is_empty() {
            return self.execute().await;
        }
        if self.wants_review {
            return self.review().await;
        }
        if self.stop_at_limit().await? {
            return Ok(());
        }
        match self.state.recent.circle().filter(|_| self.limits.stuck_detection) {
            Some(Circle::Begins(what)) => self.nudge(&what).await?,
            Some(Circle::Closed(what)) => return self.stick(&what).await,
            None => {}
        }
        if self.outfit.servers.is_some() && self.executor.is_none() {
            self.connect(); // the model is to know what servers offer
            return Ok(());
        }
        if self.make_room().await? {
            return Ok(());
        }
        self.tell_condensed(|| Ok(()));
        if let Some(error) = self.overflow.take() {
            return self.fail_with(&error).await;
        }
        self.steps += 1;
        self.unseen.clear();
        self.asked = deft_llm::tool_tokens(&self.tools.schemas()) + Tokens(self.state.view.tokens());
        let request = Request {
            messages: self.state.view.messages(),
            tools: self.tools.schemas(),
            cache_key: Some(self.lease.conversation().to_string()),
        };
        let item = EventId::from(self.world.new_id());
        self.work = Some(Work::model(
            Tally::new(spending::USAGE_ID, self.model.clone(), self.asked),
            request,
            item,
            self.judge(),
            self.live.clone(),
            self.world.clone(),
        ));
        Ok(())
    }

    /// Runs the next calls that can run together: those up to the first that runs at another place. A call of which
    /// nobody can tell any more whether it ran before is not run again.
    async fn execute(&mut self) -> Result<(), StoreError> {
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
                        lost_calls.push(lost(call));
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
            self.images.set(self.state.view.images());
            self.fill_purse();
            self.work = Some(Work::Calls(Calls::here(here, &self.live, &self.world)));
            return Ok(());
        }
        self.execute_there(there).await
    }

    async fn execute_there(&mut self, calls: Vec<OpenCall>) -> Result<(), StoreError> {
        let Some(client) = self.executor.clone().filter(|client| !client.is_closed()) else {
            self.connect();
            return Ok(());
        };
        if self.record_turn(&client, &calls) {
            return Ok(());
        }
        let executor = client.hello().instance;
        let mut lost_calls = Vec::new();
        let mut asked = Vec::new();
        for call in calls {
            if self.unsent.remove(&call.id) || self.may_repeat(&call) {
                asked.push((Ask::Call, call));
            } else if call.executors.contains(&executor) {
                asked.push((Ask::Collect, call));
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

    pub(crate) async fn take(&mut self, outcome: Outcome) -> Result<(), StoreError> {
        match outcome {
            Outcome::Replied {
                item,
                reply: Ok(reply),
                spent,
                judged,
            } => self.take_reply(item, *reply, &spent, &judged).await,
            Outcome::Replied {
                reply: Err(error),
                spent,
                ..
            } => {
                let stats = spending::add_call(&self.state.stats, &self.call(), &spent, None);
                self.record_stats(stats).await?;
                self.take_model_error(error).await
            }
            Outcome::Summarised { draft, reply, tally } => self.take_summary(draft, reply, &tally).await,
            Outcome::Recorded(checkpoint) => self.take_checkpoint(checkpoint).await,
            Outcome::Reviewed {
                behind,
                criticism,
                used,
            } => self.take_review(behind, criticism, used).await,
            Outcome::Connected(Ok((client, servers))) => {
                self.take_servers(servers).await?;
                let offered = |name: &&str| client.hello().tools.iter().any(|tool| tool.name() == *name);
                if let Some(missing) = self
                    .tools
                    .of_executor()
                    .iter()
                    .map(ToolSpec::name)
                    .find(|name| !offered(name))
                {
                    let detail = format!(
                        "The executor has no tool '{missing}': it is of another version. End it and run again."
                    );
                    return self
                        .fail("WorkspaceError", detail, Classification::of(FailureKind::Config))
                        .await;
                }
                let instance = client.hello().instance;
                // Stored before the first call: whoever finds that call open later knows where to ask.
                if self.state.executor != Some(instance) {
                    self.record_executor(instance).await?;
                }
                self.executor = Some(client);
                Ok(())
            }
            Outcome::Connected(Err(error)) => {
                self.fail(
                    "WorkspaceError",
                    error.to_string(),
                    Classification::of(FailureKind::Config),
                )
                .await
            }
            Outcome::Hooked(verdicts) => self.take_verdicts(verdicts).await,
            Outcome::Tool { call, update } => self.take_tool(&call, update).await,
        }
    }

    /// Calls that another executor may have run are lost with it.
    async fn record_executor(&mut self, instance: Uuid) -> Result<(), StoreError> {
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

    pub(super) fn may_repeat(&self, call: &OpenCall) -> bool {
        let name = &call.event.tool_name;
        match self.host.get(name) {
            Some(tool) => tool.may_repeat(),
            None => self.tools.find(name).is_some_and(ToolSpec::is_idempotent),
        }
    }

    async fn take_reply(
        &mut self,
        item: EventId,
        reply: Reply,
        spent: &Spent,
        judged: &[Verdict],
    ) -> Result<(), StoreError> {
        self.condensations = 0;
        self.meter.learn_from(self.asked, &reply.usage);
        let stats = spending::add_call(&self.state.stats, &self.call(), spent, Some(&reply));
        let withheld = reply.finish == FinishReason::ContentFilter
            && reply.text.trim().is_empty()
            && reply.tool_calls.is_empty();
        let (turn, mut events) = turn::events(
            reply,
            item,
            &self.tools,
            &self.state.call_ids,
            self.world.as_ref(),
        );
        let mut drafts = vec![Draft::new(
            Source::Environment,
            state::update(key::STATS, json!(stats)),
        )];
        if withheld {
            self.record(drafts).await?;
            let detail = "the provider withheld the whole reply".to_owned();
            return self.take_model_error(ModelError::ContentPolicy { detail }).await;
        }
        if !self.unseen.is_empty() {
            let unseen = std::mem::take(&mut self.unseen);
            drafts.push(Draft::new(
                Source::Environment,
                state::update(key::UNSEEN, json!(unseen)),
            ));
        }
        let all_seen = drafts.len() == 1;
        let review = self.reviewed(&mut events, judged);
        drafts.extend(events);
        drafts.extend(review);
        match turn {
            Turn::Answers if all_seen => drafts.extend(self.turn_ended()),
            Turn::Silent if self.state.silent_replies + 1 >= MAX_SILENT_REPLIES => {
                drafts.extend(self.status_after(Trigger::Stick));
            }
            Turn::Acts | Turn::Answers | Turn::Silent | Turn::CutOff => {}
        }
        self.record(drafts).await?;
        self.unsent = self.state.open_calls.iter().map(|call| call.id.clone()).collect();
        Ok(())
    }

    /// A call of the agent's own model.
    pub(super) fn call(&self) -> spending::Call<'_> {
        spending::Call {
            usage_id: spending::USAGE_ID,
            profile: self.model.profile(),
            at: self.world.now(),
        }
    }

    /// The event that tools have spent something, if they have.
    pub(super) fn spent(&self) -> Option<Draft> {
        let spent = self.spending.take();
        let add = |stats: Stats, used: &ModelUse| match used {
            ModelUse::Reply {
                usage_id,
                model,
                reply,
            } => {
                let call = spending::Call {
                    usage_id,
                    profile: model.profile(),
                    at: self.world.now(),
                };
                spending::add_reply(&stats, &call, reply)
            }
            ModelUse::Total {
                usage_id,
                stats: spent,
            } => spending::add_total(stats, usage_id, spent),
        };
        let stats = (!spent.is_empty()).then(|| spent.iter().fold(self.state.stats.clone(), add))?;
        Some(Draft::new(
            Source::Environment,
            state::update(key::STATS, json!(stats)),
        ))
    }

    /// Counts what a model was used for on the side.
    pub(crate) async fn add_usage(
        &mut self,
        usage_id: &str,
        model: &dyn Model,
        reply: &Reply,
    ) -> Result<(), StoreError> {
        let call = spending::Call {
            usage_id,
            profile: model.profile(),
            ..self.call()
        };
        let stats = spending::add_reply(&self.state.stats, &call, reply);
        let told = state::update(key::STATS, json!(stats));
        self.record(vec![Draft::new(Source::Environment, told)]).await
    }

    async fn nudge(&mut self, what: &str) -> Result<(), StoreError> {
        let text = format!("{what}\nDoing it again will change nothing. Find out why, or try another way.");
        let nudge = MessageEvent::new(Message::text(Role::User, text));
        self.record(vec![Draft::new(Source::Environment, nudge)]).await
    }

    async fn stick(&mut self, what: &str) -> Result<(), StoreError> {
        let before = self.state.recent.before_circle();
        let before = before.map_or_else(String::new, |event| format!(", event {event}"));
        let detail = format!(
            "The agent goes in circles. {what}\nContinue: run again, or say what to do instead. Rewind: go back to \
             before the circle{before}. Stop: leave it as it is."
        );
        let event = ConversationErrorEvent {
            code: "AgentStuckInLoop".to_owned(),
            detail,
            classification: Some(Classification::of(FailureKind::AgentAction)),
            extra: Extra::new(),
        };
        let mut drafts: Vec<_> = self.status_after(Trigger::Stick).into_iter().collect();
        drafts.push(Draft::new(Source::Environment, event));
        self.record(drafts).await
    }

    async fn take_model_error(&mut self, error: ModelError) -> Result<(), StoreError> {
        if matches!(error, ModelError::ContextWindowExceeded { .. }) {
            self.overflow = Some(error); // the next thing to do is to make room, and to fail if there is none to make
            return Ok(());
        }
        self.fail_with(&error).await
    }

    async fn fail_with(&mut self, error: &ModelError) -> Result<(), StoreError> {
        self.fail(error.code(), error.to_string(), error.classification())
            .await
    }

    async fn take_tool(&mut self, call: &OpenCall, update: Update) -> Result<(), StoreError> {
        match update {
            Update::Unknown => {
                // The only executor that could have heard of it has not: it never ran.
                if call
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
                self.losses += 1;
                if self.losses < MAX_LOSSES {
                    return Ok(());
                }
                self.losses = 0;
                self.record(vec![lost(call)]).await
            }
            update @ (Update::Ended(_) | Update::Output(_)) => {
                let observed = matches!(update, Update::Ended(CallOutcome::Observed { .. }));
                let switch_to = switched_to(&update);
                let mut drafts: Vec<_> = self.spent().into_iter().collect();
                let mut result = result_of(call, update);
                drafts.extend(self.add_path_rules(call, result.as_mut()));
                self.tell_hooks(call, result.as_ref());
                drafts.extend(result);
                self.losses = 0;
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
