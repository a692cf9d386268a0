//! News about the state, taken in one by one.

use deft_tools::CheckpointId;
use deft_types::{ConfirmationPolicy, ConversationStateUpdateEvent, EventId, Metrics, Stats, Status};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::{State, key};
use crate::budget::Budget;
use crate::condense::Mask;
use crate::egress::Egress;
use crate::external;
use crate::goal::{GOAL, Goal};
use crate::tasks::Waiting;
use crate::trust::Provided;

impl State {
    fn know_of(&mut self, provided: &[Provided]) {
        for provided in provided {
            if !self.asked_about.contains(provided) {
                self.asked_about.push(provided.clone());
            }
        }
    }

    pub(super) fn apply_update(&mut self, update: &ConversationStateUpdateEvent) {
        // A value we cannot read is a later version's: what we knew before stays.
        let value = &update.value;
        match update.key.as_str() {
            key::STATUS => {
                self.status = Status::deserialize(value).unwrap_or(self.status);
                if self.status == Status::Stuck {
                    self.recent.clear(); // whoever goes on knows of it
                }
                if self.status == Status::Finished {
                    self.turn_checkpoint = None;
                }
                if self.status == Status::Running {
                    self.trouble = None;
                }
            }
            key::STATS => {
                if let Ok(mut stats) = Stats::deserialize(value) {
                    stats
                        .usage_to_metrics
                        .values_mut()
                        .for_each(Metrics::forget_calls);
                    self.stats = stats;
                }
            }
            key::LAST_USER_MESSAGE => {
                self.last_user_message_id = Option::deserialize(value).unwrap_or_default();
            }
            key::EXECUTOR => {
                if let Ok(instance) = Uuid::deserialize(value) {
                    if self.executor != Some(instance) {
                        self.shell_directory = None; // it has a shell of its own
                    }
                    self.executor = Some(instance);
                    self.open_calls
                        .iter_mut()
                        .for_each(|call| call.executors.push(instance));
                }
            }
            key::AGENT => {
                if let Some(model) = value.pointer("/llm/model").and_then(Value::as_str) {
                    self.model = Some(model.to_owned());
                }
            }
            key::AGENT_STATE => {
                read(value, &mut self.agent_state);
                let message = value[external::IN_FLIGHT].as_str();
                self.prompted.extend(message.map(|id| EventId(id.to_owned())));
            }
            key::POLICY => {
                if let Ok(policy) = ConfirmationPolicy::deserialize(value) {
                    self.policy = Some(policy);
                }
            }
            key::ANALYZER => {
                if let Ok(analyzer) = Option::deserialize(value) {
                    self.analyzer = Some(analyzer);
                }
            }
            key::CHECKPOINT => {
                if let Ok(id) = CheckpointId::deserialize(value) {
                    self.checkpoints.push((self.leaf.clone(), id));
                    self.turn_checkpoint.get_or_insert(id);
                }
            }
            key::UNDECIDED => {
                if let Ok(undecided) = Vec::<Provided>::deserialize(value) {
                    self.know_of(&undecided);
                    self.undecided = undecided;
                }
            }
            key::PROVIDED => {
                if let Ok(provided) = Vec::<Provided>::deserialize(value) {
                    self.know_of(&provided);
                }
            }
            key::TASK_WAITS => {
                if let Ok(OneOrMore(waiting)) = OneOrMore::deserialize(&value["waiting"])
                    && let Some(call) = self
                        .open_calls
                        .iter_mut()
                        .find(|call| value["action_id"] == call.id.0.as_str())
                {
                    call.waiting = waiting;
                }
            }
            _ => self.apply_note(&update.key, value),
        }
    }

    /// What is taken as it is, or added to what was known.
    fn apply_note(&mut self, name: &str, value: &Value) {
        match name {
            key::DELEGATES => {
                read(value, &mut self.delegates);
                let given = self.delegates.values();
                self.tasks
                    .extend(given.map(|delegate| (delegate.task_id.clone(), delegate.kind.clone())));
            }
            key::ALLOW_RULES => read(value, &mut self.allow_rules),
            key::HOST_QUESTIONS => read(value, &mut self.host_questions),
            key::ALLOWED_HOSTS => read(value, &mut self.allowed_hosts),
            key::PATH_RULES => read(value, &mut self.path_rules),
            key::CRITIC => self.refinements += u32::from(value["goes_on"] == true),
            GOAL => self.goal = Goal::deserialize(value).ok(),
            key::MODE => read(value, &mut self.mode),
            key::TITLE => read(value, &mut self.title),
            key::TAGS => read(value, &mut self.tags),
            key::ADDED => {
                if let Ok(more) = Budget::deserialize(value) {
                    self.added = self.added.plus(more);
                }
            }
            key::QUEUE => read(value, &mut self.queue),
            key::EGRESS => {
                if let Ok(told) = Egress::deserialize(value) {
                    self.requested_until = told.until;
                    told.join(&mut self.requested);
                }
            }
            key::SERVERS => read(value, &mut self.servers),
            key::MASKED => {
                if let Ok(mask) = Mask::deserialize(value) {
                    self.wants_condensation = false;
                    self.view.mask(&mask);
                }
            }
            key::NOTHING_TO_FORGET => self.wants_condensation = false,
            key::UNSEEN => {
                if let Ok(ids) = Vec::<EventId>::deserialize(value) {
                    self.view.postpone(&ids);
                }
            }
            _ => {}
        }
    }
}

/// Puts what a value says in the place of what was known; a later version's, which cannot be read, changes nothing.
fn read<T: DeserializeOwned>(value: &Value, known: &mut T) {
    if let Ok(read) = T::deserialize(value) {
        *known = read;
    }
}

/// Older logs tell of one agent that waits.
#[derive(Deserialize)]
#[serde(from = "Told")]
struct OneOrMore(Vec<Waiting>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Told {
    One(Waiting),
    More(Vec<Waiting>),
}

impl From<Told> for OneOrMore {
    fn from(told: Told) -> Self {
        match told {
            Told::One(waiting) => Self(vec![waiting]),
            Told::More(waiting) => Self(waiting),
        }
    }
}
