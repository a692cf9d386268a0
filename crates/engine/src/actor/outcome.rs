//! The loop: what to do next, and what to make of what came.

use deft_llm::{FinishReason, ModelError, ModelProfile, Reply, Request, Spent};
use deft_store::StoreError;
use deft_types::{EventId, Message, MessageEvent, Role, Source, Stats, Tokens};
use serde_json::json;

use super::Actor;
use super::refine::Unstored;
use super::spending;
use super::tally::Tally;
use super::work::{Outcome, Work};
use crate::model_tools::ModelUse;
use crate::risk::Verdict;
use crate::state::{self, key};
use crate::stuck::Circle;
use crate::turn::{self, Draft, Turn};

/// How often in a row a request that the model cannot read is made another one.
const MAX_OVERFLOWS: u32 = 2;
/// How often in a row an agent whose reply was refused is asked for another.
const MAX_REFUSALS: u32 = 2;
/// Said to it.
const REFUSED: &str = "The provider refused your last reply, or this request, for what it says. Go on with the task in \
                       another way, and put it in other words.";

impl Actor {
    /// Begins the next piece of work, or stores why there is none: open calls come before a new model call.
    pub(crate) async fn advance(&mut self) -> Result<(), StoreError> {
        if self.settle_extensions().await? || self.begin_hooks() {
            return Ok(());
        }
        if self.external.is_some() {
            return self.advance_external().await;
        }
        if self.reach_servers() {
            return Ok(()); // the model is to know what they offer, and open calls may be theirs
        }
        if self.asks_for_tasks() {
            return self.ask_for_tasks().await;
        }
        if self.reviewing.reply.is_some() {
            return self.keep_uncriticised().await; // the store failed while it was asked
        }
        if !self.state.open_calls.is_empty() {
            return self.execute().await;
        }
        self.hear_servers().await?;
        if self.reviewing.turn {
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
        if self.outfit.servers.is_some() && (self.executor.is_none() || self.news.beside_again) {
            self.connect(); // the model is to know what servers offer
            return Ok(());
        }
        if self.make_room().await? {
            return Ok(());
        }
        self.tell_condensed(|| Ok(()));
        if let Some(error) = self.trouble.overflow.take() {
            return self.fail_with(&error).await;
        }
        self.asked = self.tools.tokens() + Tokens(self.state.view.tokens());
        if self.waits_for_others() {
            return Ok(());
        }
        self.purse.step();
        self.trace.begin_step();
        self.unseen.clear();
        let request = Request {
            messages: self.state.view.messages(),
            tools: self.tools.schemas(),
            cache_key: Some(self.lease.conversation().to_string()),
        };
        let item = EventId::from(self.world.new_id());
        self.work = Some(Work::model(
            Tally::new(spending::USAGE_ID, self.model.clone(), self.asked),
            self.trace.model_call(&self.model.profile().name),
            request,
            (item, self.log_end.next),
            self.judge(),
            (self.live.clone(), self.secrets.mask()),
            self.world.clone(),
        ));
        Ok(())
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
            Outcome::Found(found) => {
                let told = self.take_extensions(found);
                let told = self.record(told).await;
                told.inspect_err(|_| self.shelf.empty()) // it is read and told once more
            }
            Outcome::Reran { rerun, request, done } => self.take_rerun(rerun, request, done).await,
            Outcome::OthersEnded => Ok(()),
            Outcome::Restored(restored, restoring) => {
                self.take_restored(restored, restoring).await;
                Ok(())
            }
            Outcome::LookedUp(found) => {
                self.take_secrets(found).await;
                Ok(())
            }
            Outcome::Reached(reached, later) => {
                self.news.elsewhere = later;
                self.take_reached(reached).await
            }
            Outcome::Recorded(checkpoint) => self.take_checkpoint(checkpoint).await,
            Outcome::Reviewed {
                behind,
                criticism,
                used,
            } => self.take_review(behind, criticism, used).await,
            Outcome::Connected(connected) => self.take_connection(connected).await,
            Outcome::Begun(begun) => self.take_session(begun).await,
            Outcome::Told(told) => self.take_told(told).await,
            Outcome::TurnEnded(end) => self.take_turn_end(end).await,
            Outcome::Hooked(verdicts) => self.take_verdicts(verdicts).await,
            Outcome::Tool { call, update } => self.take_tool(&call, update).await,
        }
    }

    async fn take_reply(
        &mut self,
        item: EventId,
        reply: Reply,
        spent: &Spent,
        judged: &[Verdict],
    ) -> Result<(), StoreError> {
        self.trouble.condensations = 0;
        self.trouble.overflows = 0;
        self.meter.learn_from(self.asked, &reply.usage);
        let stats = spending::add_call(&self.state.stats, &self.call(), spent, Some(&reply));
        let withheld = reply.finish == FinishReason::ContentFilter
            && reply.text.trim().is_empty()
            && reply.tool_calls.is_empty();
        let (turn, events) = turn::events(
            reply,
            item,
            &self.tools,
            &self.state.call_ids,
            self.world.as_ref(),
        );
        let stats = Draft::new(Source::Environment, state::update(key::STATS, json!(stats)));
        if withheld {
            self.record(vec![stats]).await?;
            let detail = "the provider withheld the whole reply".to_owned();
            return self.take_model_error(ModelError::ContentPolicy { detail }).await;
        }
        self.trouble.refusals = 0;
        let reply = Unstored {
            turn,
            events,
            judged: judged.to_vec(),
        };
        if self.is_criticised(&reply) {
            self.record(vec![stats]).await?; // what the critic may still use depends on it
            return self.criticise_reply(reply).await;
        }
        self.reviewing.criticism = None;
        self.store_reply(vec![stats], reply).await
    }

    /// Stores a reply behind other news, and what it amounts to.
    pub(super) async fn store_reply(
        &mut self,
        mut drafts: Vec<Draft>,
        mut reply: Unstored,
    ) -> Result<(), StoreError> {
        let said_meanwhile = self.unseen.clone();
        let unseen = self.unseen();
        let all_seen = unseen.is_none();
        drafts.extend(unseen);
        let review = self.reviewed(&mut reply.events, &reply.judged);
        drafts.extend(reply.events);
        drafts.extend(review);
        match reply.turn {
            Turn::Answers if all_seen => drafts.extend(self.turn_ended()),
            Turn::Acts | Turn::Answers | Turn::Silent | Turn::CutOff => {}
        }
        let stored = self.record(drafts).await;
        stored.inspect_err(|_| self.unseen = said_meanwhile)?; // it may be tried again
        self.unsent = self.state.open_calls.iter().map(|call| call.id.clone()).collect();
        Ok(())
    }

    /// Names the messages that were said while a reply was written, which comes next.
    pub(super) fn unseen(&mut self) -> Option<Draft> {
        let unseen = std::mem::take(&mut self.unseen);
        let told = state::update(key::UNSEEN, json!(unseen));
        (!unseen.is_empty()).then(|| Draft::new(Source::Environment, told))
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
        let told = || Draft::new(Source::Environment, state::update(key::STATS, json!(stats)));
        (stats != self.state.stats).then(told)
    }

    /// Counts what a model was used for on the side.
    pub(crate) async fn add_usage(
        &mut self,
        usage_id: &str,
        profile: &ModelProfile,
        spent: &Spent,
        reply: Option<&Reply>,
    ) -> Result<String, StoreError> {
        let call = spending::Call {
            usage_id,
            profile,
            ..self.call()
        };
        let stats = spending::add_call(&self.state.stats, &call, spent, reply);
        self.record_stats(stats).await?;
        let said = reply.map(|reply| reply.text.as_str()).unwrap_or_default();
        Ok(self.secrets.mask().hide(said).into_owned())
    }

    async fn take_model_error(&mut self, error: ModelError) -> Result<(), StoreError> {
        match error {
            // The next thing to do is to make the request another one, and to fail if that cannot be.
            ModelError::ContextWindowExceeded { .. } | ModelError::MalformedHistory { .. }
                if self.trouble.overflows < MAX_OVERFLOWS =>
            {
                self.trouble.overflows += 1;
                self.trouble.condensations = 0;
                self.trouble.overflow = Some(error);
                Ok(())
            }
            ModelError::ContentPolicy { .. } if self.trouble.refusals < MAX_REFUSALS => {
                self.trouble.refusals += 1;
                let nudge = MessageEvent::new(Message::text(Role::User, REFUSED));
                self.record(vec![Draft::new(Source::Environment, nudge)]).await
            }
            _ => self.fail_with(&error).await,
        }
    }

    async fn fail_with(&mut self, error: &ModelError) -> Result<(), StoreError> {
        self.fail(error.code(), error.to_string(), error.classification())
            .await
    }
}
