//! Works towards a goal: lets the agent run, has the result judged, and sends it back until nothing is missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use deft_engine::{AsideError, GOAL, Goal};
use deft_types::{ConversationId, Message, Role, Status};
use serde::Deserialize as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::Conversations;
use crate::app::App;
use crate::catalog::field;
use crate::failure::Failure;
use crate::resident::Resident;

const BUSY: &str = "Conversation run or goal loop already running.";

/// The goals that are worked towards just now.
#[derive(Default)]
pub(crate) struct Goals {
    pursued: Mutex<HashMap<ConversationId, CancellationToken>>,
    tasks: TaskTracker,
}

impl Goals {
    pub(super) fn all(&self) -> MutexGuard<'_, HashMap<ConversationId, CancellationToken>> {
        self.pursued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops to work towards all of them, and waits until that is told.
    pub(super) async fn stop(&self) {
        self.all().values().for_each(CancellationToken::cancel);
        self.tasks.close();
        self.tasks.wait().await;
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
        let tasks = this.goals.tasks.clone();
        tasks.spawn(async move {
            let this = &app.conversations;
            let mut goal = goal;
            let worked = stop
                .run_until_cancelled(Box::pin(this.work_towards(&resident, &mut goal)))
                .await;
            if let Some(Err(error)) = worked {
                tracing::warn!(conversation = %resident.id, ?error, "a goal cannot be worked towards");
            }
            goal.interrupt();
            this.goals.all().remove(&resident.id);
            if let Err(error) = this.tell_goal(&resident, &goal).await {
                tracing::warn!(conversation = %resident.id, ?error, "the end of a goal cannot be told");
            }
        });
        Ok(())
    }

    async fn work_towards(&self, resident: &Resident, goal: &mut Goal) -> Result<(), Failure> {
        while goal.is_active() {
            let message = Message::text(Role::User, goal.message());
            self.send(resident, Uuid::new_v4().into(), message, true).await?;
            let engine = self.engine(resident).await?;
            if engine.settled().await.status != Status::Finished {
                return Ok(());
            }
            match goal.judge(engine).await {
                Err(AsideError::Command(error)) => self.checked(resident, Err(error))?,
                Err(AsideError::Model(error)) => {
                    let sentence = format!("the judge could not answer: {error}");
                    return Err(Failure::internal(&sentence, &error));
                }
                Ok(()) => {}
            }
            if goal.is_active() {
                self.tell_goal(resident, goal).await?;
            }
        }
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
        let goal = kept.and_then(Goal::resumed);
        goal.ok_or_else(|| Failure::new(StatusCode::BAD_REQUEST, "no_resumable_goal"))
    }

    async fn tell_goal(&self, resident: &Resident, goal: &Goal) -> Result<(), Failure> {
        self.catalog.note(resident.id, field::GOAL, json!(goal)).await?;
        let engine = self.engine(resident).await?;
        let told = engine.tell(GOAL.to_owned(), json!(goal)).await;
        self.checked(resident, told)
    }
}
