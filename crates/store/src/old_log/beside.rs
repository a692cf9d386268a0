//! What an agent server keeps beside the events of a conversation: `base_state.json` and `meta.json`.

use std::path::Path;

use deft_types::{ConversationId, Event, EventBody};
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
        let is_node = |event: &&Event| !matches!(event.body, EventBody::StateUpdate(_));
        let last = events.iter().rfind(is_node).map(|event| event.id.0.as_str());
        let leaf = self.state["leaf_event_id"].as_str();
        let is_there = |id: &str| events.iter().any(|event| is_node(&event) && event.id.0 == id);
        if self.state["head_is_empty"] == true {
            news.push(("leaf_event_id", Value::Null));
        } else if let Some(leaf) = leaf.filter(|id| is_there(id) && last != Some(id)) {
            news.push(("leaf_event_id", json!(leaf)));
        }
        news
    }
}
