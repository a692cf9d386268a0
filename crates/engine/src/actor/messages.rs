//! What the user says, and the prompt that stands before it.

use deft_store::StoreError;
use deft_types::{Event, EventBody, EventId, Extra, Message, Source, SystemPromptEvent, Timestamp};
use serde_json::json;

use super::work::Work;
use super::{Actor, external};
use crate::command::CommandError;
use crate::prompt;
use crate::queue::{self, QueueChange};
use crate::state::{self, key};
use crate::status::Trigger;
use crate::turn::Draft;

impl Actor {
    /// Stores a user's message. Sending it again under the same id changes nothing.
    pub(crate) async fn admit(&mut self, id: EventId, message: Message) -> Result<(), CommandError> {
        let mut drafts = self.before_message().await;
        let text = self.secrets.mask().hide(&message.plain_text()).into_owned();
        let is_first = self.state.last_user_message_id.is_none();
        drafts.extend(self.status_after(Trigger::Message));
        // One that waited to be said is said now, and only once: it waits no more, and has no turn of its own.
        if let Ok(waiting) = queue::changed(&self.state.queue, QueueChange::Remove(id.clone())) {
            drafts.push(Draft::new(
                Source::Environment,
                state::update(key::QUEUE, json!(waiting)),
            ));
        }
        drafts.push(self.said(id.clone(), message));
        drafts.push(Draft::new(
            Source::Environment,
            state::update(key::LAST_USER_MESSAGE, json!(id)),
        ));
        match self.record(drafts).await {
            Ok(()) => {
                if is_first {
                    self.begin_title(&text);
                }
                self.noted.begin_turn();
                self.keep_going();
                self.reviewing.turn = false; // there is something to answer first
                if matches!(self.work, Some(Work::Model { .. })) || self.reviewing.reply.is_some() {
                    self.unseen.push(id);
                }
                Ok(())
            }
            Err(StoreError::Duplicate { id: taken, seq }) if taken == id => {
                self.shelf.empty(); // what was found with it is told with the next one
                let there = self.store.read(self.lease.conversation(), seq, 1).await?;
                match there.first() {
                    Some((
                        _,
                        Event {
                            source: Source::User,
                            body: EventBody::Message(_),
                            ..
                        },
                    )) => Ok(()),
                    _ => Err(CommandError::IdTaken(id)),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A message of the user's, with what the model reads with it.
    pub(crate) fn said(&self, id: EventId, message: Message) -> Draft {
        let mut said = self.with_skills(message);
        said.extended_content.extend(self.mode.note());
        Draft::new(Source::User, said).with_id(id)
    }

    pub(super) fn system_prompt(&self) -> SystemPromptEvent {
        if self.external.is_some() {
            return external::prompt_shown();
        }
        let now = Timestamp::at(self.world.now());
        let prompt = self.extensions.brief.prompt.as_deref();
        let prompt = prompt.unwrap_or(prompt::STATIC.trim_end());
        SystemPromptEvent {
            system_prompt: deft_types::Content::text(prompt),
            tools: self.tools.definitions(),
            dynamic_context: Some(deft_types::Content::text(prompt::dynamic(
                &self.directory,
                &self.added_to_prompt(),
                &now,
            ))),
            extra: Extra::new(),
        }
    }
}
