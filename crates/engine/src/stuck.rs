//! Notices when an agent goes in circles.
//!
//! What counts is what it does and what comes of it, not how it announces it: a model that rephrases its
//! preamble is still repeating itself.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use deft_types::{ActionEvent, ActionId, EventBody, EventId, Observation};
use regex::Regex;
use serde_json::{Map, Value, json};

/// The field of the event that tells of a circle which names the event before it: what to rewind to.
pub const BEFORE_CIRCLE: &str = "before_circle";

/// Steps that are remembered.
const WINDOW: usize = 24;
/// The same call with the same result so often, and the agent is stuck. One less, and it is told.
const SAME: usize = 4;
/// The same for calls that fail.
const SAME_FAILURE: usize = 4;
/// Rounds of calls that take turns.
const ROUNDS: usize = 3;
/// Calls of such a round.
const MAX_ROUND: usize = 4;
/// Replies in a row that only talk.
const TALK: usize = 5;
/// Replies in a row that neither say nor do anything.
const SILENCE: usize = 3;
/// Steps in a row before each of which room had to be made.
const NO_ROOM: usize = 10;
/// How much of a call is quoted.
const MAX_QUOTE: usize = 200;

/// What the agent did lately, since the user said something.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Recent {
    steps: VecDeque<Step>,
    /// How often it has said something since it last did something.
    talk: usize,
    /// Replies in a row that were empty.
    silence: usize,
    /// Before how many steps in a row room was made, and whether it was before the next one.
    no_room: usize,
    made_room: bool,
    /// The reply that the last call is of, as long as none of its calls has a result.
    reply: Option<u64>,
    /// Whether it was told about the circle it is in.
    told: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Step {
    id: ActionId,
    /// The event before it.
    behind: Option<EventId>,
    call_id: String,
    call: u64,
    /// Whether it waits for a command, if one runs.
    waits: bool,
    /// `None` until it is there.
    result: Option<u64>,
    failed: bool,
    quote: String,
}

/// A circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Circle {
    /// Worth a word to the agent.
    Begins(String),
    /// It goes on although the agent was told.
    Closed(String),
}

impl Recent {
    /// The user said something, or wants it to go on: what was is no circle any more.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The agent was told something. Where a circle begins it was that; other words are no warning.
    pub(crate) fn tell(&mut self) {
        self.told |= matches!(self.circle(), Some(Circle::Begins(_)));
    }

    /// It said something.
    pub(crate) fn say(&mut self) {
        self.talk += 1;
        self.silence = 0;
    }

    /// Its reply was empty.
    pub(crate) fn say_nothing(&mut self) {
        self.silence += 1;
    }

    /// The user did not let it end its reply, which may be empty for that reason.
    pub(crate) fn interrupt(&mut self) {
        self.silence = 0;
    }

    /// Something was forgotten to make room.
    pub(crate) fn make_room(&mut self) {
        self.made_room = true;
    }

    pub(crate) fn call(&mut self, id: &ActionId, action: &ActionEvent, behind: Option<&EventId>) {
        self.talk = 0;
        self.silence = 0;
        let reply = hash(&action.llm_response_id);
        if self.reply != Some(reply) {
            self.reply = Some(reply);
            let made_room = std::mem::take(&mut self.made_room);
            self.no_room = if made_room { self.no_room + 1 } else { 0 };
        }
        let arguments = serde_json::from_str::<Map<String, Value>>(&action.tool_call.arguments);
        let mut arguments = arguments.unwrap_or_default();
        arguments.remove("summary");
        arguments.remove("security_risk");
        let waits =
            action.tool_name == "terminal" && arguments.get("command").is_some_and(|command| command == "");
        let arguments: BTreeMap<_, _> = arguments.into_iter().collect(); // in whatever order they came
        let arguments = json!(arguments).to_string();
        let mut quote = format!("{} {arguments}", action.tool_name);
        quote.truncate(quote.floor_char_boundary(MAX_QUOTE));
        let call = hash(&(&action.tool_name, arguments));
        if self.steps.len() == WINDOW {
            self.steps.pop_front();
        }
        self.steps.push_back(Step {
            id: id.clone(),
            behind: behind.cloned(),
            call_id: action.tool_call_id.clone(),
            call,
            waits,
            result: None,
            failed: false,
            quote,
        });
    }

    pub(crate) fn result(&mut self, body: &EventBody) {
        let (text, failed) = match body {
            EventBody::Observation(result) => {
                let text = deft_types::text_of(&result.observation.content());
                (text, result.observation.is_error())
            }
            EventBody::AgentError(error) => (error.error.clone(), true),
            EventBody::UserReject(rejection) => (rejection.rejection_reason.clone(), true),
            _ => return,
        };
        let of_call = |step: &Step| match body {
            EventBody::Observation(result) => step.id == result.action_id,
            EventBody::AgentError(error) => step.call_id == error.tool_call_id,
            EventBody::UserReject(rejection) => step.id == rejection.action_id,
            _ => false,
        };
        self.reply = None; // the next call is of another one, even if a server calls them all alike
        if let Some(position) = self.steps.iter().rposition(of_call) {
            let step = &mut self.steps[position];
            if step.waits && still_runs(body) {
                self.steps.remove(position); // to wait for a command that runs is no repetition
                return;
            }
            step.result = Some(hash(&without_accidents(&text)));
            step.failed = failed;
        }
        if self.repeated() < 2 && self.taking_turns().is_none() {
            self.told = false; // it has left the circle
        }
    }

    /// The circle the agent is in, if it is in one and has not just been told.
    pub(crate) fn circle(&self) -> Option<Circle> {
        if self.no_room >= NO_ROOM {
            let text = format!(
                "Room had to be made before each of the last {NO_ROOM} steps: what the model can read at a time is too \
                 little for this work."
            );
            return Some(Circle::Closed(text));
        }
        if self.silence >= SILENCE {
            let text = format!("The last {SILENCE} replies were empty.");
            return Some(Circle::Closed(text));
        }
        if self.talk + 1 >= TALK {
            let text = format!("The last {} replies only talk, and nothing is done.", self.talk);
            return self.grade(self.talk >= TALK, text);
        }
        let last = self.steps.back()?;
        let repeated = self.repeated();
        let limit = if last.failed { SAME_FAILURE } else { SAME };
        if repeated + 1 >= limit {
            let what = if last.failed {
                "failed in the same way"
            } else {
                "gave the same result"
            };
            let text = format!("The same call {what} {repeated} times: {}", last.quote);
            return self.grade(repeated >= limit, text);
        }
        let turns = self.taking_turns()?;
        let limit = ROUNDS * turns.round;
        if turns.steps + 1 >= limit {
            let round = self.steps.iter().skip(self.steps.len() - turns.round);
            let quotes: Vec<_> = round.map(|step| step.quote.as_str()).collect();
            let text = format!(
                "{} calls take turns, with the same results: {}",
                turns.round,
                quotes.join(" and ")
            );
            return self.grade(turns.steps >= limit, text);
        }
        None
    }

    /// The event before the first call of the circle, if it is one of calls.
    pub(crate) fn before_circle(&self) -> Option<&EventId> {
        let of_calls = self.no_room < NO_ROOM && self.silence < SILENCE && self.talk < TALK;
        let turns = self.taking_turns().map_or(0, |turns| turns.steps);
        let length = self.repeated().max(turns);
        let first = self.steps.len().checked_sub(length).filter(|_| of_calls)?;
        self.steps.get(first)?.behind.as_ref()
    }

    fn grade(&self, closed: bool, text: String) -> Option<Circle> {
        match (closed, self.told) {
            (true, true) => Some(Circle::Closed(text)),
            (_, false) => Some(Circle::Begins(text)), // the model is told before it is stopped
            (false, true) => None,
        }
    }

    /// How often in a row the last call had the last result.
    fn repeated(&self) -> usize {
        let Some(last) = self.steps.back().filter(|last| last.result.is_some()) else {
            return 0;
        };
        let same = |step: &&Step| step.call == last.call && step.result == last.result;
        self.steps.iter().rev().take_while(same).count()
    }

    /// The shortest round of different calls that was gone through twice at least, with the same results.
    fn taking_turns(&self) -> Option<Turns> {
        self.steps.back()?.result?;
        let steps = self.steps.iter().rev().map(|step| (step.call, step.result));
        let steps: Vec<_> = steps.collect();
        (2..=MAX_ROUND).find_map(|round| {
            let as_before = steps.iter().zip(steps.iter().skip(round));
            let again = as_before.take_while(|(step, before)| step == before).count();
            let differ = steps.iter().take(round).any(|step| *step != steps[0]);
            (differ && again >= round).then_some(Turns {
                round,
                steps: round + again,
            })
        })
    }
}

/// Calls that take turns.
struct Turns {
    /// How many they are.
    round: usize,
    /// For how many steps they have done so.
    steps: usize,
}

/// Whether a result is of a command that has not ended.
fn still_runs(result: &EventBody) -> bool {
    match result {
        EventBody::Observation(result) => match &result.observation {
            Observation::Terminal(seen) => seen.exit_code == Some(-1) && !seen.is_error,
            _ => false,
        },
        _ => false,
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A result without what differs each time by accident: times, durations, process ids, addresses, ids, and the names
/// that programs give to files and directories of the moment.
fn without_accidents(text: &str) -> String {
    static ACCIDENTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?x)
            \d{4}-\d\d-\d\d([T\ ]\d\d:\d\d(:\d\d([.,]\d+)?)?)? | \d{1,2}:\d\d:\d\d([.,]\d+)?  # dates and times
            | \b1[5-9]\d{8}(\d{3}){0,3}([.,]\d+)?\b                                               # times as numbers
            | \b\d+([.,]\d+)?\ ?(ns|µs|us|ms|s|sec|secs|seconds|min|minutes)\b              # durations
            | \b(pid|PID|process)[\ =:]*\d+ | \[\d+\]\ \d+ | \w\[\d{3,}\]: | \bthread\ '[^']*'\ \(\d+\) # processes
            | \b0x[0-9a-fA-F]+                                                               # addresses
            | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b # ids
            | (/private)?(/tmp|/var/tmp|/var/folders|/dev/shm|/run/user/\d+|/proc/\d+)/[^\s/'\x22]+
            | (?i:\\temp\\[^\s\\'\x22]+)                                                       # places of the moment
            | \btmp[._-]?[A-Za-z0-9_]{6,}\b                                                   # their names elsewhere",
        )
        .ok()
    });
    match &*ACCIDENTS {
        Some(accidents) => accidents.replace_all(text, "#").into_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
