//! Checks what may be used before it is used.

use std::collections::BTreeSet;

use deft_llm::Usage;
use deft_store::StoreError;
use deft_types::{Classification, EventBody, EventId, FailureKind, Money, OF_TASKS, Source, Stats, Tokens};
use futures::FutureExt;
use serde_json::json;
use tokio::time::Instant;

use super::Actor;
use super::work::{Outcome, Work};
use crate::budget::{Budget, Left, Limit, Reached, Used};
use crate::command::CommandError;
use crate::conversation::Limits;
use crate::state::{self, key};
use crate::turn::Draft;

impl Actor {
    /// Notes what is left now. Agents that have tasks change it until they have ended.
    pub(super) fn fill_purse(&self) {
        self.purse.set(self.left());
    }

    fn left(&self) -> Left {
        let (limits, added) = (&self.limits, self.state.added);
        let stats = &self.state.stats;
        let cost = limits.max_cost.map(|most| most + added.cost);
        let tokens = limits.max_tokens.map(|most| most + added.tokens);
        let steps = limits.max_steps.saturating_add(added.steps);
        let agents = limits.max_agents.map(|most| most.saturating_add(added.agents));
        let started = u32::try_from(self.agents_started()).unwrap_or(u32::MAX);
        Left {
            cost: cost.map(|most| (most - stats.total_cost()).max(Money::ZERO)),
            tokens: tokens.map(|most| Tokens(most.0.saturating_sub(stats.total_tokens().0))),
            until: self.run_ends_at(),
            steps: Some(steps.saturating_sub(self.purse.steps())),
            agents: agents.map(|most| most.saturating_sub(started)),
            depth: limits.max_depth.map(|most| most.saturating_add(added.depth)),
        }
    }

    /// How many agents have had tasks here, those below them included, which what they used tells of.
    fn agents_started(&self) -> usize {
        let mut started: BTreeSet<&str> = self.state.tasks.keys().map(String::as_str).collect();
        for used in self.state.stats.usage_to_metrics.keys() {
            let ids = used.split(OF_TASKS).skip(1);
            started.extend(ids.filter_map(|rest| rest.split(':').next()));
        }
        started.len()
    }

    /// That nothing is left to pay a call with, in words, if it is so. Asked before every call that is no step of a run.
    pub(crate) fn spent_budget(&self) -> Option<String> {
        // While agents below work, what is left is known there alone.
        if !matches!(self.work, Some(Work::Calls(_))) {
            self.fill_purse();
        }
        self.purse.is_spent().map(|reached| self.limit_reached(reached))
    }

    /// Stops the run where a limit is reached; whether it has.
    pub(super) async fn stop_at_limit(&mut self) -> Result<bool, StoreError> {
        self.fill_purse();
        let Some(reached) = self.purse.reached(Instant::now()) else {
            return Ok(false);
        };
        let ending = self.out_of(reached);
        self.record(ending).await?;
        Ok(true)
    }

    /// What is to be stored of a run that a limit ends.
    pub(super) fn out_of(&self, reached: Reached) -> Vec<Draft> {
        let (code, kind) = match reached {
            Reached::Here(Limit::Steps) => ("MaxIterationsReached", FailureKind::AgentAction),
            Reached::Here(_) | Reached::Above(_) => ("MaxBudgetReached", FailureKind::Quota),
        };
        self.failed(code, self.limit_reached(reached), Classification::of(kind))
    }

    /// When the work under way must be stopped, because the time for the run is over then.
    pub(super) fn work_ends_at(&self) -> Option<Instant> {
        let is_at_work = self.state.status == deft_types::Status::Running && self.work.is_some();
        self.run_ends_at().filter(|_| is_at_work)
    }

    fn run_ends_at(&self) -> Option<Instant> {
        let added = std::time::Duration::from_secs(self.state.added.seconds);
        let most = self.limits.max_time?.saturating_add(added);
        self.began.checked_add(most)
    }

    fn limit_reached(&self, reached: Reached) -> String {
        let stats = &self.state.stats;
        let spent = match reached {
            Reached::Above(limit) => {
                return format!(
                    "The agent that gave this task has no {limit} left for it. Add to its budget, then go on."
                );
            }
            Reached::Here(Limit::Steps) => {
                let most = self.limits.max_steps.saturating_add(self.state.added.steps);
                return format!(
                    "The limit of {most} steps for one run is reached. Run again to go on, or raise the limit."
                );
            }
            Reached::Here(Limit::Cost) => {
                let most = self.limits.max_cost.unwrap_or_default() + self.state.added.cost;
                format!("The budget of {most} is spent ({})", stats.total_cost())
            }
            Reached::Here(Limit::Tokens) => {
                let most = self.limits.max_tokens.unwrap_or_default() + self.state.added.tokens;
                format!("The budget of {most} tokens is used ({})", stats.total_tokens())
            }
            Reached::Here(Limit::Time) => "The time for one run is over".to_owned(),
        };
        format!("{spent}. Add to the budget, or raise it, and run again to go on.")
    }

    /// Other limits from now on.
    pub(super) async fn set_limits(&mut self, limits: Limits) -> Result<(), StoreError> {
        if limits != self.limits {
            let told = state::update(key::LIMITS, json!(limits));
            self.record(vec![Draft::new(Source::Environment, told)]).await?;
            self.limits = limits;
            self.purse.set_beside_others(self.left());
        }
        Ok(())
    }

    /// Adds to what may be used. The same id again changes nothing.
    pub(super) async fn add_budget(&mut self, id: EventId, more: Budget) -> Result<(), CommandError> {
        let told = state::update(key::ADDED, json!(more));
        let draft = Draft::new(Source::Environment, told).with_id(id.clone());
        match self.record(vec![draft]).await {
            Err(StoreError::Duplicate { id: taken, seq }) if taken == id => {
                let there = self.store.read(self.lease.conversation(), seq, 1).await?;
                match there.first().map(|(_, event)| &event.body) {
                    Some(EventBody::StateUpdate(update)) if update.key == key::ADDED => Ok(()),
                    _ => Err(CommandError::IdTaken(id)),
                }
            }
            told => {
                told?;
                self.purse.add(more);
                Ok(())
            }
        }
    }

    /// Keeps what the next call takes at most; whether it has to wait for those beside it to end.
    pub(super) fn waits_for_others(&mut self) -> bool {
        match self.purse.keep(self.most_of_call()) {
            Ok(kept) => {
                self.kept_for_call = Some(kept);
                false
            }
            Err(mut ended) => {
                let wait = async move {
                    let _ = ended.changed().await;
                    Outcome::OthersEnded
                };
                self.work = Some(Work::Await { future: wait.boxed() });
                true
            }
        }
    }

    /// What the next call takes at most: by the model's prices, and no less than the dearest of before. Some providers
    /// tell the cost of a call, and no prices.
    fn most_of_call(&self) -> Used {
        let profile = self.model.profile();
        let usage = Usage {
            prompt: self.meter.correct(self.asked),
            completion: profile.max_output.unwrap_or_default(),
            ..Usage::default()
        };
        let by_prices = profile.prices.as_ref().map(|prices| prices.cost(&usage));
        Used {
            cost: by_prices.unwrap_or_default().max(self.purse.dearest()),
            tokens: usage.prompt + usage.completion,
        }
    }

    /// Tells the purse, and so those above, what was used since `before`, by itself and by those below.
    pub(super) fn tell_purse(&self, (own, of_tasks): (Used, Used)) {
        let (own_now, of_tasks_now) = used(&self.state.stats);
        self.purse.spent(own_now.less(own));
        self.purse.counted(of_tasks_now.less(of_tasks));
    }
}

/// What a conversation has used itself, and those it gave tasks to.
pub(super) fn used(stats: &Stats) -> (Used, Used) {
    let (mut own, mut of_tasks) = (Used::default(), Used::default());
    for (usage, metrics) in &stats.usage_to_metrics {
        let used = if usage.starts_with(OF_TASKS) {
            &mut of_tasks
        } else {
            &mut own
        };
        used.cost += metrics.accumulated_cost;
        used.tokens += metrics.total_tokens();
    }
    (own, of_tasks)
}
