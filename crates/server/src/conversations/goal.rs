//! Works towards a goal: lets the agent run, has the result judged, and sends it back until nothing is missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use deft_types::{ConversationId, Message, Role, Status};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Conversations;
use crate::app::App;
use crate::catalog::field;
use crate::failure::Failure;
use crate::resident::Resident;

/// Rounds where the client does not say.
pub(crate) const DEFAULT_ROUNDS: u32 = 10;
const BUSY: &str = "Conversation run or goal loop already running.";

/// How far a goal is, as watchers are told and as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Goal {
    active: bool,
    status: Stage,
    iteration: u32,
    max_iterations: u32,
    objective: String,
    verdict: Option<Verdict>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    Running,
    Complete,
    Capped,
    Interrupted,
}

/// What the model thinks of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Verdict {
    #[serde(default)]
    score: f64,
    #[serde(default)]
    complete: bool,
    #[serde(default)]
    missing: String,
}

impl Goal {
    pub(crate) fn new(objective: String, rounds: u32) -> Self {
        Self {
            active: true,
            status: Stage::Running,
            iteration: 0,
            max_iterations: rounds.max(1),
            objective,
            verdict: None,
        }
    }

    fn judge_prompt(&self) -> String {
        format!(
            "Judge the work so far against this goal, strictly and by evidence in this conversation only:\n\n{}\n\n\
             Reply with one JSON object and nothing else: \
             {{\"score\": a number from 0 to 1, \"complete\": true or false, \"missing\": \"what is still to be done\"}}",
            self.objective
        )
    }

    /// What the agent is told at the beginning of a round.
    fn message(&self) -> String {
        match &self.verdict {
            None => self.objective.clone(),
            Some(verdict) => format!(
                "The goal is not reached yet. Still missing: {}\n\nGo on until it is done. The goal was:\n{}",
                if verdict.missing.is_empty() {
                    "it was not said what"
                } else {
                    &verdict.missing
                },
                self.objective
            ),
        }
    }
}

/// A judgement in whatever words it is wrapped; what cannot be read is no yes.
fn verdict(text: &str) -> Verdict {
    let object = text
        .find('{')
        .zip(text.rfind('}'))
        .and_then(|(from, to)| text.get(from..=to));
    object
        .and_then(|object| serde_json::from_str(object).ok())
        .unwrap_or(Verdict {
            score: 0.0,
            complete: false,
            missing: String::new(),
        })
}

/// The goals that are worked towards just now.
#[derive(Default)]
pub(crate) struct Goals(Mutex<HashMap<ConversationId, CancellationToken>>);

impl Goals {
    fn all(&self) -> MutexGuard<'_, HashMap<ConversationId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Conversations {
    /// Begins to work towards a goal.
    pub(crate) async fn pursue(app: &Arc<App>, resident: Arc<Resident>, goal: Goal) -> Result<(), Failure> {
        let this = &app.conversations;
        let stop = CancellationToken::new();
        {
            let mut goals = this.goals.all();
            if resident.is_running() || goals.contains_key(&resident.id) {
                return Err(Failure::new(StatusCode::CONFLICT, BUSY));
            }
            goals.insert(resident.id, stop.clone());
        }
        if let Err(failure) = this.tell_goal(&resident, &goal).await {
            this.goals.all().remove(&resident.id);
            return Err(failure);
        }
        let app = Arc::clone(app);
        let tracker = app.tasks.clone();
        tracker.spawn(async move {
            let this = &app.conversations;
            let mut goal = goal;
            let worked = stop
                .run_until_cancelled(this.work_towards(&resident, &mut goal))
                .await;
            if !matches!(worked, Some(Ok(()))) {
                goal.status = Stage::Interrupted;
            }
            goal.active = false;
            this.goals.all().remove(&resident.id);
            if let Err(error) = this.tell_goal(&resident, &goal).await {
                tracing::warn!(conversation = %resident.id, ?error, "the end of a goal cannot be told");
            }
        });
        Ok(())
    }

    async fn work_towards(&self, resident: &Resident, goal: &mut Goal) -> Result<(), Failure> {
        while goal.iteration < goal.max_iterations {
            let message = Message::text(Role::User, goal.message());
            self.send(resident, message, true).await?;
            let progress = self.engine(resident).await?.settled().await;
            if progress.status != Status::Finished {
                goal.status = Stage::Interrupted;
                return Ok(());
            }
            let judged = verdict(&self.ask(resident, &goal.judge_prompt()).await?);
            goal.iteration += 1;
            let is_complete = judged.complete;
            goal.verdict = Some(judged);
            if is_complete {
                goal.status = Stage::Complete;
                return Ok(());
            }
            if goal.iteration < goal.max_iterations {
                self.tell_goal(resident, goal).await?;
            }
        }
        goal.status = Stage::Capped;
        Ok(())
    }

    /// Stops to work towards a goal; what runs is paused.
    pub(crate) async fn give_up(&self, resident: &Resident) -> Result<(), Failure> {
        let stop = self.goals.all().get(&resident.id).cloned();
        if let Some(stop) = stop {
            stop.cancel();
            self.pause(resident).await?;
        }
        Ok(())
    }

    /// The goal that can be gone on with.
    pub(crate) async fn unfinished_goal(&self, resident: &Resident) -> Result<Goal, Failure> {
        let described = self.catalog.get(resident.id).await?;
        let kept = Goal::deserialize(&described.settings[field::GOAL]).ok();
        let goal = kept.filter(|goal| goal.status != Stage::Complete);
        let mut goal = goal.ok_or_else(|| Failure::new(StatusCode::BAD_REQUEST, "no_resumable_goal"))?;
        if goal.status == Stage::Capped {
            goal.iteration = 0;
        }
        goal.active = true;
        goal.status = Stage::Running;
        Ok(goal)
    }

    async fn tell_goal(&self, resident: &Resident, goal: &Goal) -> Result<(), Failure> {
        self.catalog.note(resident.id, field::GOAL, json!(goal)).await?;
        let engine = self.engine(resident).await?;
        let told = engine.tell(field::GOAL.to_owned(), json!(goal)).await;
        self.checked(resident, told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_is_found_in_its_wrapping_and_what_is_none_is_no_yes() {
        let wrapped = "```json\n{\"score\": 1, \"complete\": true, \"missing\": \"\"}\n```";
        assert!(verdict(wrapped).complete);
        assert!(!verdict("complete: true").complete);
        assert!(!verdict("{\"complete\": \"yes\"}").complete);
    }
}
