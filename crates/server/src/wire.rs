//! Events as clients see them. The clients of the contract refuse a field they do not know, so what only we
//! understand stays here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::ws::Utf8Bytes;
use deft_engine::{BEFORE_CIRCLE, OWN_KEYS};
use deft_store::DAMAGED_EVENT;
use deft_types::{ConversationStateUpdateEvent, Event, EventBody};
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::masking::Mask;

/// Fields that may be null, by kind; or by the name of the field they are in, after an `@`.
const NULLABLE: &str = include_str!("wire/nullable.json");

/// Fields of the stats that the contract does not have.
const OWN_METRICS: [&str; 3] = ["cost_unknown", "prefix_changes", "estimated_calls"];
/// Fields of the stats that only the full form has: something about each call.
pub(crate) const CALL_LISTS: [&str; 3] = ["costs", "response_latencies", "token_usages"];

/// Texts of the newest events that are kept for those who watch.
const KEPT: usize = 16;

/// Writes events of one conversation.
pub(crate) struct Wire {
    agent: Value,
    /// What was told last, and as which text.
    told: Mutex<VecDeque<(Arc<Event>, Option<Utf8Bytes>)>>,
}

impl Wire {
    pub(crate) fn new(agent: &Agent) -> Self {
        Self {
            agent: agent.shown(Mask::Asterisks),
            told: Mutex::default(),
        }
    }

    /// The same text for all who hear of an event when it happens: it is written once, however many they are.
    pub(crate) fn shared_text(&self, event: &Arc<Event>) -> Option<Utf8Bytes> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, text)) = told.iter().rev().find(|(known, _)| Arc::ptr_eq(known, event)) {
            return text.clone();
        }
        let text = self.text(event).map(Utf8Bytes::from);
        if told.len() == KEPT {
            told.pop_front();
        }
        told.push_back((Arc::clone(event), text.clone()));
        text
    }

    /// An event without nulls, as JSON text: for sockets and searches. None where clients have no use for it.
    pub(crate) fn text(&self, event: &Event) -> Option<String> {
        let text = match &event.body {
            EventBody::StateUpdate(update) => {
                let update = self.update(update)?;
                let event = Event {
                    body: update.into(),
                    ..event.clone()
                };
                serde_json::to_string(&event)
            }
            EventBody::ConversationError(error) if error.extra.contains_key(BEFORE_CIRCLE) => {
                let mut error = error.as_ref().clone();
                error.extra.remove(BEFORE_CIRCLE);
                serde_json::to_string(&Event {
                    body: error.into(),
                    ..event.clone()
                })
            }
            EventBody::Unknown(unknown) if unknown.kind == DAMAGED_EVENT => return None,
            _ => serde_json::to_string(event),
        };
        text.inspect_err(|error| tracing::error!(%error, id = %event.id, "an event has no JSON"))
            .ok()
    }

    /// An event with its nulls: for those REST answers that have them.
    pub(crate) fn with_nulls(&self, event: &Event) -> Option<Value> {
        let mut value = serde_json::from_str(&self.text(event)?).ok()?;
        let nullable: HashMap<String, Vec<String>> = serde_json::from_str(NULLABLE).unwrap_or_default();
        add_nulls(&mut value, "", &nullable);
        Some(value)
    }

    fn update(&self, update: &ConversationStateUpdateEvent) -> Option<ConversationStateUpdateEvent> {
        let mut update = update.clone();
        match update.key.as_str() {
            key if OWN_KEYS.contains(&key) => return None,
            "stats" => {
                public_stats(&mut update.value);
                without_fields(&mut update.value, &CALL_LISTS);
            }
            // The log says only which model answers; clients want the whole agent.
            "agent" => {
                let model = update.value.pointer("/llm/model").cloned();
                let own_model = update.value.get("acp_model").cloned();
                update.value = self.agent.clone();
                if let Some(model) = &own_model {
                    update.value["acp_model"] = model.clone();
                }
                let place = update.value.pointer_mut("/llm/model");
                if let (Some(model), Some(place)) = (model.or(own_model), place) {
                    *place = model;
                }
            }
            _ => {}
        }
        Some(update)
    }
}

/// Before which event an agent began to go in circles; our own paths tell it beside the event.
pub(crate) fn before_circle(event: &Event) -> Option<&str> {
    match &event.body {
        EventBody::ConversationError(error) => error.extra.get(BEFORE_CIRCLE)?.as_str(),
        _ => None,
    }
}

/// Takes our own fields out of the stats, and says that there is no budget where there is none.
pub(crate) fn public_stats(stats: &mut Value) {
    without_fields(stats, &OWN_METRICS);
    if let Some(stats) = stats.as_object_mut() {
        stats.remove("inherited_cost");
    }
    for metrics in all_metrics(stats) {
        metrics.entry("max_budget_per_task").or_insert(Value::Null);
    }
}

fn without_fields(stats: &mut Value, fields: &[&str]) {
    for metrics in all_metrics(stats) {
        metrics.retain(|name, _| !fields.contains(&name.as_str()));
    }
}

fn all_metrics(stats: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let all = stats.get_mut("usage_to_metrics").and_then(Value::as_object_mut);
    all.into_iter()
        .flat_map(|all| all.values_mut())
        .filter_map(Value::as_object_mut)
}

fn add_nulls(value: &mut Value, name: &str, nullable: &HashMap<String, Vec<String>>) {
    match value {
        Value::Object(fields) => {
            let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
            let missing = [nullable.get(kind), nullable.get(&format!("@{name}"))];
            for field in missing.into_iter().flatten().flatten() {
                fields.entry(field.as_str()).or_insert(Value::Null);
            }
            for (name, value) in fields {
                add_nulls(value, name, nullable);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| add_nulls(item, name, nullable)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(event: Value) -> Option<Value> {
        let agent = Agent::read(&json!({"llm": {"model": "demo", "api_key": "sk-1"}})).unwrap();
        let event: Event = serde_json::from_value(event).unwrap();
        let text = Wire::new(&agent).text(&event)?;
        Some(serde_json::from_str(&text).unwrap())
    }

    fn update(key: &str, value: &Value) -> Value {
        json!({"id": "e1", "timestamp": "2026-11-15T01:11:15.981654", "source": "environment", "key": key,
            "value": value, "kind": "ConversationStateUpdateEvent"})
    }

    #[test]
    fn a_text_is_written_once_for_all_who_watch() {
        let wire = Wire::new(&Agent::read(&json!({"llm": {"model": "demo"}})).unwrap());
        let event = |key: &str| -> Arc<Event> {
            Arc::new(serde_json::from_value(update(key, &json!("running"))).unwrap())
        };
        let first = event("execution_status");
        let text = wire.shared_text(&first).unwrap();
        for _ in 0..KEPT {
            let again = wire.shared_text(&first).unwrap();
            assert_eq!(again.as_ptr(), text.as_ptr(), "the very same bytes");
        }
        assert_eq!(wire.shared_text(&event(OWN_KEYS[0])), None, "not for clients");
        for _ in 0..KEPT {
            wire.shared_text(&event("title"));
        }
        assert_eq!(
            wire.shared_text(&first),
            Some(text),
            "the same, though it was forgotten"
        );
        assert!(wire.told.lock().unwrap().len() <= KEPT);
    }

    #[test]
    fn what_only_the_engine_reads_is_not_shown() {
        assert_eq!(shown(update("executor", &json!("x"))), None);
        assert_eq!(shown(update("unseen_message_ids", &json!(["x"]))), None);
        let stats = json!({"usage_to_metrics": {"agent":
            {"accumulated_cost": 0.5, "cost_unknown": true, "costs": [{"model": "m", "cost": 0.5}]}}});
        let stats = shown(update("stats", &stats)).unwrap();
        assert_eq!(
            stats["value"],
            json!({"usage_to_metrics": {"agent": {"accumulated_cost": 0.5, "max_budget_per_task": null}}})
        );
        let plain = update("execution_status", &json!("running"));
        assert_eq!(shown(plain.clone()), Some(plain));
    }

    #[test]
    fn a_new_model_is_told_with_the_whole_agent_and_no_secret() {
        let value = json!({"kind": "Agent", "llm": {"model": "other"}});
        let agent = shown(update("agent", &value)).unwrap()["value"].clone();
        assert_eq!(agent["llm"]["model"], "other");
        assert_eq!(agent["llm"]["api_key"], "**********");
        assert_eq!(agent["include_default_tools"], json!(["FinishTool", "ThinkTool"]));
        assert_eq!(agent["llm"].get("base_url"), None, "nulls are left out");
    }

    #[test]
    fn the_form_with_nulls_has_those_of_the_recording() {
        let event = json!({"id": "2a90", "timestamp": "2026-11-15T01:14:49.212782", "source": "user",
            "llm_message": {"role": "user", "content": [], "thinking_blocks": []}, "activated_skills": [],
            "extended_content": [], "kind": "MessageEvent"});
        let event: Event = serde_json::from_value(event).unwrap();
        let shown = Wire::new(&Agent::of_model("demo")).with_nulls(&event).unwrap();
        let expected = json!({"id": "2a90", "timestamp": "2026-11-15T01:14:49.212782", "source": "user", "parent_id": null,
            "llm_message": {"role": "user", "content": [], "tool_calls": null, "tool_call_id": null, "name": null,
                "reasoning_content": null, "thinking_blocks": [], "responses_reasoning_item": null},
            "llm_response_id": null, "activated_skills": [], "extended_content": [], "sender": null,
            "critic_result": null, "kind": "MessageEvent"});
        assert_eq!(shown, expected);
    }
}
