//! The beginning of a run, and what it begins with.

use std::sync::Arc;

use deft_llm::Model;
use deft_store::StoreError;
use deft_types::{Source, Status};
use serde_json::json;
use tracing::Span;

use super::{Actor, Trouble};
use crate::command::Begun;
use crate::goal::{GOAL, Goal};
use crate::state::{self, key};
use crate::status::Trigger;
use crate::turn::Draft;

impl Actor {
    /// Says what is otherwise than the log has it, now that it is loaded.
    pub(crate) async fn pick_up(&mut self) -> Result<(), StoreError> {
        let said = self.said_already().await?;
        let cut_off = self.status_after(Trigger::Load).into_iter();
        let news = cut_off
            .chain(self.spent())
            .chain(self.mode_in_force())
            .chain(self.goal_left())
            .chain(self.questions_left())
            .chain(said);
        self.record(news.collect()).await
    }

    /// The event that nobody waits for a host any more: whoever was asked is gone.
    fn questions_left(&self) -> Option<Draft> {
        let told = || state::update(key::HOST_QUESTIONS, json!([]));
        let are_left = !self.state.host_questions.is_empty();
        are_left.then(|| Draft::new(Source::Environment, told()))
    }

    /// The event that nobody works towards the goal any more: whoever did was in a process that is gone.
    fn goal_left(&self) -> Option<Draft> {
        let mut goal = self.state.goal.clone().filter(Goal::is_active)?;
        goal.interrupt();
        Some(Draft::new(Source::Environment, state::update(GOAL, json!(goal))))
    }

    /// Lets the agent go on, where there is something to do.
    pub(super) async fn start_run(&mut self, within: &Span) -> Result<Begun, StoreError> {
        // What could not be stored before may be stored now.
        self.publish_progress(None);
        if !self.state.has_prompt && self.state.view.entries().is_empty() {
            return Ok(Begun::NothingToDo); // nobody has said anything
        }
        let before = self.state.status;
        if before != Status::Running {
            self.heed_decisions().await?;
            self.purse.begin_run();
            self.trouble = Trouble::default();
            self.hosts.begin_run();
            self.project_rules.reload(self.store.as_ref()).await?;
            self.began = tokio::time::Instant::now();
        }
        self.seek_extensions();
        if self.state.status == Status::WaitingForConfirmation {
            // What waits has not run anywhere. Where an agent with a task waits, others of its reply may have run in a
            // process that is gone.
            let for_tasks = self.asks_for_tasks();
            let open = self.state.open_calls.iter();
            let waits = open.filter(|call| !for_tasks || !call.waiting.is_empty());
            self.unsent.extend(waits.map(|call| call.id.clone()));
        }
        let begin = self
            .model_in_use()
            .into_iter()
            .chain(self.status_after(Trigger::Run))
            .collect();
        self.record(begin).await?;
        Ok(match (before, self.state.status) {
            (Status::Running, _) => Begun::Before,
            (_, Status::Running) => {
                self.trace.begin_run(within, &self.model_name);
                Begun::Now
            }
            _ => Begun::NothingToDo,
        })
    }

    pub(crate) async fn switch_model(
        &mut self,
        name: String,
        model: Arc<dyn Model>,
    ) -> Result<(), StoreError> {
        let before = (
            std::mem::replace(&mut self.model_name, name),
            std::mem::replace(&mut self.model, model),
        );
        let told = self.record(self.model_in_use().into_iter().collect()).await;
        if told.is_err() {
            (self.model_name, self.model) = before;
        }
        told
    }

    /// The event that the model is another than the log says, if it is.
    fn model_in_use(&self) -> Option<Draft> {
        let agent = json!({"kind": "Agent", "llm": {"model": self.model_name}});
        (self.external.is_none() && self.state.model.as_ref() != Some(&self.model_name))
            .then(|| Draft::new(Source::Environment, state::update(key::AGENT, agent)))
    }

    /// The event that the mode is another than the log says, if it is.
    pub(crate) fn mode_in_force(&self) -> Option<Draft> {
        let told = || Draft::new(Source::Environment, state::update(key::MODE, json!(self.mode)));
        (self.state.mode != self.mode).then(told)
    }
}
