//! Back to an earlier event: the conversation, the files, or both.

use std::collections::HashSet;

use deft_tools::{CheckpointId, Overwrite, Restored};
use deft_types::{Event, EventBody, EventId, Source, ToolSpec};
use serde::Deserialize as _;
use serde_json::Value;

use super::Actor;
use super::handle::{Answered, answer};
use crate::branch;
use crate::command::{CommandError, Done};
use crate::mode::NOTES;
use crate::rewind::Rewind;
use crate::state::key;
use crate::turn;

/// Where what the files were like at an event is recorded.
#[derive(Debug, PartialEq, Eq)]
enum Record {
    /// Nothing has changed them since.
    Unchanged,
    /// Here.
    At(CheckpointId),
    /// Only what they were like before the turn, here.
    BeforeTurn(CheckpointId),
    /// Nowhere.
    None,
}

impl Actor {
    /// Goes back; what became of the files, if they had to be changed.
    pub(super) async fn rewind(
        &mut self,
        to: EventId,
        what: Rewind,
        overwrite: Overwrite,
        done: Done<Option<Restored>>,
    ) -> Option<Answered> {
        let moves = matches!(what, Rewind::Conversation | Rewind::Both).then(|| to.clone());
        let rewound = match self.record_at(&to, what).await {
            Ok(Record::BeforeTurn(_)) if what == Rewind::FilesExactly => Err(CommandError::InTurn),
            // The files first: they may be refused.
            Ok(Record::At(checkpoint) | Record::BeforeTurn(checkpoint)) => {
                let tell = |restored: Result<_, _>| answer(done, restored.map(Some));
                return self.restore_files(checkpoint, overwrite, moves, Box::new(tell));
            }
            Ok(Record::Unchanged) => match moves {
                Some(to) => self.go_back(to).await,
                None => Ok(()),
            },
            Ok(Record::None) => Err(CommandError::Workspace(format!(
                "what the files were like at event {to} was not recorded; nothing was changed. Rewind the conversation \
                 alone, or go back to another event"
            ))),
            Err(error) => Err(error),
        };
        Some(answer(done, rewound.map(|()| None)))
    }

    /// What the files were like at an event, as far as they are to go back.
    async fn record_at(&mut self, to: &EventId, what: Rewind) -> Result<Record, CommandError> {
        let events = branch::read_all(self.store.as_ref(), self.lease.conversation()).await?;
        let is_files_alone = matches!(what, Rewind::Files | Rewind::FilesExactly);
        let is_there = |event: &Event| event.id == *to && (is_files_alone || branch::is_node(event));
        let position = events.iter().position(is_there);
        let position = position.ok_or_else(|| CommandError::NoSuchEvent(to.clone()))?;
        Ok(match what {
            Rewind::Conversation => Record::Unchanged,
            Rewind::Files | Rewind::FilesExactly | Rewind::Both => self.record_of(&events, position),
        })
    }

    /// A record is made before the first change of a turn: where nothing was changed between the event and the next
    /// record, that one says what the files were. In the middle of a turn it is the turn's own that comes nearest.
    fn record_of(&self, events: &[Event], position: usize) -> Record {
        let ran: HashSet<_> = events.iter().filter_map(|event| self.may_change(event)).collect();
        let changes = |event: &Event| match &event.body {
            EventBody::Observation(result) => ran.contains(result.tool_call_id.as_str()),
            EventBody::AgentError(error) => {
                ran.contains(error.tool_call_id.as_str()) && !turn::never_ran(error)
            }
            _ => false,
        };
        for event in &events[position + 1..] {
            if let Some(checkpoint) = recorded_before(event) {
                return Record::At(checkpoint);
            }
            if changes(event) {
                let turn = events[..=position].iter().rev();
                let mut turn = turn.take_while(|event| !is_said(event));
                let recorded = turn.find_map(recorded_after);
                return recorded.map_or(Record::None, Record::BeforeTurn);
            }
        }
        Record::Unchanged
    }

    /// The id of a call that may have changed files. A plan is none of them: it stays as it is when the work goes back to
    /// before it began.
    fn may_change<'a>(&self, event: &'a Event) -> Option<&'a str> {
        let EventBody::Action(action) = &event.body else {
            return None;
        };
        let tool = self.tools.find(&action.tool_name);
        let is_note = NOTES.contains(&action.tool_name.as_str());
        let is_call = action.action.is_some() && !is_note && !tool.is_some_and(ToolSpec::is_read_only);
        is_call.then_some(action.tool_call_id.as_str())
    }
}

fn is_said(event: &Event) -> bool {
    event.source == Source::User && matches!(event.body, EventBody::Message(_))
}

/// The record of the files as they were before an event.
fn recorded_before(event: &Event) -> Option<CheckpointId> {
    recorded(event, |restored| &restored["undo"])
}

/// The record of the files as they were after an event.
fn recorded_after(event: &Event) -> Option<CheckpointId> {
    recorded(event, |restored| &restored["checkpoint"])
}

fn recorded(event: &Event, of_restored: impl Fn(&Value) -> &Value) -> Option<CheckpointId> {
    let EventBody::StateUpdate(update) = &event.body else {
        return None;
    };
    match update.key.as_str() {
        key::CHECKPOINT => CheckpointId::deserialize(&update.value).ok(),
        key::RESTORED => CheckpointId::deserialize(of_restored(&update.value)).ok(),
        _ => None,
    }
}
