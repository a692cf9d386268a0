//! Turns that an agent makes which is a program of its own.
//!
//! The program lives in the workspace, started by the executor, from the first turn on for as long as the conversation
//! is loaded. One message of the user's is one turn. When the program is gone, the next turn starts it anew: its session
//! is taken up where it can, and otherwise a new one is told what was said.

mod ask;
mod plan;
mod record;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use deft_acp::{AgentError, Choice, Incoming, TurnEnd, Update};
use deft_executor::Client;
use deft_store::StoreError;
use deft_types::{Classification, DeltaKind, EventId, FailureKind, Message, Role, Source};
use futures::FutureExt;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

pub(super) use self::record::prompt_shown;
pub(crate) use self::turn::Turn;
use super::Actor;
use super::work::{Outcome, Work};
use crate::aside::Asked;
use crate::command::CommandError;
use crate::external::{self, ExternalAgent, IN_FLIGHT, Running};
use crate::external_aside::ExternalAside;
use crate::live::Live;
use crate::state::{self, key};
use crate::turn::{Draft, failure};

/// How long an agent that was told to end its turn may take; then its process is ended.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// The result of a question whose asker is gone.
const NOBODY_ASKS: &str = "The agent that asked this is gone, so nothing was done about it.";

/// The agent of a conversation that is a program of its own.
pub(crate) struct External {
    agent: ExternalAgent,
    /// Its program between two turns.
    running: Option<Box<Running>>,
    /// Why its last turn was cut off, where there is something to say about it.
    cut_off: Option<String>,
}

impl External {
    pub(crate) fn new(agent: ExternalAgent) -> Self {
        Self {
            agent,
            running: None,
            cut_off: None,
        }
    }

    /// Ends the program, if it has nothing to do; the next turn starts it anew.
    pub(crate) fn leave(&mut self) {
        self.running = None;
    }
}

impl Actor {
    /// Begins the next thing for such an agent to do, or ends the run.
    pub(super) async fn advance_external(&mut self) -> Result<(), StoreError> {
        if !self.state.open_calls.is_empty() {
            let gone = self.state.open_calls.iter().map(|call| {
                let text = NOBODY_ASKS.to_owned();
                Draft::new(
                    Source::Agent,
                    failure(&call.event.tool_call, text, FailureKind::Internal),
                )
            });
            let gone = gone.collect();
            return self.record(gone).await;
        }
        if self.stop_at_limit().await? {
            return Ok(());
        }
        let Some((id, message)) = self.next_prompt() else {
            let end = self.end_turn();
            return self.record(end).await;
        };
        let Some(client) = self.executor.clone().filter(|client| !client.is_closed()) else {
            if let Some(external) = &mut self.external {
                external.leave();
            }
            self.connect();
            return Ok(());
        };
        if self.record_workspace(&client) {
            return Ok(());
        }
        match self
            .external
            .as_mut()
            .and_then(|external| external.running.take())
        {
            Some(running) => self.begin_turn(running, id, &message).await,
            None if self.look_up(|_| true) => Ok(()),
            None => {
                self.begin_session(client);
                Ok(())
            }
        }
    }

    /// Who answers side questions.
    pub(super) fn asked_aside(&self) -> Asked {
        let Some(external) = &self.external else {
            return Asked::Model;
        };
        match self.executor.clone().filter(|client| !client.is_closed()) {
            None => Asked::NobodyYet,
            Some(client) => Asked::Agent(Box::new(ExternalAside {
                agent: external.agent.clone(),
                client,
                directory: self.directory.clone(),
                secrets: self.outfit.secrets.values.clone(),
                told: self.history(None),
            })),
        }
    }

    /// The first message that the agent was not prompted with.
    fn unprompted(&self) -> Option<(EventId, Arc<Message>)> {
        let mut said = self
            .state
            .view
            .entries()
            .iter()
            .filter(|entry| entry.message.role == Role::User);
        said.find_map(|entry| {
            let id = entry.events.first()?;
            (!self.state.prompted.contains(id)).then(|| (id.clone(), entry.message.clone()))
        })
    }

    /// That, or the word to go on with a turn that was cut off.
    fn next_prompt(&self) -> Option<(Option<EventId>, Arc<Message>)> {
        if let Some((id, message)) = self.unprompted() {
            return Some((Some(id), message));
        }
        self.state.agent_state.get(IN_FLIGHT)?;
        let why = self
            .external
            .as_ref()
            .and_then(|external| external.cut_off.as_deref());
        Some((None, Arc::new(external::go_on(why))))
    }

    fn begin_session(&mut self, client: Client) {
        let Some(external) = &self.external else { return };
        let mut agent = external.agent.clone();
        agent.resume = self.session_before().or(agent.resume);
        let (directory, secrets) = (self.directory.clone(), self.outfit.secrets.values.clone());
        let begin = async move { agent.begin(&client, directory, secrets).await.map(Box::new) };
        self.work = Some(Work::Begin {
            future: begin.map(Outcome::Begun).boxed(),
        });
    }

    pub(super) async fn take_session(
        &mut self,
        begun: Result<Box<Running>, String>,
    ) -> Result<(), StoreError> {
        match begun {
            Ok(running) => {
                let mut known = self.known_of(&running.session);
                if !running.session.about().resumed {
                    known.remove(record::TOLD); // a program may give the same name to another session
                    known.remove(record::COST);
                }
                if let Some(external) = &mut self.external {
                    external.running = Some(running);
                }
                self.record_agent_state(known).await
            }
            Err(reason) => {
                let detail = format!("The agent could not be started: {reason} Mend that, then run again.");
                self.fail("ACPSpawnError", detail, Classification::of(FailureKind::Config))
                    .await
            }
        }
    }

    /// Prompts the agent. That it is at work on a message is stored before it hears of it.
    async fn begin_turn(
        &mut self,
        mut running: Box<Running>,
        id: Option<EventId>,
        message: &Message,
    ) -> Result<(), StoreError> {
        let knows_nothing = self.state.agent_state.get(record::TOLD) != Some(&json!(running.session.id()));
        let mut content = external::content(message, running.session.about().reads_images);
        if knows_nothing && let Some(told) = self.history(id.as_ref()) {
            content.insert(0, json!({"type": "text", "text": told}));
        }
        let mut known = self.known_of(&running.session);
        known.insert(record::TOLD.to_owned(), json!(running.session.id()));
        if let Some(id) = &id {
            known.insert(IN_FLIGHT.to_owned(), json!(id));
        }
        self.purse.step();
        self.trace.begin_step();
        self.record_agent_state(known).await?;
        let item = EventId::from(self.world.new_id());
        self.live.show(Live::ReplyStarted {
            item: item.clone(),
            log_end: self.log_end.next,
        });
        let limit = self
            .external
            .as_ref()
            .map(|external| external.agent.silence_limit);
        let prompting = running.session.prompt(content);
        self.work = Some(Work::Turn(Box::new(Turn::new(
            running,
            prompting,
            item,
            limit.unwrap_or_default(),
        ))));
        Ok(())
    }

    pub(super) async fn take_told(&mut self, told: Incoming) -> Result<(), StoreError> {
        let Some(Work::Turn(turn)) = &mut self.work else {
            return Ok(());
        };
        match told {
            Incoming::Permission(permission) => self.take_permission(*permission).await,
            Incoming::Update(Update::ToolCall(news)) => {
                let told = turn.calls.take(*news).map(record::tool_call);
                self.record(told.into_iter().collect()).await
            }
            Incoming::Update(Update::Plan(plan)) => {
                let told = turn.planned(plan, self.world.as_ref());
                self.record(told).await
            }
            Incoming::Update(update) => {
                let (kind, text) = match &update {
                    Update::Text(text) => (DeltaKind::Text, text.clone()),
                    Update::Thought(text) => (DeltaKind::Reasoning, text.clone()),
                    _ => {
                        turn.take(update);
                        return Ok(());
                    }
                };
                turn.take(update);
                let item = turn.item.clone();
                let text = self.secrets.mask().hide(&text).into_owned();
                self.live.show(Live::Delta { item, kind, text });
                Ok(())
            }
        }
    }

    pub(super) async fn take_turn_end(&mut self, end: Result<TurnEnd, AgentError>) -> Result<(), StoreError> {
        let Some(Work::Turn(mut turn)) = self.work.take() else {
            return Ok(());
        };
        let mut drafts: Vec<_> = turn.calls.give_up().into_iter().map(record::tool_call).collect();
        match end {
            Ok(end) if end.reason != "cancelled" => {
                drafts.splice(0..0, self.turn_used(&turn, end.usage.as_ref()));
                drafts.extend(turn.finish(&end.reason, self.world.as_ref()));
                let mut known = self.known_of(&turn.running.session);
                if let Some(last) = self.state.agent_state.get(IN_FLIGHT) {
                    known.insert(record::LAST.to_owned(), last.clone());
                }
                known.remove(IN_FLIGHT);
                known.extend(turn.cost.map(|cost| (record::COST.to_owned(), json!(cost))));
                drafts.push(Draft::new(
                    Source::Environment,
                    state::update(key::AGENT_STATE, Value::Object(known)),
                ));
                if self.unprompted().is_none() {
                    drafts.extend(self.end_turn());
                }
                if let Some(external) = &mut self.external {
                    external.cut_off = None;
                    external.running = Some(turn.running);
                }
                self.record(drafts).await
            }
            end => {
                drafts.extend(self.said_so_far(&turn));
                self.record(drafts).await?;
                let reason = match end {
                    Ok(_) => "it cancelled the turn by itself.".to_owned(),
                    Err(error) => turn.running.obituary(&error).await,
                };
                let detail = format!(
                    "The agent's turn came to no end: {reason} Send a message or run again: the agent is started anew \
                     and goes on."
                );
                self.fail(
                    "ACPPromptError",
                    detail,
                    Classification::of(FailureKind::Internal),
                )
                .await
            }
        }
    }

    /// Ends a turn: the agent is asked to, and its process ended if it does not. Gives what is to be stored of it.
    pub(super) async fn stop_turn(&mut self, mut turn: Turn) -> Vec<Draft> {
        let deadline = Instant::now() + CANCEL_GRACE;
        let mut drafts = Vec::new();
        let stop = async {
            turn.decline().await;
            loop {
                match turn.next().await {
                    Outcome::Told(Incoming::Permission(permission)) => {
                        turn.running.session.answer(&permission, Choice::Cancel).await;
                    }
                    Outcome::Told(Incoming::Update(Update::ToolCall(news))) => {
                        drafts.extend(turn.calls.take(*news).map(record::tool_call));
                    }
                    Outcome::Told(Incoming::Update(update)) => turn.take(update),
                    Outcome::TurnEnded(end) => return end,
                    _ => return Err(AgentError::Gone), // a turn has no other news
                }
            }
        };
        let end = timeout_at(deadline, stop).await;
        drafts.extend(turn.calls.give_up().into_iter().map(record::tool_call));
        drafts.extend(self.said_so_far(&turn));
        if let Ok(Ok(end)) = end {
            drafts.splice(0..0, self.turn_used(&turn, end.usage.as_ref()));
            if let Some(external) = &mut self.external {
                external.running = Some(turn.running);
            }
        }
        drafts
    }

    /// Lets the agent use another model.
    pub(super) async fn switch_agent_model(&mut self, model: String) -> Result<(), CommandError> {
        if matches!(self.work, Some(Work::Turn(_) | Work::Begin { .. })) {
            return Err(CommandError::Running);
        }
        let Some(external) = &mut self.external else {
            return Err(CommandError::NotExternal);
        };
        if let Some(running) = &mut external.running {
            let switched = running.session.choose_model(&model).await;
            switched.map_err(|error| CommandError::Agent(format!("The model was not switched: {error}.")))?;
        }
        external.agent.model = Some(model.clone());
        let agent = json!({"kind": "ACPAgent", "acp_model": model});
        let mut known = self.state.agent_state.clone();
        known.insert(record::MODEL.to_owned(), json!(model));
        let update = |key: &str, value: Value| Draft::new(Source::Environment, state::update(key, value));
        let told = vec![
            update(key::AGENT, agent),
            update(key::AGENT_STATE, Value::Object(known)),
        ];
        Ok(self.record(told).await?)
    }
}
