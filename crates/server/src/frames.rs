//! Frames of the session protocol: events with their position, and pieces of replies on their way.

use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use deft_engine::{BEFORE_CIRCLE, HOST_QUESTIONS, Live};
use deft_types::{ActionId, EventBody, EventId, Seq, SessionFrame};
use serde_json::{Value, json};

use crate::app::App;
use crate::feed::{Feed, Item};
use crate::info::Snapshot;
use crate::resident::Resident;
use crate::wire::before_circle;

/// One frame as text; the position of its event, where it carries one of the log.
pub(crate) struct Frame {
    pub(crate) seq: Option<Seq>,
    pub(crate) text: String,
}

impl Frame {
    fn passing(text: String) -> Self {
        Self { seq: None, text }
    }
}

/// Makes frames for one watcher.
pub(crate) struct Frames {
    /// The position the watcher knows the log up to: −1 is nothing of it; none, and it wants no history.
    after: Option<i64>,
    /// The state when the watcher came, which is told behind the history.
    greeting: Option<Snapshot>,
    attempt: u32,
    order: u64,
    output: ToolOutput,
    /// Whether the hosts that programs wait for are told.
    tells_questions: bool,
}

/// Whether pieces of tools' output are told as they come. The contract has no frame for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolOutput {
    Told,
    LeftOut,
}

impl Frames {
    pub(crate) fn new(after: Option<i64>, output: ToolOutput) -> Self {
        Self {
            after,
            greeting: None,
            attempt: 1,
            order: 0,
            output,
            tells_questions: false,
        }
    }

    /// Tells the hosts that programs wait for, too.
    pub(crate) fn with_questions(self) -> Self {
        Self {
            tells_questions: true,
            ..self
        }
    }

    pub(crate) fn tells_questions(&self) -> bool {
        self.tells_questions
    }

    /// What comes before everything else, and what to follow then.
    pub(crate) async fn begin(&mut self, app: &App, resident: Arc<Resident>) -> Option<(Vec<Frame>, Feed)> {
        let catalog = &app.conversations.catalog;
        let state = catalog.snapshot(resident.id).await.ok()?;
        let last = state.after;
        let mut sync = json!({"type": "sync"});
        if let Some(after) = self.after {
            sync["from_seq"] = after.into();
        }
        if let Some(last) = last {
            sync["through_seq"] = last.0.into();
        }
        let known = match self.after {
            None => last,
            Some(after) => u64::try_from(after).ok().map(Seq),
        };
        let mut feed = Feed::new(resident, Arc::clone(catalog), known, last);
        let mut frames = vec![Frame::passing(sync.to_string())];
        if feed.is_live() {
            frames.push(transient(&state));
        } else {
            self.greeting = Some(state);
        }
        let written = std::mem::take(&mut feed.written);
        if self.output == ToolOutput::Told {
            frames.extend(written.iter().map(|(action, text)| written_before(action, text)));
        }
        if self.tells_questions {
            let asked = app.conversations.host_questions(&feed.resident).await;
            frames.push(questions(&json!(asked)));
        }
        Some((frames, feed))
    }

    /// The frames for one thing to tell.
    pub(crate) fn tell(&mut self, feed: &Feed, item: Item) -> Vec<Frame> {
        match item {
            Item::Event(seq, event) => {
                let wire = feed.resident.wire();
                let text = if Some(seq) <= feed.history {
                    wire.text(&event).map(Utf8Bytes::from)
                } else {
                    wire.shared_text(&event)
                };
                let beside = before_circle(&event)
                    .map(|before| format!(r#","{BEFORE_CIRCLE}":{}"#, json!(before)))
                    .unwrap_or_default();
                let durable = text.map(|event| Frame {
                    seq: Some(seq),
                    text: format!(r#"{{"type":"durable","seq":{seq},"event":{event}{beside}}}"#),
                });
                let greeting = self.greeting.take_if(|_| feed.is_live());
                let is_new = Some(seq) > feed.history;
                let asked = match &event.body {
                    EventBody::StateUpdate(update)
                        if self.tells_questions && is_new && update.key == HOST_QUESTIONS =>
                    {
                        Some(questions(&update.value))
                    }
                    _ => None,
                };
                durable
                    .into_iter()
                    .chain(asked)
                    .chain(greeting.as_ref().map(transient))
                    .collect()
            }
            Item::State(state, _) => vec![transient(&state)],
            Item::Live(piece) => self.piece(feed, &piece),
            Item::Farewell(_) => Vec::new(),
        }
    }

    fn piece(&mut self, feed: &Feed, piece: &Live) -> Vec<Frame> {
        let frames = match piece {
            Live::ReplyStarted { item, .. } => vec![self.start(feed, item, 1)],
            Live::Delta { item, kind, text } if !text.is_empty() => {
                let order = self.order;
                self.order += 1;
                vec![SessionFrame::Delta {
                    item_id: item.clone(),
                    attempt: self.attempt,
                    order,
                    kind: *kind,
                    content: text.clone(),
                    chunk_id: None,
                    choice_index: None,
                }]
            }
            Live::Retry {
                item,
                attempt,
                reason,
                ..
            } => {
                let aborted = self.abort(item, reason);
                vec![aborted, self.start(feed, item, *attempt)]
            }
            Live::ReplyAborted { item } => vec![self.abort(item, "the reply was not completed")],
            Live::Output { action, chunk } if self.output == ToolOutput::Told => {
                let frame = json!({"type": "output", "action_id": action, "content": chunk});
                return vec![Frame::passing(frame.to_string())];
            }
            Live::Preparing { line } if self.output == ToolOutput::Told => {
                let frame = json!({"type": "preparing", "line": line});
                return vec![Frame::passing(frame.to_string())];
            }
            Live::Prepared if self.output == ToolOutput::Told => {
                return vec![Frame::passing(json!({"type": "prepared"}).to_string())];
            }
            Live::Delta { .. }
            | Live::CallDelta { .. }
            | Live::Output { .. }
            | Live::Preparing { .. }
            | Live::Prepared => Vec::new(),
        };
        let text = |frame: &SessionFrame| serde_json::to_string(frame).ok().map(Frame::passing);
        frames.iter().filter_map(text).collect()
    }

    fn start(&mut self, feed: &Feed, item: &EventId, attempt: u32) -> SessionFrame {
        self.attempt = attempt;
        self.order = 0;
        SessionFrame::ItemStarted {
            item_id: item.clone(),
            attempt,
            anchor_seq: feed.told,
        }
    }

    fn abort(&self, item: &EventId, reason: &str) -> SessionFrame {
        SessionFrame::ItemAborted {
            item_id: item.clone(),
            attempt: self.attempt,
            reason: reason.to_owned(),
        }
    }
}

/// The hosts that programs wait for. The contract has no frame for them.
fn questions(asked: &Value) -> Frame {
    Frame::passing(json!({"type": "host_questions", "questions": asked}).to_string())
}

/// What a call has written until now, in the place of all that the watcher knows of it.
fn written_before(action: &ActionId, text: &str) -> Frame {
    let frame = json!({"type": "output", "action_id": action, "content": text, "is_whole": true});
    Frame::passing(frame.to_string())
}

fn transient(state: &Snapshot) -> Frame {
    Frame::passing(format!(r#"{{"type":"transient","event":{}}}"#, state.text))
}
