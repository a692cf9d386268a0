//! Turns the events of the application before the agent server into ours.
//!
//! There an event is an action or an observation with a number; an observation names the action that it answers, or
//! does not. Here every call has one result, which follows it at once. What has no form here is kept as text.

mod call;
mod pair;
mod result;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use deft_types::{
    Condensation, CondensationRequest, Content, ConversationErrorEvent, ConversationStateUpdateEvent, Event,
    EventBody, EventId, Extra, ImageContent, Message, MessageEvent, Metrics, Role, Source, Stats, Status,
    Timestamp,
};
use serde::Deserialize;
use serde_json::{Value, json};

use self::pair::Pairs;
use super::{lost, note};

/// Stands in the place of an event that cannot be read.
pub(super) fn unreadable(reason: &str) -> Value {
    json!({"observation": "unreadable", "content": lost(reason)})
}

/// All of them, in their order.
pub(super) fn events(old: &BTreeMap<u64, Value>) -> Vec<Event> {
    if old.is_empty() {
        return Vec::new();
    }
    let mut new = Converted {
        pairs: Pairs::of(old),
        events: Vec::new(),
        call_ids: HashSet::new(),
        status: Status::Idle,
        metrics: None,
        old,
    };
    for (number, event) in old {
        new.take(*number, event);
    }
    new.finished()
}

struct Converted<'a> {
    old: &'a BTreeMap<u64, Value>,
    pairs: Pairs,
    events: Vec<Event>,
    /// Those that are taken.
    call_ids: HashSet<String>,
    status: Status,
    /// What was used, as the last call says.
    metrics: Option<Metrics>,
}

impl Converted<'_> {
    fn take(&mut self, number: u64, event: &Value) {
        if let Ok(metrics) = Metrics::deserialize(&event["llm_metrics"]) {
            self.metrics = Some(metrics);
        }
        if self.pairs.calls.contains_key(&number) {
            return self.call(number, event);
        }
        if let Some(call) = self.pairs.answers.get(&number).copied() {
            return self.leave(call, number);
        }
        if let Some(action) = event["action"].as_str() {
            self.action(number, event, action);
        } else {
            self.observation(number, event, text(&event["observation"]));
        }
    }

    /// A call, and its result behind it.
    fn call(&mut self, number: u64, event: &Value) {
        let (mut action, tool) = call::read(number, event, &self.pairs);
        if !self.call_ids.insert(action.tool_call_id.clone()) {
            action.tool_call_id = format!("{}-{number}", action.tool_call_id);
            action.tool_call.id.clone_from(&action.tool_call_id);
            self.call_ids.insert(action.tool_call_id.clone());
        }
        let answer = self.pairs.calls.get(&number).copied().flatten();
        let answer = answer.and_then(|answer| Some((answer, self.old.get(&answer)?)));
        let body = result::read(
            &EventId(number.to_string()),
            &action,
            tool,
            answer.map(|(_, value)| value),
        );
        self.push(number.to_string(), event, Source::Agent, action);
        match answer {
            Some((id, value)) => self.push(id.to_string(), value, Source::Environment, body),
            None => self.push(format!("{number}-result"), event, Source::Environment, body),
        }
    }

    /// What another agent did in the middle of a call is in the same log, but was never shown to this one.
    fn leave(&mut self, call: u64, answer: u64) {
        let is_delegate = self
            .old
            .get(&call)
            .is_some_and(|call| call["action"] == "delegate");
        let between = self.old.range(call + 1..answer);
        let forgotten: Vec<_> = between.map(|(id, _)| EventId(id.to_string())).collect();
        if is_delegate && !forgotten.is_empty() {
            let event = self.old.get(&answer).cloned().unwrap_or_default();
            self.condense(format!("{answer}-end"), &event, forgotten, &Value::Null, None);
        }
    }

    fn action(&mut self, number: u64, event: &Value, action: &str) {
        let args = &event["args"];
        match action {
            "message" => self.message(number, event),
            // Ours speaks of the tools that there are; what was recalled is told by the answer; nothing is nothing.
            "system" | "recall" | "null" | "change_agent_state" => {}
            _ if self.pairs.repeated.contains(&number) => {}
            "reject" => {
                let reason = Some(text(&args["outputs"]["reason"])).filter(|reason| !reason.is_empty());
                let said = reason.map_or_else(|| text(&event["message"]).to_owned(), str::to_owned);
                let message = MessageEvent::new(Message::text(Role::Assistant, said));
                self.push(number.to_string(), event, Source::Agent, message);
            }
            "condensation" => {
                let listed = args["forgotten_event_ids"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let range = args["forgotten_events_start_id"]
                    .as_u64()
                    .zip(args["forgotten_events_end_id"].as_u64());
                let in_range = |id: &&u64| range.is_some_and(|(first, last)| (first..=last).contains(*id));
                let forgotten = listed.iter().filter_map(Value::as_u64);
                let forgotten = forgotten.chain(self.old.keys().filter(in_range).copied());
                let forgotten = forgotten.map(|id| EventId(id.to_string())).collect();
                let offset = args["summary_offset"].as_i64();
                self.condense(number.to_string(), event, forgotten, &args["summary"], offset);
            }
            "condensation_request" => {
                let request = CondensationRequest::default();
                self.push(number.to_string(), event, Source::Environment, request);
            }
            other => self.tell(number, event, other, args),
        }
    }

    fn observation(&mut self, number: u64, event: &Value, kind: &str) {
        let extras = &event["extras"];
        match kind {
            "null" => {}
            "agent_state_changed" => {
                self.status = status(text(&extras["agent_state"]), self.status);
                self.update(number.to_string(), event, "execution_status", json!(self.status));
            }
            "error" => {
                let error = ConversationErrorEvent {
                    code: Some(text(&extras["error_id"]))
                        .filter(|code| !code.is_empty())
                        .unwrap_or("Error")
                        .to_owned(),
                    detail: text(&event["content"]).to_owned(),
                    classification: None,
                    extra: Extra::new(),
                };
                self.push(number.to_string(), event, Source::Environment, error);
            }
            "recall" => {
                let recalled = recalled(extras);
                if !recalled.is_empty() {
                    let message = MessageEvent::new(Message::text(Role::User, recalled));
                    self.push(number.to_string(), event, Source::Environment, message);
                }
            }
            other => self.tell(number, event, other, extras),
        }
    }

    fn message(&mut self, number: u64, event: &Value) {
        let args = &event["args"];
        let said = Some(text(&args["content"])).filter(|said| !said.is_empty());
        let mut content = vec![Content::text(said.unwrap_or_else(|| text(&event["message"])))];
        let files = strings(&args["file_urls"]);
        if !files.is_empty() {
            content.push(Content::text(format!("Files: {}", files.join(", "))));
        }
        let mut image_urls = strings(&args["image_urls"]);
        image_urls.extend(strings(&args["images_urls"])); // an older name
        if !image_urls.is_empty() {
            content.push(Content::Image(ImageContent {
                image_urls,
                ..ImageContent::default()
            }));
        }
        let (source, role) = match text(&event["source"]) {
            "agent" => (Source::Agent, Role::Assistant),
            "user" => (Source::User, Role::User),
            _ => (Source::Environment, Role::User),
        };
        let message = MessageEvent::new(Message::new(role, content));
        self.push(number.to_string(), event, source, message);
    }

    /// What has no form here.
    fn tell(&mut self, number: u64, event: &Value, kind: &str, details: &Value) {
        let said = [text(&event["content"]), text(&event["message"])];
        let said = said.into_iter().find(|said| !said.trim().is_empty());
        let said = said.map_or_else(|| details.to_string(), str::to_owned);
        let told = note(number.to_string(), timestamp(event), format!("[{kind}] {said}"));
        self.events.push(told);
    }

    fn condense(
        &mut self,
        id: String,
        event: &Value,
        forgotten: Vec<EventId>,
        summary: &Value,
        offset: Option<i64>,
    ) {
        let condensation = Condensation {
            forgotten_event_ids: forgotten,
            summary: summary.as_str().map(str::to_owned),
            summary_offset: offset,
            llm_response_id: format!("v0-{id}"),
            extra: Extra::new(),
        };
        self.push(id, event, Source::Environment, condensation);
    }

    fn update(&mut self, id: String, event: &Value, key: &str, value: Value) {
        let update = ConversationStateUpdateEvent {
            key: key.to_owned(),
            value,
            extra: Extra::new(),
        };
        self.push(id, event, Source::Environment, update);
    }

    fn push(&mut self, id: String, event: &Value, source: Source, body: impl Into<EventBody>) {
        self.events.push(Event {
            id: EventId(id),
            timestamp: timestamp(event),
            source,
            parent_id: None,
            body: body.into(),
        });
    }

    /// What was used is told at the end.
    fn finished(mut self) -> Vec<Event> {
        let last = self.old.values().next_back().cloned().unwrap_or_default();
        if let Some(mut metrics) = self.metrics.take() {
            metrics.forget_calls();
            let stats = Stats {
                usage_to_metrics: [("agent".to_owned(), metrics)].into(),
                ..Stats::default()
            };
            self.update("stats".to_owned(), &last, "stats", json!(stats));
        }
        self.events
    }
}

/// The status that a state of theirs is here.
fn status(state: &str, before: Status) -> Status {
    match state {
        "loading" | "init" => Status::Idle,
        "running" | "rate_limited" | "user_confirmed" | "user_rejected" => Status::Running,
        "awaiting_user_input" | "finished" | "rejected" => Status::Finished,
        "paused" | "stopped" | "awaiting_user_confirmation" => Status::Paused,
        "error" => Status::Error,
        _ => before,
    }
}

/// What the application put before the model: about the repository, and from microagents.
fn recalled(extras: &Value) -> String {
    let fields = extras.as_object().into_iter().flatten();
    let facts = fields.filter_map(|(name, value)| {
        let value = value
            .as_str()
            .filter(|value| !value.is_empty() && name != "recall_type")?;
        Some(format!("{name}: {value}"))
    });
    let knowledge = extras["microagent_knowledge"].as_array().into_iter().flatten();
    let knowledge = knowledge.map(|one| format!("{}: {}", text(&one["name"]), text(&one["content"])));
    facts.chain(knowledge).collect::<Vec<_>>().join("\n")
}

fn timestamp(event: &Value) -> Timestamp {
    let inside = text(&event["args"]["timestamp"]); // an older place
    let own = Some(text(&event["timestamp"])).filter(|own| !own.is_empty());
    Timestamp(own.unwrap_or(inside).to_owned())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    let listed = value.as_array().into_iter().flatten();
    listed.filter_map(Value::as_str).map(str::to_owned).collect()
}
