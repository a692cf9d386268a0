//! What the model sees of the log: messages, built event by event, that only ever grow.
//!
//! Providers insist that the results of a reply's calls follow it at once. So a message that is said while
//! calls are open waits until the last of them has its result.

mod entries;
mod wording;

use std::collections::HashSet;

use deft_llm::Messages;
use deft_types::{ActionEvent, Condensation, Content, Event, EventBody, EventId, Message, Role, Source};

use self::entries::Entries;
pub(crate) use self::entries::Entry;
pub(crate) use self::wording::SUMMARY_HEAD;
use self::wording::{failed, observed, rejected, summary_message, system_message, tool_message};
use crate::condense::Mask;
use crate::turn;

/// The messages of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    entries: Entries,
    batch: Option<Batch>,
    waiting: Vec<Entry>,
    /// The user's messages since the last reply, and where they stand.
    fresh: Vec<(EventId, usize)>,
}

/// The calls of the last reply, as long as one of them has no result.
#[derive(Clone, Debug, PartialEq)]
struct Batch {
    response: String,
    /// Where the assistant's message stands.
    index: usize,
    open: Vec<OpenId>,
}

/// A call without a result: its event, and its id in the log and as it is shown.
#[derive(Clone, Debug, PartialEq)]
struct OpenId {
    event: EventId,
    logged: String,
    shown: String,
}

impl View {
    /// All messages. Between two condensations this only grows.
    pub fn messages(&self) -> Messages {
        self.entries.messages()
    }

    /// All messages before the last reply, if that still waits for results.
    pub(crate) fn whole_messages(&self) -> Messages {
        let end = self
            .batch
            .as_ref()
            .map_or(self.entries.len(), |batch| batch.index);
        self.entries[..end]
            .iter()
            .map(|entry| entry.message.clone())
            .collect()
    }

    /// The images that the user has sent.
    pub(crate) fn images(&self) -> Vec<String> {
        let said = self
            .entries
            .iter()
            .filter(|entry| entry.message.role == Role::User);
        let parts = said.flat_map(|entry| &entry.message.content);
        let urls = parts.flat_map(|part| match part {
            Content::Image(image) => image.image_urls.as_slice(),
            Content::Text(_) => &[],
        });
        urls.cloned().collect()
    }

    /// All messages with their events.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The messages of the next request: those that wait come last.
    pub(crate) fn coming(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().chain(&self.waiting)
    }

    /// About how many tokens all of it is.
    pub(crate) fn tokens(&self) -> u64 {
        self.entries.tokens()
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
            self.waiting.extend(self.entries.split_off(first));
            self.fresh.retain(|(_, index)| *index < first);
        }
    }

    /// Takes the next event in. `taken` are the ids of all calls before it.
    pub(crate) fn apply(&mut self, event: &Event, taken: &HashSet<String>) {
        match &event.body {
            EventBody::SystemPrompt(prompt) => self.begin(Entry::new(&event.id, system_message(prompt))),
            EventBody::Message(said) => {
                let mut message = said.llm_message.clone();
                message.content.extend(said.extended_content.iter().cloned());
                self.say(message, event);
            }
            EventBody::Action(action) => self.add_call(&event.id, action, taken),
            // By the same marks as the state: a call that is open here alone would be waited for without end.
            EventBody::Observation(result) => {
                let answers = |open: &OpenId| open.event == result.action_id;
                self.add_result(&event.id, answers, |id| observed(id, result));
            }
            EventBody::AgentError(error) => {
                let answers = |open: &OpenId| open.logged == error.tool_call_id;
                self.add_result(&event.id, answers, |id| failed(id, error));
            }
            EventBody::UserReject(rejection) => {
                let answers = |open: &OpenId| open.event == rejection.action_id;
                self.add_result(&event.id, answers, |id| rejected(id, rejection));
            }
            EventBody::Condensation(condensation) => self.condense(&event.id, condensation),
            EventBody::Pause(_)
            | EventBody::Interrupt(_)
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

    /// A prompt stands in front, and there is one: a damaged log may have it elsewhere, or twice.
    fn begin(&mut self, prompt: Entry) {
        if self
            .entries
            .first()
            .is_some_and(|first| first.message.role == Role::System)
        {
            return;
        }
        self.entries.insert(0, prompt);
        self.fresh.iter_mut().for_each(|(_, index)| *index += 1);
        if let Some(batch) = &mut self.batch {
            batch.index += 1;
        }
    }

    fn say(&mut self, message: Message, event: &Event) {
        let is_reply = event.source == Source::Agent;
        // An empty reply is in the log, but providers refuse to read it.
        let is_empty = is_reply && message.plain_text().trim().is_empty();
        if self.batch.is_some() && !is_empty {
            self.waiting.push(Entry::new(&event.id, message));
            return;
        }
        if is_reply {
            self.fresh.clear();
        } else {
            self.fresh.push((event.id.clone(), self.entries.len()));
        }
        if !is_empty {
            self.entries.push(Entry::new(&event.id, message));
        }
        if is_reply && self.batch.is_none() {
            self.release_waiting();
        }
    }

    fn release_waiting(&mut self) {
        for entry in std::mem::take(&mut self.waiting) {
            self.entries.push(entry);
        }
    }

    fn add_call(&mut self, event: &EventId, action: &ActionEvent, taken: &HashSet<String>) {
        self.fresh.clear();
        let call = turn::presentable(&action.tool_call, &action.tool_call_id, event, taken);
        let id = OpenId {
            event: event.clone(),
            logged: action.tool_call_id.clone(),
            shown: call.id.clone(),
        };
        if let Some(batch) = self
            .batch
            .as_mut()
            .filter(|batch| batch.response == action.llm_response_id)
        {
            self.entries.extend(batch.index, event, |reply| {
                reply.content.extend(action.thought.iter().cloned());
                reply.tool_calls.get_or_insert_default().push(call);
            });
            batch.open.push(id);
            return;
        }
        // Only a log that was damaged has calls left open here.
        if let Some(batch) = self.batch.take() {
            for id in batch.open {
                let lost = vec![Content::text("[The result of this call is lost.]")];
                self.entries
                    .push(Entry::of(Vec::new(), tool_message(&id.shown, lost)));
            }
            self.release_waiting();
        }
        let mut reply = Message::new(Role::Assistant, action.thought.clone());
        reply.reasoning_content.clone_from(&action.reasoning_content);
        reply.thinking_blocks.clone_from(&action.thinking_blocks);
        reply
            .responses_reasoning_item
            .clone_from(&action.responses_reasoning_item);
        reply.tool_calls = Some(vec![call]);
        self.batch = Some(Batch {
            response: action.llm_response_id.clone(),
            index: self.entries.len(),
            open: vec![id],
        });
        self.entries.push(Entry::new(event, reply));
    }

    /// The first result of a call counts; any other is ignored.
    fn add_result(
        &mut self,
        event: &EventId,
        answers: impl Fn(&OpenId) -> bool,
        message: impl FnOnce(&str) -> Message,
    ) {
        let Some(batch) = self.batch.as_mut() else { return };
        let Some(position) = batch.open.iter().position(answers) else {
            return;
        };
        let id = batch.open.remove(position);
        let is_last = batch.open.is_empty();
        self.entries.push(Entry::new(event, message(&id.shown)));
        if is_last {
            self.batch = None;
            self.release_waiting();
        }
    }

    /// Forgets what a condensation names, whole replies with their results only, and puts the summary in its place.
    fn condense(&mut self, event: &EventId, condensation: &Condensation) {
        let forgotten: HashSet<_> = condensation.forgotten_event_ids.iter().collect();
        let is_forgotten = |entry: &Entry| entry.events.iter().any(|id| forgotten.contains(id));
        let mut kept: Vec<Entry> = Vec::with_capacity(self.entries.len());
        let mut left_out = 0;
        for segment in segments(&self.entries) {
            if segment.iter().any(is_forgotten) {
                let messages = segment.iter().filter(|entry| entry.summary_of().is_none());
                left_out += messages.count() + segment.iter().map(|entry| entry.left_out).sum::<usize>();
                continue;
            }
            let first = kept.len();
            kept.extend_from_slice(segment);
            if condensation.summary.is_none() {
                kept[first].left_out += std::mem::take(&mut left_out);
            }
        }
        if let Some(summary) = &condensation.summary {
            let offset = usize::try_from(condensation.summary_offset.unwrap_or(0)).unwrap_or(0);
            // Not between a reply and the results that are still to come.
            let open = self.open_reply(&kept).unwrap_or(kept.len());
            let position = boundary(&kept, offset).min(open);
            kept.insert(
                position,
                Entry::summary(event, summary_message(summary), left_out),
            );
        }
        self.entries = kept.into_iter().collect();
        self.fresh.clear();
        self.find_batch();
    }

    /// Masks the results of some tools, up to an event.
    pub(crate) fn mask(&mut self, mask: &Mask) {
        let last = self
            .entries
            .iter()
            .rposition(|entry| entry.events.contains(&mask.until));
        let Some(last) = last else { return };
        for index in 0..=last {
            if mask.covers(&self.entries[index]) {
                let note = mask.note(&self.entries[index].message);
                self.entries.mask(index, note);
            }
        }
    }

    /// Entries have moved: where the open batch stands now.
    fn find_batch(&mut self) {
        let found = self.open_reply(&self.entries);
        match (found, &mut self.batch) {
            (Some(index), Some(batch)) => batch.index = index,
            (_, batch) => *batch = None,
        }
    }

    /// Where among these the reply stands that waits for results.
    fn open_reply(&self, entries: &[Entry]) -> Option<usize> {
        let batch = self.batch.as_ref()?;
        let holds = |entry: &Entry| {
            let mut calls = entry.message.tool_calls.iter().flatten();
            calls.any(|call| batch.open.iter().any(|open| open.shown == call.id))
        };
        entries.iter().rposition(holds)
    }
}

/// What can only be kept or forgotten together: a reply with the results of its calls, or any other message.
pub(crate) fn segments(entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    entries.chunk_by(|_, next| next.message.role == Role::Tool)
}

/// The same with the replies that go on where one had begun to think, and without thoughts of their own: providers that
/// sign what a model thought want to see all that it did by it, or nothing.
pub(crate) fn loops(entries: &[Entry]) -> Vec<&[Entry]> {
    let (mut found, mut start, mut end, mut thinks) = (Vec::new(), 0, 0, false);
    for segment in segments(entries) {
        let message = &segment[0].message;
        let acts = message.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty());
        if !(thinks && acts && message.thinking_blocks.is_empty()) {
            found.extend(entries.get(start..end).filter(|before| !before.is_empty()));
            start = end;
            thinks = acts && !message.thinking_blocks.is_empty();
        }
        end += segment.len();
    }
    found.extend(entries.get(start..end).filter(|last| !last.is_empty()));
    found
}

/// The first position between two segments with at least so many events before it.
fn boundary(entries: &[Entry], events: usize) -> usize {
    let (mut position, mut before) = (0, 0);
    for segment in segments(entries) {
        if before >= events {
            break;
        }
        position += segment.len();
        before += segment.iter().map(|entry| entry.events.len()).sum::<usize>();
    }
    position
}

#[cfg(test)]
mod tests {
    use deft_types::{MessageEvent, Timestamp};

    use super::*;

    #[test]
    fn what_is_behind_a_reply_already_can_be_named_once_more() {
        let mut view = View::default();
        let ids = ["one", "two"].map(|id| EventId(id.to_owned()));
        for id in &ids {
            let event = Event {
                id: id.clone(),
                timestamp: Timestamp("2026-01-01T00:00:00".to_owned()),
                source: Source::User,
                parent_id: None,
                body: MessageEvent::new(Message::text(Role::User, "do it")).into(),
            };
            view.apply(&event, &HashSet::new());
        }
        view.postpone(&ids[..1]);
        view.postpone(&ids[1..]);
        assert_eq!(view.coming().count(), 2);
    }
}
