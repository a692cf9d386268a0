//! A call written as JSON: `{"name": "terminal", "arguments": {"command": "ls"}}`, between tags or alone.

use serde_json::{Deserializer, Map, Value};

use super::draft::resolve;
use super::{Ending, Piece, WRAPPER_END};
use crate::ToolSchema;

const FENCE: &str = "```";

/// What the JSON of a call begins with.
const NAME: &str = "\"name\"";

/// Within so many bytes that must have come.
const MAX_BEGINNING: usize = 256;

/// A value may hold the closing tag; not more often than this.
const MAX_TRIES: usize = 16;

/// A call that is not whole yet. Positions are those of the parser's buffer.
pub(super) struct JsonCall {
    /// Where it begins.
    start: usize,
    /// Where to go on searching for its end.
    searched: usize,
    tries: usize,
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Between tags: it is meant as a call.
    Tagged,
    /// A reply that is nothing but JSON, which may be the answer.
    Bare,
}

impl JsonCall {
    pub(super) fn tagged(start: usize) -> Self {
        Self::new(start, Form::Tagged)
    }

    pub(super) fn bare(start: usize) -> Self {
        Self::new(start, Form::Bare)
    }

    fn new(start: usize, form: Form) -> Self {
        Self {
            start,
            searched: start,
            tries: 0,
            form,
        }
    }

    /// Follows the buffer, which loses so many bytes before it.
    pub(super) fn rebase(&mut self, lost: usize) {
        self.start -= lost;
        self.searched -= lost;
    }

    /// Whether JSON alone is an answer: a call begins with its name.
    pub(super) fn is_answer(&self, buffer: &str) -> bool {
        if self.form == Form::Tagged {
            return false;
        }
        // No more is looked at than this, so that it does not matter how much has come.
        let text = &buffer[self.start..];
        let beginning = &text[..text.floor_char_boundary(MAX_BEGINNING)];
        let mut rest = beginning.trim_start();
        for mark in [FENCE, "json"] {
            rest = rest.strip_prefix(mark).unwrap_or(rest);
        }
        for mark in ["{", NAME] {
            rest = rest.trim_start();
            match rest.strip_prefix(mark) {
                Some(after) => rest = after,
                None => return !mark.starts_with(rest) || text.len() >= MAX_BEGINNING,
            }
        }
        false
    }

    /// The call, once its closing tag has come, and where it ends.
    pub(super) fn read(&mut self, buffer: &str, tools: &[ToolSchema]) -> Option<(Piece, usize)> {
        if self.form == Form::Bare {
            return None;
        }
        while let Some(end) = buffer[self.searched..].find(WRAPPER_END) {
            let end = self.searched + end;
            self.searched = end + WRAPPER_END.len();
            self.tries += 1;
            let text = &buffer[self.start..end];
            match serde_json::from_str::<Value>(text) {
                Err(error) if error.is_eof() && self.tries < MAX_TRIES => {}
                read => {
                    return Some((
                        call(read.ok(), tools).unwrap_or_else(|| unread(text)),
                        self.searched,
                    ));
                }
            }
        }
        let keep = buffer.len().saturating_sub(WRAPPER_END.len());
        self.searched = buffer.floor_char_boundary(keep).max(self.searched);
        None
    }

    /// The call, where the text ended before its tag came. Nothing where it is an answer in JSON.
    pub(super) fn finish(self, buffer: &str, ending: Ending, tools: &[ToolSchema]) -> Option<Piece> {
        let text = &buffer[self.start..];
        let whole = (ending == Ending::Whole)
            .then(|| call(first_value(text), tools))
            .flatten();
        match self.form {
            Form::Tagged => Some(whole.unwrap_or_else(|| unread(text))),
            Form::Bare => whole.filter(|piece| {
                matches!(piece, Piece::Call { name, .. } if tools.iter().any(|tool| tool.name == *name))
            }),
        }
    }
}

/// The JSON that a text begins with, in a fence or not.
fn first_value(text: &str) -> Option<Value> {
    let json = text.find('{').map(|start| &text[start..])?;
    Deserializer::from_str(json).into_iter().next()?.ok()
}

fn call(value: Option<Value>, tools: &[ToolSchema]) -> Option<Piece> {
    let Some(Value::Object(mut value)) = value else {
        return None;
    };
    let Some(Value::String(name)) = value.remove("name") else {
        return None;
    };
    let arguments = match value.remove("arguments").or_else(|| value.remove("parameters")) {
        Some(Value::String(text)) => text,
        Some(Value::Object(arguments)) => Value::Object(arguments).to_string(),
        None => Value::Object(Map::new()).to_string(),
        Some(_) => return None,
    };
    Some(Piece::Call {
        name: resolve(&name, tools),
        arguments,
    })
}

/// A call that nobody can run: its text, which is no JSON, in the place of arguments.
fn unread(text: &str) -> Piece {
    let after_name = text.split_once("\"name\"").map_or("", |(_, rest)| rest);
    Piece::Call {
        name: after_name.split('"').nth(1).unwrap_or_default().to_owned(),
        arguments: text.trim().to_owned(),
    }
}
