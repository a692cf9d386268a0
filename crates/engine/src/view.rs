//! What the model sees of the log: messages, built event by event, that only ever grow.
//!
//! Providers insist that the results of a reply's calls follow it at once. So a message that is said while
//! calls are open waits until the last of them has its result.

use std::sync::Arc;

use deft_types::{
    ActionEvent, AgentErrorEvent, Content, Event, EventBody, EventId, Message, ObservationEvent, Role,
    Source, SystemPromptEvent, UserRejectObservation,
};

use crate::observation::for_model;

/// The messages of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    messages: Vec<Arc<Message>>,
    batch: Option<Batch>,
    waiting: Vec<Arc<Message>>,
    /// The user's messages since the last reply, and where they stand.
    fresh: Vec<(EventId, usize)>,
}

/// The calls of the last reply, as long as one of them has no result.
#[derive(Clone, Debug, PartialEq)]
struct Batch {
    response: String,
    /// Where the assistant's message stands.
    index: usize,
    open: Vec<String>,
}

impl View {
    /// All messages. Between two requests this only grows.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.messages.clone()
    }

    /// Whether something was said that the model can only see after the results that are still to come.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// These came while the reply that follows was written: they belong behind it. No request has had them yet.
    pub(crate) fn postpone(&mut self, ids: &[EventId]) {
        let late = self
            .fresh
            .iter()
            .filter(|(id, _)| ids.contains(id))
            .map(|(_, index)| *index);
        if let Some(first) = late.min() {
            self.waiting.extend(self.messages.drain(first..));
        }
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        match &event.body {
            EventBody::SystemPrompt(prompt) => self.messages.push(Arc::new(system_message(prompt))),
            EventBody::Message(said) => {
                let mut message = said.llm_message.clone();
                message.content.extend(said.extended_content.iter().cloned());
                self.say(message, event);
            }
            EventBody::Action(action) => self.add_call(action),
            EventBody::Observation(result) => {
                self.add_result(&result.tool_call_id, |id| observed(id, result));
            }
            EventBody::AgentError(error) => self.add_result(&error.tool_call_id, |id| failed(id, error)),
            EventBody::UserReject(rejection) => {
                self.add_result(&rejection.tool_call_id, |id| rejected(id, rejection));
            }
            EventBody::Pause(_)
            | EventBody::Interrupt(_)
            | EventBody::Condensation(_)
            | EventBody::CondensationRequest(_)
            | EventBody::CondensationSummary(_)
            | EventBody::StateUpdate(_)
            | EventBody::ConversationError(_)
            | EventBody::ServerError(_)
            | EventBody::CompletionLog(_)
            | EventBody::StreamingDelta(_)
            | EventBody::HookExecution(_)
            | EventBody::SecurityAnalysis(_)
            | EventBody::AcpToolCall(_)
            | EventBody::Token(_)
            | EventBody::Unknown(_) => {}
        }
    }

    fn say(&mut self, message: Message, event: &Event) {
        let is_reply = event.source == Source::Agent;
        // An empty reply is in the log, but providers refuse to read it.
        let is_empty = is_reply && message.plain_text().trim().is_empty();
        if self.batch.is_some() && !is_empty {
            self.waiting.push(Arc::new(message));
            return;
        }
        if is_reply {
            self.fresh.clear();
        } else {
            self.fresh.push((event.id.clone(), self.messages.len()));
        }
        if !is_empty {
            self.messages.push(Arc::new(message));
        }
        if is_reply && self.batch.is_none() {
            self.messages.append(&mut self.waiting);
        }
    }

    fn add_call(&mut self, action: &ActionEvent) {
        self.fresh.clear();
        if let Some(batch) = self
            .batch
            .as_mut()
            .filter(|batch| batch.response == action.llm_response_id)
            && let Some(reply) = self.messages.get_mut(batch.index)
        {
            let reply = Arc::make_mut(reply);
            reply.content.extend(action.thought.iter().cloned());
            reply
                .tool_calls
                .get_or_insert_default()
                .push(action.tool_call.clone());
            batch.open.push(action.tool_call_id.clone());
            return;
        }
        // Only a log that was damaged has calls left open here.
        if let Some(batch) = self.batch.take() {
            let lost = || vec![Content::text("[The result of this call is lost.]")];
            self.messages
                .extend(batch.open.iter().map(|id| Arc::new(tool_message(id, lost()))));
            self.messages.append(&mut self.waiting);
        }
        let mut reply = Message::new(Role::Assistant, action.thought.clone());
        reply.reasoning_content.clone_from(&action.reasoning_content);
        reply.thinking_blocks.clone_from(&action.thinking_blocks);
        reply
            .responses_reasoning_item
            .clone_from(&action.responses_reasoning_item);
        reply.tool_calls = Some(vec![action.tool_call.clone()]);
        self.batch = Some(Batch {
            response: action.llm_response_id.clone(),
            index: self.messages.len(),
            open: vec![action.tool_call_id.clone()],
        });
        self.messages.push(Arc::new(reply));
    }

    /// The first result of a call counts; any other is ignored.
    fn add_result(&mut self, call: &str, message: impl FnOnce(&str) -> Message) {
        let Some(batch) = self.batch.as_mut() else { return };
        let Some(position) = batch.open.iter().position(|open| open == call) else {
            return;
        };
        batch.open.remove(position);
        self.messages.push(Arc::new(message(call)));
        if batch.open.is_empty() {
            self.batch = None;
            self.messages.append(&mut self.waiting);
        }
    }
}

fn system_message(prompt: &SystemPromptEvent) -> Message {
    let parts = std::iter::once(&prompt.system_prompt).chain(prompt.dynamic_context.as_ref());
    Message::new(Role::System, parts.cloned().collect())
}

fn tool_message(call: &str, content: Vec<Content>) -> Message {
    let mut message = Message::new(Role::Tool, content);
    message.tool_call_id = Some(call.to_owned());
    message
}

fn observed(call: &str, result: &ObservationEvent) -> Message {
    let mut content = for_model(&result.observation);
    content.extend(result.extended_content.iter().cloned());
    named(tool_message(call, content), &result.tool_name)
}

fn failed(call: &str, error: &AgentErrorEvent) -> Message {
    named(
        tool_message(call, vec![Content::text(error.error.clone())]),
        &error.tool_name,
    )
}

fn rejected(call: &str, rejection: &UserRejectObservation) -> Message {
    let text = format!("The call was not allowed: {}", rejection.rejection_reason);
    named(
        tool_message(call, vec![Content::text(text)]),
        &rejection.tool_name,
    )
}

fn named(mut message: Message, tool: &str) -> Message {
    message.name = Some(tool.to_owned());
    message
}
