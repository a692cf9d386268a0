//! A turn of such an agent that is under way.

use std::time::Duration;

use deft_acp::{AgentError, Choice, Permission, PlanEntry, Prompting, ToolCalls, Update};
use deft_types::{ActionId, EventId};
use tokio::time::{Instant, sleep_until};

use crate::actor::work::Outcome;
use crate::external::Running;

/// The most that is kept of what an agent says or thinks in one turn.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// See the module. Dropping it ends the agent's program.
pub(crate) struct Turn {
    pub(super) running: Box<Running>,
    prompting: Prompting,
    /// What its pieces are shown under.
    pub(super) item: EventId,
    pub(super) said: String,
    pub(super) thought: String,
    pub(super) calls: ToolCalls,
    /// What it means to do, as it was told last.
    pub(super) plan: Vec<PlanEntry>,
    /// What the session has cost, if that was told.
    pub(super) cost: Option<f64>,
    /// What the agent asks for, and the action that stands for it. It waits for the answer, so it is not heard before.
    pub(super) asks: Option<(Permission, ActionId)>,
    limit: Duration,
    silent_until: Instant,
}

impl Turn {
    pub(super) fn new(running: Box<Running>, prompting: Prompting, item: EventId, limit: Duration) -> Self {
        Self {
            running,
            prompting,
            item,
            said: String::new(),
            thought: String::new(),
            calls: ToolCalls::default(),
            plan: Vec::new(),
            cost: None,
            asks: None,
            limit,
            silent_until: Instant::now() + limit,
        }
    }

    /// The next thing that the agent tells, or the end of the turn.
    pub(crate) async fn next(&mut self) -> Outcome {
        if self.asks.is_some() {
            return std::future::pending().await;
        }
        tokio::select! {
            biased; // what was told before the end is heard before it
            Some(told) = self.running.session.next() => {
                self.hear();
                Outcome::Told(told)
            }
            end = &mut self.prompting => Outcome::TurnEnded(end),
            () = sleep_until(self.silent_until) => Outcome::TurnEnded(Err(AgentError::Mute {
                method: "session/prompt".to_owned(),
                limit: self.limit,
            })),
        }
    }

    /// Takes a piece in.
    pub(super) fn take(&mut self, update: Update) {
        match update {
            Update::Text(text) => add(&mut self.said, &text),
            Update::Thought(text) => add(&mut self.thought, &text),
            Update::Cost(cost) => self.cost = Some(cost),
            Update::ToolCall(_) | Update::Plan(_) | Update::Other => {}
        }
    }

    /// Answers what the agent asked.
    pub(super) async fn answer(&mut self, choice: Choice) {
        if let Some((permission, _)) = self.asks.take() {
            self.running.session.answer(&permission, choice).await;
        }
        self.hear();
    }

    /// Asks the agent to end the turn.
    pub(super) async fn decline(&mut self) {
        self.answer(Choice::Cancel).await;
        self.running.session.cancel().await;
    }

    fn hear(&mut self) {
        self.silent_until = Instant::now() + self.limit;
    }
}

fn add(text: &mut String, piece: &str) {
    if text.len() + piece.len() <= MAX_TEXT_BYTES {
        text.push_str(piece);
    }
}
