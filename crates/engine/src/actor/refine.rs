//! Has the result of a turn criticised before the turn ends: before it is stored where nothing more is to be done for it, so
//! that its event says what the critic thinks, and otherwise when its last call has a result, by what that changed.

use deft_llm::{Delta, OtherUse, Spent};
use deft_store::StoreError;
use deft_types::{Action, ActionEvent, EventBody, EventId, Message, MessageEvent, Role, Source, text_of};
use futures::FutureExt;
use serde_json::json;

use super::Actor;
use super::spending;
use super::work::{self, Outcome, Work};
use crate::critic::{Critic, Criticised, Criticism, Refinement, Review};
use crate::risk::Verdict;
use crate::state::{self, key};
use crate::turn::{Draft, Turn};
use crate::view::Entry;

/// What is criticised.
#[derive(Default)]
pub(crate) struct Reviewing {
    /// Whether the result of the turn is to be, next.
    pub(super) turn: bool,
    /// The reply that is, before it is stored.
    pub(super) reply: Option<Unstored>,
    /// What came of that where the reply ends the turn once its call has a result.
    pub(super) criticism: Option<Result<Criticism, String>>,
}

/// A reply that is not stored yet.
#[derive(Clone)]
pub(crate) struct Unstored {
    pub(super) turn: Turn,
    pub(super) events: Vec<Draft>,
    /// What a judge found of each of its calls.
    pub(super) judged: Vec<Verdict>,
}

impl Unstored {
    fn actions(&self) -> impl Iterator<Item = &ActionEvent> {
        self.events.iter().filter_map(|draft| match &draft.body {
            EventBody::Action(action) => Some(action.as_ref()),
            _ => None,
        })
    }

    /// What it says, if it ends the turn and changes nothing before that.
    fn result(&self) -> Option<String> {
        let mut actions = self.actions();
        match (&self.turn, actions.next(), actions.next()) {
            (Turn::Answers, ..) => self.events.iter().find_map(|draft| match &draft.body {
                EventBody::Message(said) => Some(said.llm_message.plain_text()),
                _ => None,
            }),
            (Turn::Acts, Some(only), None) => match &only.action {
                Some(Action::Finish(finish)) => Some(finish.message.clone()),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Actor {
    /// Whether a reply is criticised before it is stored.
    pub(super) fn is_criticised(&self, reply: &Unstored) -> bool {
        let acts = matches!(reply.turn, Turn::Acts | Turn::Answers);
        self.refinement
            .as_ref()
            .is_some_and(|wanted| match wanted.criticised {
                Criticised::Results => reply.result().is_some(),
                Criticised::AllActions => acts,
            })
    }

    /// Begins to have a reply criticised.
    pub(super) async fn criticise_reply(&mut self, reply: Unstored) -> Result<(), StoreError> {
        let result = reply.result();
        let call = |action: &ActionEvent| format!("{} {}", action.tool_name, action.tool_call.arguments);
        let calls = match result {
            Some(_) => Vec::new(),
            None => reply.actions().map(call).collect(),
        };
        let finished = reply.turn == Turn::Acts && result.is_some();
        self.reviewing.criticism = None;
        self.reviewing.reply = Some(reply);
        if self.ask_critic(result.unwrap_or_default(), calls, finished) {
            return Ok(());
        }
        let reply = self.reviewing.reply.take();
        match reply {
            Some(reply) => self.store_reply(Vec::new(), reply).await,
            None => Ok(()),
        }
    }

    /// Stores the reply that was criticised, with what the critic thinks of it.
    pub(super) async fn keep_reply(
        &mut self,
        criticism: Result<Criticism, String>,
    ) -> Result<(), StoreError> {
        // It stays here until it is stored.
        let Some(mut reply) = self.reviewing.reply.clone() else {
            return Ok(());
        };
        if let Ok(criticism) = &criticism {
            for draft in &mut reply.events {
                match &mut draft.body {
                    EventBody::Action(action) => action.critic_result = Some(criticism.as_result()),
                    EventBody::Message(said) if draft.source == Source::Agent => {
                        said.critic_result = Some(criticism.as_result());
                    }
                    _ => {}
                }
            }
        }
        self.reviewing.criticism = reply.result().map(|_| criticism);
        match self.store_reply(Vec::new(), reply).await {
            // A store that said it had failed had stored it, and the state was taken from the log since.
            Ok(()) | Err(StoreError::Duplicate { .. }) => self.reviewing.reply = None,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Stores it where nobody waits for the critic any more.
    pub(super) async fn keep_uncriticised(&mut self) -> Result<(), StoreError> {
        self.keep_reply(Err("the critic was not heard".to_owned())).await
    }

    /// What the end of a turn brings, or nothing yet: it is criticised first where somebody is to. Also whoever is not
    /// sent back any more has a score.
    pub(super) fn turn_ended(&mut self) -> Vec<Draft> {
        if let Some(criticism) = self.reviewing.criticism.take() {
            return self.after_criticism(criticism);
        }
        self.reviewing.turn = self.refinement.is_some();
        if self.reviewing.turn {
            return Vec::new();
        }
        self.end_turn()
    }

    /// Begins to have the result of a turn criticised that has ended but for that.
    pub(super) async fn review(&mut self) -> Result<(), StoreError> {
        self.reviewing.turn = false;
        let answer = self.state.answer.clone().unwrap_or_default();
        let last = self.state.view.entries().last();
        let finished = last.is_some_and(|entry| entry.message.role == Role::Tool);
        if self.ask_critic(answer, Vec::new(), finished) {
            return Ok(());
        }
        let end = self.end_turn();
        self.record(end).await
    }

    /// Begins to ask the critic, if there is still something to pay for it; whether it has.
    fn ask_critic(&mut self, answer: String, calls: Vec<String>, finished: bool) -> bool {
        self.fill_purse();
        let is_paid = self.purse.reached(tokio::time::Instant::now()).is_none();
        let may_ask = |refinement: &Refinement| is_paid || !matches!(refinement.critic, Critic::Model(_));
        let Some(refinement) = self.refinement.clone().filter(may_ask) else {
            return false;
        };
        let (task, earlier) = self.task();
        let review = Review {
            critic: refinement.critic,
            model: self.model.clone(),
            task,
            earlier,
            answer,
            calls,
            finished,
            before: self.state.turn_checkpoint,
        };
        let (workspace, client) = (self.workspace.clone(), self.executor.clone());
        let behind = self.state.leaf.clone();
        let criticise = async move {
            let client = async {
                match client.filter(|client| !client.is_closed()) {
                    Some(client) => Ok(client),
                    None => work::connected(workspace.as_ref())
                        .await
                        .map_err(|error| error.to_string()),
                }
            };
            let (criticism, used) = review.criticise(client).await;
            Outcome::Reviewed {
                behind,
                criticism,
                used,
            }
        };
        self.work = Some(Work::Review {
            future: criticise.boxed(),
        });
        true
    }

    /// What the user said last with what the agent was told since, and what was said before.
    fn task(&self) -> (String, String) {
        let entries = self.state.view.entries();
        let last = self.state.last_user_message_id.as_ref();
        let position = entries
            .iter()
            .position(|entry| last.is_some_and(|last| entry.events.contains(last)));
        let (earlier, task) = entries.split_at(position.unwrap_or_default());
        let said = |entries: &[Entry]| {
            let said = entries.iter().filter(|entry| entry.message.role == Role::User);
            let texts: Vec<_> = said.map(|entry| text_of(&entry.message.content)).collect();
            texts.join("\n\n")
        };
        (said(task), said(earlier))
    }

    /// Takes what the critic thinks of a reply, or of a turn.
    pub(super) async fn take_review(
        &mut self,
        behind: Option<EventId>,
        criticism: Result<Criticism, String>,
        used: Vec<OtherUse>,
    ) -> Result<(), StoreError> {
        let mut spent = Spent::default();
        for other in used {
            spent.add(&Delta::OtherUse(other));
        }
        let stats = spending::add_call(&self.state.stats, &self.call(), &spent, None);
        self.record_stats(stats).await?;
        if self.reviewing.reply.is_some() {
            return self.keep_reply(criticism).await;
        }
        if self.state.leaf != behind {
            return Ok(()); // something was said meanwhile, and is answered first
        }
        let end = self.after_criticism(criticism);
        self.record(end).await
    }

    /// Sends the agent back, or ends the turn. A critic who fails keeps nobody from ending it.
    fn after_criticism(&mut self, criticism: Result<Criticism, String>) -> Vec<Draft> {
        let refinement = self.refinement.as_ref();
        let threshold = refinement.map_or(0.0, |refinement| refinement.threshold);
        let most = refinement.map_or(0, |refinement| refinement.max_iterations);
        let criticism = match criticism {
            Ok(criticism) => criticism,
            Err(error) => {
                tracing::warn!(%error, "the result could not be criticised");
                return self.end_turn();
            }
        };
        let goes_on = criticism.score < threshold && self.state.refinements < most;
        let told = json!({"score": criticism.score, "message": criticism.message, "goes_on": goes_on});
        let mut drafts = vec![Draft::new(Source::Environment, state::update(key::CRITIC, told))];
        if goes_on {
            let text = format!(
                "A review of what you changed found it not good enough yet ({:.2} of {threshold:.2}): {}\nMend that, then \
                 finish again.",
                criticism.score, criticism.message
            );
            let back = MessageEvent::new(Message::text(Role::User, text));
            drafts.push(Draft::new(Source::Environment, back));
        } else {
            drafts.extend(self.end_turn());
        }
        drafts
    }
}
