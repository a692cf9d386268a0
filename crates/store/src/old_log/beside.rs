//! What an agent server keeps beside the events of a conversation: `base_state.json` and `meta.json`.

use std::collections::HashSet;
use std::path::Path;

use deft_types::{ConversationId, Event, EventBody, EventId, Status};
use serde_json::{Value, json};

use super::parsed;
use crate::fold::Derived;

/// The two files; what is missing or cannot be read is null.
pub(super) struct Beside {
    state: Value,
    meta: Value,
}

impl Beside {
    pub(super) fn read(folder: &Path) -> Self {
        let read = |name: &str| parsed(&folder.join(name)).unwrap_or_default();
        Self {
            state: read("base_state.json"),
            meta: read("meta.json"),
        }
    }

    /// The conversation's id, whatever its folder is called.
    pub(super) fn id(&self) -> Option<ConversationId> {
        let ids = [&self.state["id"], &self.meta["id"]];
        ids.into_iter().find_map(|id| id.as_str()?.parse().ok())
    }

    /// What the events do not say: a name, tags, what it has cost, and where the conversation stands. Who may do what is
    /// left to whoever takes it in.
    pub(super) fn news(&self, events: &[Event], known: &Derived) -> Vec<(&'static str, Value)> {
        let mut news = Vec::new();
        let title = &self.meta["title"];
        if known.given_title.is_none() && title.as_str().is_some_and(|title| !title.trim().is_empty()) {
            news.push(("title", title.clone()));
        }
        let tags = &self.meta["tags"];
        if known.tags.is_none() && tags.as_object().is_some_and(|tags| !tags.is_empty()) {
            news.push(("tags", tags.clone()));
        }
        let stats = &self.state["stats"];
        if known.cost.is_none() && stats.is_object() {
            news.push(("stats", stats.clone()));
        }
        let last = events.iter().rfind(|event| is_node(event)).map(|event| &event.id);
        if self.state["head_is_empty"] == true {
            news.push(("leaf_event_id", Value::Null));
        } else if let Some(head) = self.head(events).filter(|head| last != Some(head)) {
            news.push(("leaf_event_id", json!(head)));
        }
        news
    }

    /// The event that the next one would have followed. The server keeps it whenever its state changes, and not with
    /// each event: what a run that was cut off has added since is told by the events alone.
    fn head<'a>(&self, events: &'a [Event]) -> Option<&'a EventId> {
        let kept = self.state["leaf_event_id"].as_str()?;
        let mut nodes = events.iter().filter(|event| is_node(event));
        let mut head = &nodes.find(|event| event.id.0 == kept)?.id;
        if self.state["execution_status"] == json!(Status::Running) {
            let mut branch = HashSet::from([head]);
            let mut before = head;
            for event in nodes {
                if branch.contains(event.parent_id.as_ref().unwrap_or(before)) {
                    branch.insert(&event.id);
                    head = &event.id;
                }
                before = &event.id;
            }
        }
        Some(head)
    }
}

/// Whether an event has a place in the tree.
fn is_node(event: &Event) -> bool {
    !matches!(event.body, EventBody::StateUpdate(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head, in a log of events that each name the one they follow (or none), and what was kept beside them.
    #[track_caller]
    fn check(log: &[(&str, &str)], kept: &str, status: Status, head: &str) {
        let event = |(id, parent): &(&str, &str)| {
            let mut event = json!({
                "id": id, "timestamp": "2026-01-01T00:00:00", "source": "user", "kind": "MessageEvent",
                "llm_message": {"role": "user", "content": []},
            });
            if !parent.is_empty() {
                event["parent_id"] = json!(parent);
            }
            serde_json::from_value(event).unwrap()
        };
        let events: Vec<Event> = log.iter().map(event).collect();
        let beside = Beside {
            state: json!({"leaf_event_id": kept, "execution_status": status}),
            meta: Value::Null,
        };
        let found = beside.head(&events).map_or("", |id| id.0.as_str());
        assert_eq!(found, head, "{log:?} {kept} {status:?}");
    }

    #[test]
    fn the_head_is_what_was_kept_and_what_a_run_that_was_cut_off_has_added_to_it() {
        let line = [("a", ""), ("b", "a"), ("c", "b")];
        let unnamed = [("a", ""), ("b", ""), ("c", "")];
        for log in [line, unnamed] {
            check(&log, "a", Status::Running, "c");
            check(&log, "c", Status::Running, "c");
            check(&log, "a", Status::Idle, "a"); // somebody went back
            check(&log, "lost", Status::Running, "");
        }
        let other_branch = [("a", ""), ("b", "a"), ("old", "b"), ("new", "a")];
        check(&other_branch, "old", Status::Running, "old");
        check(&other_branch, "a", Status::Running, "new");
    }
}
