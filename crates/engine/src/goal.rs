//! A goal: the agent runs, the result is judged, and it is sent back until nothing is missing.

use serde::{Deserialize, Serialize};

use crate::aside::AsideError;
use crate::command::Command;
use crate::conversation::Conversation;

/// The key of the news about a goal.
pub const GOAL: &str = "goal";
/// Rounds where nobody says how many.
pub const GOAL_ROUNDS: u32 = 10;
/// What judgements are counted as.
const JUDGE_USAGE: &str = "judge";

/// How far a goal is, as watchers are told and as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
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

/// What is thought of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Verdict {
    #[serde(default)]
    score: f64,
    #[serde(default)]
    complete: bool,
    #[serde(default, deserialize_with = "crate::words::read")]
    missing: String,
}

impl Goal {
    /// A goal, and how often the agent may be sent back to it.
    pub fn new(objective: String, rounds: u32) -> Self {
        Self {
            active: true,
            status: Stage::Running,
            iteration: 0,
            max_iterations: rounds.max(1),
            objective,
            verdict: None,
        }
    }

    /// What the agent is told at the beginning of a round.
    pub fn message(&self) -> String {
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

    /// Has the result of a round judged. A judge who fails has judged nothing: the round does not count.
    pub async fn judge(&mut self, conversation: &Conversation) -> Result<(), AsideError> {
        let answer = conversation.ask_judge(&self.question()).await?;
        let judged = verdict(&answer);
        self.iteration += 1;
        if judged.complete {
            self.end(Stage::Complete);
        } else if self.iteration >= self.max_iterations {
            self.end(Stage::Capped);
        }
        self.verdict = Some(judged);
        Ok(())
    }

    /// Nobody works towards it any more.
    pub fn interrupt(&mut self) {
        if self.active {
            self.end(Stage::Interrupted);
        }
    }

    /// Whether the next round may begin.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Whether nothing is missing.
    pub fn is_complete(&self) -> bool {
        self.status == Stage::Complete
    }

    /// What is missing of one that had all its rounds, as far as somebody has said.
    pub fn missed(&self) -> Option<&str> {
        let missing = self.verdict.as_ref().map_or("", |verdict| &verdict.missing);
        (self.status == Stage::Capped).then_some(missing)
    }

    /// The same goal to go on with; none if it is reached. One that had all its rounds gets as many again.
    #[must_use]
    pub fn resumed(mut self) -> Option<Self> {
        match self.status {
            Stage::Complete => return None,
            Stage::Capped => self.iteration = 0,
            Stage::Running | Stage::Interrupted => {}
        }
        self.active = true;
        self.status = Stage::Running;
        Some(self)
    }

    fn end(&mut self, stage: Stage) {
        self.active = false;
        self.status = stage;
    }

    fn question(&self) -> String {
        format!(
            "Judge the work so far against this goal, strictly and by evidence in this conversation only:\n\n{}\n\n\
             Reply with one JSON object and nothing else: \
             {{\"score\": a number from 0 to 1, \"complete\": true or false, \"missing\": \"what is still to be done\"}}",
            self.objective
        )
    }
}

impl Conversation {
    /// Asks whoever judges something about the conversation: the model that was named for it, or the agent's own.
    pub async fn ask_judge(&self, question: &str) -> Result<String, AsideError> {
        let snapshot = self.ask(|done| Command::Snapshot { done }).await??;
        let model = snapshot.judge.clone();
        self.ask_with(snapshot, model, JUDGE_USAGE, question).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_is_found_in_its_wrapping_and_what_is_none_is_no_yes() {
        let wrapped = "```json\n{\"score\": 1, \"complete\": true, \"missing\": \"\"}\n```";
        assert!(verdict(wrapped).complete);
        assert!(verdict("{\"complete\": true, \"missing\": []}").complete);
        assert!(verdict("{\"complete\": true, \"missing\": null}").complete);
        let missing = verdict("{\"complete\": false, \"missing\": [\"tests\", \"docs\"]}").missing;
        assert_eq!(missing, "tests\ndocs");
        assert!(!verdict("complete: true").complete);
        assert!(!verdict("{\"complete\": \"yes\"}").complete);
    }

    #[test]
    fn a_goal_that_had_its_rounds_gets_as_many_again_and_one_that_is_reached_none() {
        let mut goal = Goal::new("x".to_owned(), 2);
        goal.iteration = 2;
        goal.end(Stage::Capped);
        assert_eq!(
            goal.clone().resumed().map(|goal| (goal.active, goal.iteration)),
            Some((true, 0))
        );
        goal.end(Stage::Complete);
        assert_eq!(goal.resumed(), None);
    }
}
