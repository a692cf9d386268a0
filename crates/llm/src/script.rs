//! A model that answers from a file, for tests, demonstrations and work without a provider. The format is
//! described in `docs/script-model.md`.

mod step;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deft_types::{Message, Role, Tokens};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_saphyr::Spanned;
use tokio::time::sleep;

use self::step::Step;
use crate::canned::{Canned, CannedCall, Pace};
use crate::{Capabilities, Delta, Model, ModelError, ModelProfile, Prices, Request};

/// A script may not have more steps than this, repetitions counted.
const MAX_STEPS: usize = 100_000;

/// What calls without an id of their own are named after: `script-TURN-CALL`.
const ID_PREFIX: &str = "script-";

/// Why a script cannot be used. The person mends the file.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// There is no such file, or it is no text.
    #[error("the script `{file}` cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// It is not what `docs/script-model.md` describes.
    #[error("the script `{file}` is broken in line {line}: {reason}")]
    Broken {
        /// The file.
        file: String,
        /// Where.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

/// Answers from a file.
///
/// Which turn to play is read off the request, so that a resumed conversation goes on where it was. A fault
/// leaves no trace in a request; that it happened is remembered here, and so it happens once per process.
pub(crate) struct ScriptModel {
    profile: ModelProfile,
    turns: Vec<Turn>,
    /// What is played once the turns are over.
    ending: Turn,
}

/// One turn of the assistant: faults that come before it, and its answer.
struct Turn {
    faults: Vec<Step>,
    answer: Step,
    /// How often it was asked for.
    asked: AtomicUsize,
}

impl Turn {
    fn new(faults: Vec<Step>, answer: Step) -> Self {
        Self {
            faults,
            answer,
            asked: AtomicUsize::new(0),
        }
    }

    fn next_step(&self) -> &Step {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        self.faults.get(asked).unwrap_or(&self.answer)
    }
}

impl ScriptModel {
    /// Reads a script.
    pub(crate) fn read(file: &Path) -> Result<Self, ScriptError> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|error| ScriptError::Unreadable {
            file: name.clone(),
            reason: error.to_string(),
        })?;
        Self::parse(&text, &name)
    }

    pub(crate) fn parse(text: &str, file: &str) -> Result<Self, ScriptError> {
        let broken = |line, reason| ScriptError::Broken {
            file: file.to_owned(),
            line,
            reason,
        };
        // JSON is YAML too.
        let steps: Vec<Spanned<Step>> = serde_saphyr::from_str(text).map_err(|error| {
            let line = error.location().map_or(1, |location| location.line());
            let reason = error.without_snippet().to_string();
            // The line stands at the beginning of our sentence.
            let reason = reason
                .split_once(" at line ")
                .map_or(reason.as_str(), |(reason, _)| reason);
            broken(line, reason.to_owned())
        })?;

        let mut turns = Vec::new();
        let mut faults = Vec::new();
        let mut count = 0;
        for Spanned {
            value: step, defined, ..
        } in steps
        {
            step.check().map_err(|reason| broken(defined.line(), reason))?;
            let repeat = step.repeat.unwrap_or(1);
            count = repeat.saturating_add(count);
            if count > MAX_STEPS {
                return Err(broken(
                    defined.line(),
                    format!("these are more than {MAX_STEPS} steps"),
                ));
            }
            for n in 1..=repeat {
                let step = step.numbered(n);
                if step.is_fault() {
                    faults.push(step);
                } else {
                    turns.push(Turn::new(std::mem::take(&mut faults), step));
                }
            }
        }
        Ok(Self {
            profile: ModelProfile {
                name: format!("script:{file}"),
                context_window: Some(Tokens(1_000_000)),
                max_output: None,
                prices: Some(Prices::FREE),
                capabilities: Capabilities::default(),
            },
            turns,
            ending: Turn::new(faults, Step::finish("The script is over.")),
        })
    }
}

impl Model for ScriptModel {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let number = turn_number(&request);
        let step = self.turns.get(number).unwrap_or(&self.ending).next_step();
        let delay = Duration::from_millis(step.delay_ms);
        if step.stall {
            return stream::pending().boxed();
        }
        if let Some(error) = &step.error {
            let error = error.to_model_error();
            return Box::pin(stream::once(async move {
                sleep(delay).await;
                Err(error)
            }));
        }
        let pace = Pace {
            start: delay,
            chunk: Duration::from_millis(step.chunk_delay_ms),
        };
        reply(step, number, &request).play(pace)
    }
}

/// The turn that a request asks for: as many as the assistant has had. Where the history was condensed, the
/// ids of the calls that are left still tell.
fn turn_number(request: &Request) -> usize {
    let is_turn = |message: &&Arc<Message>| message.role == Role::Assistant;
    let named = |turn: &Arc<Message>| {
        let calls = turn.tool_calls.iter().flatten();
        calls
            .filter_map(|call| {
                call.id
                    .strip_prefix(ID_PREFIX)?
                    .split_once('-')?
                    .0
                    .parse::<usize>()
                    .ok()
            })
            .max()
    };
    let mut turns = request.messages.iter().filter(is_turn);
    // The last turn mostly tells, and then the others need not be looked at.
    if let Some(last) = turns.clone().next_back().and_then(named) {
        return last.saturating_add(1);
    }
    let count = turns.clone().count();
    turns
        .by_ref()
        .filter_map(named)
        .max()
        .map_or(0, |last| last.saturating_add(1))
        .max(count)
}

fn reply(step: &Step, turn: usize, request: &Request) -> Canned {
    let mut reply = Canned {
        response_id: format!("{ID_PREFIX}{turn}"),
        reasoning: step.reasoning.clone(),
        text: step.text.clone(),
        finish: step.finish,
        cut_after: step.cut_after,
        ..Canned::default()
    };
    if !request.tools.is_empty() {
        reply.calls = step
            .tool_calls
            .iter()
            .enumerate()
            .map(|(index, call)| CannedCall {
                id: call
                    .id
                    .clone()
                    .unwrap_or_else(|| format!("{ID_PREFIX}{turn}-{index}")),
                name: call.name.clone(),
                arguments: call.arguments_text(),
            })
            .collect();
    } else if !step.tool_calls.is_empty() && step.text.is_empty() {
        // Nobody can call a tool that is not offered: this asks for a title or a summary.
        reply.text.push_str("Scripted text.");
    }
    reply.usage = step.usage.unwrap_or_else(|| reply.estimated_usage(request));
    reply.usage.cost = step.cost.or(reply.usage.cost);
    reply
}
