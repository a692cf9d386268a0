//! The logs of a simulation: what was committed, who may write, and a small account of what the events say that is
//! kept without the engine's own fold.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use deft_store::{Fencing, StoreError};
use deft_types::{ActionId, ConversationId, Event, EventBody, EventId, Money, Seq, Stats, Status};
use serde::Deserialize;
use serde_json::Value;

use super::scene::Life;

/// What hooks have said to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookSaid {
    Nothing,
    No,
}

/// One conversation.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    /// What it was created with.
    pub(crate) settings: Value,
    places: HashMap<EventId, Seq>,
    writer: Option<Fencing>,
    calls: HashMap<String, ActionId>,
    actions: HashSet<ActionId>,
    answered: HashSet<ActionId>,
    hooks_said: HashMap<ActionId, HookSaid>,
    pub(crate) status: Status,
    /// How often it began to run, or went on with a message that had waited for that.
    pub(crate) runs: usize,
    queued: HashSet<String>,
    /// How often what the model sees was changed otherwise than by adding to it.
    pub(crate) reshaped: usize,
    pub(crate) cost: Money,
}

impl Log {
    pub(crate) fn place(&self, id: &EventId) -> Option<Seq> {
        self.places.get(id).copied()
    }

    pub(crate) fn has_action(&self, id: &ActionId) -> bool {
        self.actions.contains(id)
    }

    pub(crate) fn has_result(&self, id: &ActionId) -> bool {
        self.answered.contains(id)
    }

    /// What hooks have said to a call, if they were asked.
    pub(crate) fn hooks_said(&self, id: &ActionId) -> Option<HookSaid> {
        self.hooks_said.get(id).copied()
    }

    pub(crate) fn is_written_by(&self, life: &Life) -> bool {
        life.fencing.get().is_some_and(|own| self.writer == Some(*own))
    }

    /// Actions without a result, on whichever branch.
    pub(crate) fn open_actions(&self) -> Vec<ActionId> {
        let actions = self
            .events
            .iter()
            .filter(|event| matches!(event.body, EventBody::Action(_)));
        actions
            .map(|event| event.id.clone())
            .filter(|id| !self.has_result(id))
            .collect()
    }

    fn push(&mut self, event: Event) {
        match &event.body {
            EventBody::Action(action) => {
                self.actions.insert(event.id.clone());
                self.calls.insert(action.tool_call_id.clone(), event.id.clone());
            }
            EventBody::Observation(result) => {
                self.answered.insert(result.action_id.clone());
            }
            EventBody::UserReject(result) => {
                self.answered.insert(result.action_id.clone());
            }
            EventBody::AgentError(error) => {
                self.answered.extend(self.calls.get(&error.tool_call_id).cloned());
            }
            EventBody::Message(_) => self.runs += usize::from(self.queued.contains(&event.id.0)),
            EventBody::Condensation(_) => self.reshaped += 1,
            EventBody::HookExecution(hook) if hook.hook_event_type == "PreToolUse" => {
                let said = if hook.blocked {
                    HookSaid::No
                } else {
                    HookSaid::Nothing
                };
                self.hooks_said
                    .extend(hook.action_id.clone().map(|id| (id, said)));
            }
            EventBody::StateUpdate(update) => match update.key.as_str() {
                "execution_status" => {
                    self.status = Status::deserialize(&update.value).unwrap_or(self.status);
                    self.runs += usize::from(self.status == Status::Running);
                }
                "stats" => {
                    self.cost =
                        Stats::deserialize(&update.value).map_or(self.cost, |stats| stats.total_cost());
                }
                "message_queue" => {
                    let queue = update.value.as_array().into_iter().flatten();
                    let ids = queue.filter_map(|queued| queued["id"].as_str());
                    self.queued.extend(ids.map(str::to_owned));
                }
                "leaf_event_id" | "masked_results" => self.reshaped += 1,
                _ => {}
            },
            _ => {}
        }
        self.places
            .insert(event.id.clone(), Seq(self.events.len() as u64));
        self.events.push(event);
    }
}

/// All conversations. What is in here survives everything.
#[derive(Default)]
pub(crate) struct Logs {
    logs: Mutex<BTreeMap<ConversationId, Log>>,
    fencing: Mutex<i64>,
}

impl Logs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConversationId, Log>> {
        self.logs.lock().unwrap()
    }

    pub(crate) fn create(&self, id: ConversationId, settings: Value) -> Result<(), StoreError> {
        if self.lock().contains_key(&id) {
            return Err(StoreError::Exists(id));
        }
        let log = Log {
            settings,
            ..Log::default()
        };
        self.lock().insert(id, log);
        Ok(())
    }

    pub(crate) fn delete(&self, id: ConversationId) -> Result<(), StoreError> {
        let deleted = self.lock().remove(&id);
        deleted.map(|_| ()).ok_or(StoreError::NotFound(id))
    }

    pub(crate) fn look<T>(&self, id: ConversationId, look: impl FnOnce(&Log) -> T) -> Result<T, StoreError> {
        self.lock().get(&id).map(look).ok_or(StoreError::NotFound(id))
    }

    /// The newest writer is the only one: there is no waiting for the old one here.
    pub(crate) fn acquire(&self, id: ConversationId) -> Result<Fencing, StoreError> {
        let mut logs = self.lock();
        let log = logs.get_mut(&id).ok_or(StoreError::NotFound(id))?;
        let mut last = self.fencing.lock().unwrap();
        *last += 1;
        log.writer = Some(Fencing(*last));
        Ok(Fencing(*last))
    }

    pub(crate) fn release(&self, id: ConversationId, fencing: Fencing) {
        if let Some(log) = self.lock().get_mut(&id)
            && log.writer == Some(fencing)
        {
            log.writer = None;
        }
    }

    pub(crate) fn append(
        &self,
        id: ConversationId,
        fencing: Fencing,
        events: Vec<Event>,
    ) -> Result<Range<Seq>, StoreError> {
        let mut logs = self.lock();
        let log = logs.get_mut(&id).ok_or(StoreError::NotFound(id))?;
        if log.writer != Some(fencing) {
            return Err(StoreError::Fenced(id));
        }
        if let Some((event, seq)) = events
            .iter()
            .find_map(|event| Some((event, log.place(&event.id)?)))
        {
            let id = event.id.clone();
            return Err(StoreError::Duplicate { id, seq });
        }
        let from = Seq(log.events.len() as u64);
        for event in events {
            log.push(event);
        }
        Ok(from..Seq(log.events.len() as u64))
    }

    pub(crate) fn read(
        &self,
        id: ConversationId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Event)>, StoreError> {
        self.look(id, |log| {
            let numbered = (0..).map(Seq).zip(log.events.iter().cloned());
            let from = usize::try_from(from.0).unwrap();
            numbered.skip(from).take(limit).collect()
        })
    }
}
