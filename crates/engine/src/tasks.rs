//! The tasks that a conversation has given, and the agents among them that wait for a person's word.
//!
//! An agent that must ask stops, and its `task` call has no result: the conversation that gave the task waits in its
//! place, and whoever says yes there says it to the agent. What it waits for is in the log, so it survives a restart.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deft_types::ActionId;
use serde::{Deserialize, Serialize};

use crate::command::ExecutorFate;
use crate::state::State;
use crate::sub_agents::SubAgent;

/// Who judges, by name, in the event that tells what an agent with a task waits for.
pub const AGENT_OF_TASK: &str = "AgentOfTask";
/// Characters of a wish that are shown; of a longer one the beginning and the end.
const MAX_SHOWN: usize = 10_000;

/// Something that an agent wants to do and may not without a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wish {
    /// The action that waits, in the agent's own conversation.
    action: ActionId,
    text: String,
}

/// An agent that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) task_id: String,
    pub(crate) wishes: Vec<Wish>,
}

impl Waiting {
    /// What the agent of a task, or one below it, waits for.
    pub(crate) fn of(task_id: &str, agent: &State) -> Self {
        let below = agent.open_calls.iter().flat_map(|call| &call.waiting);
        let mut wishes: Vec<_> = below.flat_map(|waiting| waiting.wishes.clone()).collect();
        if wishes.is_empty() {
            let own = agent.open_calls.iter().map(|call| Wish {
                action: call.id.clone(),
                text: shown(&call.event.tool_name, &call.event.tool_call.arguments),
            });
            wishes = own.collect();
        }
        Self {
            task_id: task_id.to_owned(),
            wishes,
        }
    }

    /// What it wants, in words for a person.
    pub(crate) fn told(&self) -> String {
        let wishes: Vec<_> = self.wishes.iter().map(|wish| wish.text.as_str()).collect();
        format!(
            "The agent of {} wants to call {}",
            self.task_id,
            wishes.join(", ")
        )
    }
}

fn shown(tool: &str, arguments: &str) -> String {
    let length = arguments.chars().count();
    if length <= MAX_SHOWN {
        return format!("{tool} {arguments}");
    }
    let half = MAX_SHOWN / 2;
    let begin: String = arguments.chars().take(half).collect();
    let end: String = arguments.chars().skip(length - half).collect();
    let left_out = length - 2 * half;
    format!("{tool} {begin} [{left_out} characters are left out here] {end}")
}

/// An agent that is called by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegate {
    /// By which its conversation is taken up again.
    pub task_id: String,
    /// What kind of agent it is.
    pub kind: String,
}

/// The tasks of a conversation. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// The kind of agent that has a task, by the task's id.
    kinds: BTreeMap<String, String>,
    /// The tasks of agents that are called by name.
    delegates: BTreeMap<String, Delegate>,
    /// Whether there are more of them than the log tells of.
    has_new_delegates: bool,
    /// The tasks that calls gave whose process died.
    cut_off: HashMap<ActionId, String>,
    /// Calls whose agents have begun to wait since the actor last looked.
    begun_to_wait: HashMap<ActionId, Vec<Waiting>>,
    /// Calls whose agents may do what they waited for.
    approved: HashMap<ActionId, Vec<Waiting>>,
    /// The agents that wait and are loaded, by the ids of their tasks.
    parked: BTreeMap<String, SubAgent>,
}

impl Tasks {
    pub(crate) fn new(kinds: BTreeMap<String, String>, delegates: BTreeMap<String, Delegate>) -> Self {
        let known = Known {
            kinds,
            delegates,
            ..Known::default()
        };
        Self(Arc::new(Mutex::new(known)))
    }

    /// A kind of agent has a task.
    pub(crate) fn give(&self, task_id: String, kind: String) {
        self.known().kinds.insert(task_id, kind);
    }

    /// The process died in which a call had given this task.
    pub(crate) fn cut_off(&self, call: ActionId, task_id: String) {
        self.known().cut_off.insert(call, task_id);
    }

    /// The task that a call had given when its process died.
    pub(crate) fn cut_off_in(&self, call: &ActionId) -> Option<String> {
        self.known().cut_off.get(call).cloned()
    }

    /// The kind of agent that was given a task.
    pub(crate) fn kind_of(&self, task_id: &str) -> Option<String> {
        self.known().kinds.get(task_id).cloned()
    }

    /// The agents that are called by name.
    pub(crate) fn delegates(&self) -> BTreeMap<String, Delegate> {
        self.known().delegates.clone()
    }

    /// One more of them.
    pub(crate) fn add_delegate(&self, name: String, delegate: Delegate) {
        let mut known = self.known();
        known.delegates.insert(name, delegate);
        known.has_new_delegates = true;
    }

    /// All of them, if there are more than when this was last asked.
    pub(crate) fn new_delegates(&self) -> Option<BTreeMap<String, Delegate>> {
        let mut known = self.known();
        std::mem::take(&mut known.has_new_delegates).then(|| known.delegates.clone())
    }

    /// The agent of a call stops until somebody says a word.
    pub(crate) fn park(&self, call: ActionId, waiting: Waiting, agent: SubAgent) {
        let mut known = self.known();
        known.parked.insert(waiting.task_id.clone(), agent);
        known.begun_to_wait.entry(call).or_default().push(waiting);
    }

    /// The agent of a task, if it is loaded and waits.
    pub(crate) fn unpark(&self, task_id: &str) -> Option<SubAgent> {
        self.known().parked.remove(task_id)
    }

    /// What the agents of a call have begun to wait for.
    pub(crate) fn begun_to_wait(&self, call: &ActionId) -> Option<Vec<Waiting>> {
        self.known().begun_to_wait.remove(call)
    }

    /// A person agrees to what the agents of a call want.
    pub(crate) fn approve(&self, call: ActionId, waiting: Vec<Waiting>) {
        self.known().approved.insert(call, waiting);
    }

    /// What an agent of a call may do, if somebody has agreed to something: the one of a task, where there are several.
    pub(crate) fn approved(&self, call: &ActionId, task: Option<&str>) -> Option<Waiting> {
        let mut known = self.known();
        let approved = known.approved.get_mut(call)?;
        let is_its = |waiting: &Waiting| task.is_none_or(|task| waiting.task_id == task);
        let index = approved.iter().position(is_its)?;
        Some(approved.remove(index))
    }

    /// Unloads the agents whose word nobody waits for any more. What they did is kept.
    pub(crate) async fn let_go_of_all_but(&self, awaited: &[String]) {
        let let_go: Vec<_> = {
            let mut known = self.known();
            let parked = std::mem::take(&mut known.parked);
            let (kept, let_go) = parked.into_iter().partition(|(id, _)| awaited.contains(id));
            known.parked = kept;
            BTreeMap::into_values(let_go).collect()
        };
        for agent in let_go {
            agent.end().await;
        }
    }

    /// Unloads all that wait; they can be taken up again.
    pub(crate) async fn close_all(&self, fate: ExecutorFate) {
        let parked = std::mem::take(&mut self.known().parked);
        for agent in parked.into_values() {
            agent.conversation.close(fate).await;
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
