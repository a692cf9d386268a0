//! Which observation answers which call.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::text;

/// The actions that are calls of tools.
const CALLS: &[&str] = &[
    "run",
    "run_ipython",
    "read",
    "write",
    "edit",
    "browse",
    "browse_interactive",
    "call_tool_mcp",
    "delegate",
    "think",
    "finish",
    "task_tracking",
];

/// The calls of a log with their results.
pub(super) struct Pairs {
    /// Each call by its number, with the number of what answers it.
    pub(super) calls: BTreeMap<u64, Option<u64>>,
    /// The same the other way round.
    pub(super) answers: HashMap<u64, u64>,
    /// Calls that waited for a person's word: they stand there once more, as what became of them.
    pub(super) repeated: HashSet<u64>,
    /// What was thought with such a call, by the number of the later one.
    pub(super) thoughts: HashMap<u64, String>,
    open: BTreeSet<u64>,
}

impl Pairs {
    pub(super) fn of(old: &BTreeMap<u64, Value>) -> Self {
        let mut pairs = Self {
            calls: BTreeMap::new(),
            answers: HashMap::new(),
            repeated: HashSet::new(),
            thoughts: HashMap::new(),
            open: BTreeSet::new(),
        };
        for (number, event) in old {
            if event["source"] == "agent" && CALLS.contains(&text(&event["action"])) {
                pairs.merge_waiting(*number, event, old);
                pairs.calls.insert(*number, None);
                pairs.open.insert(*number);
            } else if event["observation"].is_string()
                && let Some(call) = pairs.question(event, old)
            {
                pairs.open.remove(&call);
                pairs.calls.insert(call, Some(*number));
                pairs.answers.insert(*number, call);
            }
        }
        pairs
    }

    /// Takes away a call that waited, when the next one is the same.
    fn merge_waiting(&mut self, number: u64, event: &Value, old: &BTreeMap<u64, Value>) {
        let Some((&before, None)) = self.calls.last_key_value() else {
            return;
        };
        let waited = &old[&before];
        if waited["args"]["confirmation_state"] == "awaiting_confirmation"
            && waited["action"] == event["action"]
            && waited["tool_call_metadata"]["tool_call_id"] == event["tool_call_metadata"]["tool_call_id"]
        {
            self.calls.remove(&before);
            self.open.remove(&before);
            self.repeated.insert(before);
            self.thoughts
                .insert(number, text(&waited["args"]["thought"]).to_owned());
        }
    }

    /// The call without a result that an observation answers: the one it names, or else the last that it fits.
    fn question(&self, event: &Value, old: &BTreeMap<u64, Value>) -> Option<u64> {
        if let Some(cause) = event["cause"].as_u64().filter(|cause| old.contains_key(cause)) {
            return Some(cause).filter(|cause| self.open.contains(cause));
        }
        let open = || self.open.iter().rev().copied();
        let id = &event["tool_call_metadata"]["tool_call_id"];
        let by_id =
            open().find(|call| id.is_string() && old[call]["tool_call_metadata"]["tool_call_id"] == *id);
        let kind = text(&event["observation"]);
        by_id.or_else(|| {
            open()
                .next()
                .filter(|call| fits(text(&old[call]["action"]), kind))
        })
    }
}

/// Whether an observation that names no call can be the answer to such an action.
fn fits(action: &str, observation: &str) -> bool {
    match observation {
        "error" | "user_rejected" => action != "finish",
        "mcp" => action == "call_tool_mcp",
        "browse" => action.starts_with("browse"),
        other => action == other,
    }
}
