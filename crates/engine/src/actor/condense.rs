//! Makes room in the view before the model is asked.

use deft_llm::{ModelError, Reply};
use deft_store::StoreError;
use deft_types::{Condensation, CondensationRequest, Extra, Source, Tokens};
use futures::FutureExt;
use serde_json::json;

use super::Actor;
use super::handle::{Answered, answer};
use super::spending;
use super::tally::Tally;
use super::work::{Outcome, Work};
use crate::command::{CommandError, Done};
use crate::condense::{self, Plan, Pressure};
use crate::context::Context;
use crate::state::{self, key};
use crate::trace;
use crate::turn::Draft;

/// What summaries are counted as.
const USAGE_ID: &str = "condenser";
/// How often room is made before one request: results are masked, and then there is a summary.
const MAX_STEPS: u32 = 2;
/// How many may wait for room at a time.
const MAX_WAITING: usize = 64;

impl Actor {
    /// Begins to make room if there is need; whether it has.
    pub(crate) async fn make_room(&mut self) -> Result<bool, StoreError> {
        if self.trouble.condensations >= MAX_STEPS {
            return Ok(false);
        }
        let room = self.room();
        let pressure = Pressure {
            limit: room,
            forced: self.trouble.overflow.is_some() || self.state.wants_condensation,
        };
        let view = &self.state.view;
        let too_long = matches!(
            self.trouble.overflow,
            Some(ModelError::ContextWindowExceeded { .. })
        );
        let plan = self.memory.condenser.plan(view, pressure);
        let refused = self.trouble.overflow.is_some();
        let plan = plan.or_else(|| self.memory.condenser.last_resort(view, pressure, refused));
        let plan = plan.or_else(|| too_long.then(|| condense::cut_newest(view, room))?);
        let Some(plan) = plan else {
            return self.grant_nothing().await;
        };
        self.trouble.condensations += 1;
        self.trouble.overflow = None;
        match plan {
            Plan::Mask(mask) => {
                let told = state::update(key::MASKED, json!(mask));
                self.record(vec![Draft::new(Source::Environment, told)]).await?;
            }
            Plan::Forget {
                events,
                offset,
                summarise: None,
            } => self.forget(events, offset, None, String::new()).await?,
            Plan::Forget { events, offset, .. } if self.spent_budget().is_some() => {
                let most = condense::most(&self.state.view, &events, room);
                let stand_in = condense::fallback(&self.state.view, &events, most);
                self.forget(events, offset, Some(stand_in), String::new()).await?;
            }
            Plan::Forget {
                events,
                offset,
                summarise: Some(style),
            } => self.summarise(condense::Draft {
                most: condense::most(&self.state.view, &events, room),
                events,
                offset,
                style,
            }),
        }
        Ok(true)
    }

    /// There is nothing to leave out. Whoever wished for room has had their wish.
    async fn grant_nothing(&mut self) -> Result<bool, StoreError> {
        if self.state.wants_condensation {
            let told = state::update(key::NOTHING_TO_FORGET, json!(true));
            self.record(vec![Draft::new(Source::Environment, told)]).await?;
        }
        Ok(false)
    }

    /// How many tokens, by our estimate, the view may have.
    fn room(&self) -> Option<u64> {
        let usable = condense::usable(self.model.profile())?;
        // The meter corrects what we estimate; the other way round, a window of so many is this many by estimate.
        let one = self.meter.correct(Tokens(1_000)).0.max(1);
        Some((usable * 1_000 / one).saturating_sub(self.tools.tokens().0))
    }

    /// What the next request has in it, of which so many messages are told one by one.
    pub(super) fn context(&self, most: usize) -> Context {
        let profile = self.model.profile();
        Context::new(&self.state.view, &self.tools, profile, &self.meter, most)
    }

    fn summarise(&mut self, draft: condense::Draft) {
        let model = self.memory.model.clone().unwrap_or_else(|| self.model.clone());
        let window = model.profile().context_window.map_or(32_000, |window| window.0);
        let request = condense::request(&self.state.view, &draft, window / 2);
        let sent = request
            .messages
            .iter()
            .map(|message| deft_llm::message_tokens(message));
        let tally = Tally::new(
            USAGE_ID,
            model,
            sent.fold(Tokens::ZERO, |sum, tokens| sum + tokens),
        );
        let told = tally.clone();
        let span = self.trace.model_call(&tally.model.profile().name);
        let ask = async move {
            let see = |delta: &_| told.see(delta);
            let reply = deft_llm::complete(told.model.as_ref(), request, see).await;
            trace::replied(&span, reply.as_ref());
            Outcome::Summarised {
                draft,
                reply: reply.map(Box::new),
                tally: told,
            }
        };
        self.work = Some(Work::Summary {
            tally,
            future: ask.boxed(),
        });
    }

    /// Stores a summary, or as much of it as there is room for; where the model gave none, what can be said without one.
    pub(crate) async fn take_summary(
        &mut self,
        draft: condense::Draft,
        reply: Result<Box<Reply>, ModelError>,
        tally: &Tally,
    ) -> Result<(), StoreError> {
        let call = spending::Call {
            usage_id: USAGE_ID,
            profile: tally.model.profile(),
            at: self.world.now(),
        };
        let told = reply.as_deref().ok();
        let stats = spending::add_call(&self.state.stats, &call, &tally.spent(), told);
        self.record_stats(stats).await?;
        let (summary, response) = match reply {
            Ok(reply) => (reply.text.trim().to_owned(), reply.response_id.clone()),
            Err(error) => {
                tracing::warn!(%error, "the summary failed");
                (String::new(), String::new())
            }
        };
        let summary = if summary.is_empty() {
            condense::fallback(&self.state.view, &draft.events, draft.most)
        } else {
            condense::held_to(&summary, draft.most)
        };
        self.forget(draft.events, draft.offset, Some(summary), response)
            .await?;
        self.tell_condensed(|| Ok(()));
        Ok(())
    }

    /// Notes that room is wanted. It is made at the next safe boundary: at once, if the agent does nothing.
    pub(super) async fn condense(&mut self, done: Done<()>) -> Option<Answered> {
        if self.condensed.len() >= MAX_WAITING {
            return Some(answer(done, Err(CommandError::Running)));
        }
        let request = Draft::new(Source::Environment, CondensationRequest::default());
        let note = self.note(&()); // what was asked for once will be done
        match self.record([request].into_iter().chain(note).collect()).await {
            Ok(()) => {
                self.trouble.condensations = 0;
                self.condensed.push(done);
                None
            }
            Err(error) => Some(answer(done, Err(error))),
        }
    }

    /// Makes the room that somebody waits for, now that nothing else is under way.
    pub(crate) async fn condense_idle(&mut self) {
        let begun = if self.state.wants_condensation {
            self.make_room().await
        } else {
            Ok(false)
        };
        match begun {
            Ok(_) if self.work.is_some() => {} // they are told when the summary is there
            Ok(_) => self.tell_condensed(|| Ok(())),
            Err(error) => self.tell_condensed(|| Err(error.clone().into())),
        }
    }

    /// Answers whoever waits for room.
    pub(crate) fn tell_condensed(&mut self, answer: impl Fn() -> Result<(), CommandError>) {
        for done in self.condensed.drain(..) {
            let _ = done.send(answer()); // whoever asked may have gone
        }
    }

    async fn forget(
        &mut self,
        events: Vec<deft_types::EventId>,
        offset: usize,
        summary: Option<String>,
        response: String,
    ) -> Result<(), StoreError> {
        let condensation = Condensation {
            forgotten_event_ids: events,
            summary_offset: summary.as_ref().and_then(|_| i64::try_from(offset).ok()),
            summary,
            llm_response_id: response,
            extra: Extra::new(),
        };
        self.record(vec![Draft::new(Source::Environment, condensation)])
            .await
    }
}
