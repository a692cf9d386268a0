//! Finds calls in a text that comes in pieces.

mod draft;
mod json_call;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::draft::{Draft, Progress};
use self::json_call::JsonCall;
use super::form::CALL;
use crate::ToolSchema;

const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const WRAPPER: &str = "<tool_call>";
const WRAPPER_END: &str = "</tool_call>";

/// What models wrap calls in, out of habit. It says nothing and is left out.
const WRAPPERS: [&str; 3] = [WRAPPER, WRAPPER_END, THINK_END];

/// How a reply begins that is nothing but a call in JSON.
const BARE: [&str; 3] = ["{", "```json", "```\n{"];

/// The longest name of a tool.
const MAX_NAME: usize = 128;

/// Space before a call is left out, so it is held back until something follows; not more than this.
const MAX_HELD_SPACE: usize = 256;

/// A piece of what a model wrote.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// Words for the person.
    Text(String),
    /// Words for itself.
    Reasoning(String),
    /// A call. The arguments are JSON, or the call's text where it could not be read.
    Call { name: String, arguments: String },
}

/// How a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The model was done.
    Whole,
    /// It was stopped within what it wrote.
    CutOff,
}

/// Finds calls in a text that comes in pieces, cut anywhere.
pub(super) struct CallParser {
    tools: Arc<[ToolSchema]>,
    /// Whether what names no tool of these is no call.
    only_offered: bool,
    /// What has come and is not done with.
    buffer: String,
    /// Everything before is done with.
    at: usize,
    state: State,
    /// Bytes after the last call, where there was one.
    stray: Option<usize>,
}

enum State {
    /// Nothing but space has come.
    Start,
    Thinking,
    Text,
    Call(Draft),
    Json(JsonCall),
}

impl CallParser {
    pub(super) fn new(tools: Arc<[ToolSchema]>) -> Self {
        Self {
            tools,
            only_offered: false,
            buffer: String::new(),
            at: 0,
            state: State::Start,
            stray: None,
        }
    }

    /// Takes for a call only what names one of the tools.
    pub(super) fn of_offered(tools: Arc<[ToolSchema]>) -> Self {
        Self {
            only_offered: true,
            ..Self::new(tools)
        }
    }

    /// Takes the next part of the text; returns the pieces that it completes.
    pub(super) fn feed(&mut self, text: &str) -> Vec<Piece> {
        self.buffer.push_str(text);
        let mut pieces = Vec::new();
        while self.step(&mut pieces) {}
        let done = match &mut self.state {
            State::Call(draft) => draft.rebase(),
            State::Json(call) => {
                call.rebase(self.at);
                std::mem::take(&mut self.at)
            }
            State::Start | State::Thinking | State::Text => std::mem::take(&mut self.at),
        };
        self.buffer.drain(..done);
        pieces
    }

    /// The last pieces, once there is no more text.
    pub(super) fn finish(&mut self, ending: Ending) -> Vec<Piece> {
        let mut pieces = Vec::new();
        match std::mem::replace(&mut self.state, State::Text) {
            State::Start | State::Text => {
                // A wrapper at the very end was held back to see what it wraps.
                let rest = self.buffer[self.at..].trim_ascii_end();
                let end = rest
                    .strip_suffix(WRAPPER)
                    .map_or(self.buffer.len(), |text| self.at + text.len());
                self.say(end, &mut pieces);
            }
            State::Thinking => add(&mut pieces, Piece::Reasoning(self.buffer[self.at..].to_owned())),
            State::Call(draft) => {
                pieces.push(draft.finish(&self.buffer, ending, &self.tools));
                self.stray = Some(0);
            }
            State::Json(call) => match call.finish(&self.buffer, ending, &self.tools) {
                Some(piece) => self.called(piece, self.buffer.len(), &mut pieces),
                None => self.say(self.buffer.len(), &mut pieces),
            },
        }
        pieces
    }

    /// How much was written after the last call.
    pub(super) fn stray_bytes(&self) -> usize {
        self.stray.unwrap_or_default()
    }

    /// Whether there was a call.
    pub(super) fn has_called(&self) -> bool {
        self.stray.is_some()
    }

    /// Goes on by one piece; false where more text is needed first.
    fn step(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match &mut self.state {
            State::Start => self.start(),
            State::Thinking => self.think(pieces),
            State::Text => self.text(pieces),
            State::Call(draft) => match draft.read(&self.buffer) {
                Progress::Waits => false,
                Progress::Ended { at } => {
                    self.at = at;
                    if let State::Call(draft) = std::mem::replace(&mut self.state, State::Text) {
                        pieces.push(draft.into_piece(&self.buffer[..at], &self.tools));
                    }
                    self.stray = Some(0);
                    true
                }
            },
            State::Json(call) if call.is_answer(&self.buffer) => {
                self.state = State::Text;
                true
            }
            State::Json(call) => {
                let Some((piece, at)) = call.read(&self.buffer, &self.tools) else {
                    return false;
                };
                self.state = State::Text;
                self.called(piece, at, pieces);
                true
            }
        }
    }

    /// A call in JSON that ends at this position; words, where it cannot be meant.
    fn called(&mut self, piece: Piece, at: usize, pieces: &mut Vec<Piece>) {
        if let Piece::Call { name, .. } = &piece
            && self.only_offered
            && !self.offers(name)
        {
            self.say(at, pieces);
            return;
        }
        pieces.push(piece);
        self.at = at;
        self.stray = Some(0);
    }

    fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// Whether a tag names what cannot be meant. None: its name is not whole yet.
    fn is_quoted(&self, tag: &str) -> Option<bool> {
        if !self.only_offered {
            return Some(false);
        }
        let name = &tag[CALL.len()..];
        match name.find(['>', '<', '\n']) {
            Some(end) => Some(!self.offers(&draft::resolve(
                name[..end].trim_matches(['"', '\'']),
                &self.tools,
            ))),
            None => (name.len() > MAX_NAME).then_some(true),
        }
    }

    fn start(&mut self) -> bool {
        let rest = self.buffer[self.at..].trim_start();
        let start = self.buffer.len() - rest.len();
        let is_held = start - self.at <= MAX_HELD_SPACE;
        if is_held && rest.starts_with(THINK) {
            self.at = start + THINK.len();
            self.state = State::Thinking;
        } else if is_held && self.may_be_bare(|bare| rest.starts_with(bare)) {
            self.state = State::Json(JsonCall::bare(self.at));
        } else if is_held && (THINK.starts_with(rest) || self.may_be_bare(|bare| bare.starts_with(rest))) {
            return false;
        } else {
            self.state = State::Text;
        }
        true
    }

    /// Whether a reply may be a call in JSON and nothing else.
    fn may_be_bare(&self, begins: impl Fn(&str) -> bool) -> bool {
        !self.tools.is_empty() && BARE.into_iter().any(begins)
    }

    fn think(&mut self, pieces: &mut Vec<Piece>) -> bool {
        let rest = &self.buffer[self.at..];
        let (end, more) = match rest.find(THINK_END) {
            Some(end) => (end, true),
            None => (rest.len() - beginning_at_end(rest, THINK_END), false),
        };
        add(pieces, Piece::Reasoning(rest[..end].to_owned()));
        self.at += end;
        if more {
            self.at += THINK_END.len();
            self.state = State::Start;
        }
        more
    }

    fn text(&mut self, pieces: &mut Vec<Piece>) -> bool {
        let Some(tag) = self.buffer[self.at..].find('<').map(|start| self.at + start) else {
            self.say_but_space(self.buffer.len(), pieces);
            return false;
        };
        let rest = &self.buffer[tag..];
        if rest.starts_with(CALL) {
            match self.is_quoted(rest) {
                Some(true) => self.say(tag + 1, pieces),
                Some(false) => {
                    self.say_but_space(tag, pieces);
                    self.state = State::Call(Draft::new(tag));
                }
                None => self.say_but_space(tag, pieces),
            }
            return self.at > tag || matches!(self.state, State::Call(_));
        }
        if let Some(wrapped) = rest.strip_prefix(WRAPPER) {
            let inside = wrapped.trim_start();
            let space = wrapped.len() - inside.len();
            if inside.starts_with('{') && space <= MAX_HELD_SPACE {
                let start = self.buffer.len() - inside.len();
                self.say_but_space(tag, pieces);
                self.state = State::Json(JsonCall::tagged(start));
                return true;
            }
            if inside.is_empty() && space <= MAX_HELD_SPACE {
                self.say_but_space(tag, pieces);
                return false;
            }
        }
        if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| rest.starts_with(**wrapper)) {
            self.say_but_space(tag, pieces);
            self.at = tag + wrapper.len();
            return true;
        }
        if CALL.starts_with(rest) || WRAPPERS.iter().any(|wrapper| wrapper.starts_with(rest)) {
            self.say_but_space(tag, pieces);
            return false;
        }
        self.say(tag + 1, pieces);
        true
    }

    /// Passes text on up to `end`, but not the space that it ends with.
    fn say_but_space(&mut self, end: usize, pieces: &mut Vec<Piece>) {
        let text = &self.buffer[self.at..end];
        let held = text.len() - text.trim_ascii_end().len();
        self.say(end - held.min(MAX_HELD_SPACE), pieces);
    }

    /// Passes text on up to `end`. After a call it is only counted.
    fn say(&mut self, end: usize, pieces: &mut Vec<Piece>) {
        let text = &self.buffer[self.at..end];
        match &mut self.stray {
            Some(stray) => *stray += text.len(),
            None => add(pieces, Piece::Text(text.to_owned())),
        }
        self.at = end;
    }
}

/// Adds words to those before them.
fn add(pieces: &mut Vec<Piece>, piece: Piece) {
    match (pieces.last_mut(), piece) {
        (_, Piece::Text(more) | Piece::Reasoning(more)) if more.is_empty() => {}
        (Some(Piece::Text(text)), Piece::Text(more))
        | (Some(Piece::Reasoning(text)), Piece::Reasoning(more)) => {
            text.push_str(&more);
        }
        (_, piece) => pieces.push(piece),
    }
}

/// How many bytes at the end of a text may be the beginning of a mark.
fn beginning_at_end(text: &str, mark: &str) -> usize {
    let longest = mark.len().min(text.len() + 1);
    (1..longest)
        .rev()
        .find(|length| text.ends_with(&mark[..*length]))
        .unwrap_or(0)
}
