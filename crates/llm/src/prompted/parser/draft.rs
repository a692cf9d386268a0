//! One call, from its first tag to its last.

use serde_json::{Map, Value};

use super::{Ending, Piece, WRAPPER_END};
use crate::ToolSchema;
use crate::prompted::form::{self, CALL, CALL_END, PARAMETER, PARAMETER_END};

/// Names that models know from elsewhere, and what they mean by them.
const ALIASES: [(&str, &str); 4] = [
    ("execute_bash", "terminal"),
    ("bash", "terminal"),
    ("str_replace_editor", "file_editor"),
    ("str_replace", "file_editor"),
];

/// What may stand between two parameters besides a parameter. Another call ends one that was not ended.
const ENDINGS: [&str; 3] = [CALL_END, WRAPPER_END, CALL];

/// A call that is not whole yet. Positions are those of the parser's buffer.
pub(super) struct Draft {
    /// Where its first tag begins.
    start: usize,
    /// Everything before is read.
    at: usize,
    /// Where to go on searching.
    searched: usize,
    part: Part,
    name: String,
    values: Vec<(String, String)>,
    /// What stands where only parameters should.
    between: String,
    /// A tag was not closed: whatever was read is not what was meant.
    broken: bool,
}

enum Part {
    Name,
    Between,
    Key,
    Value { key: String },
}

/// How far a call is.
pub(super) enum Progress {
    /// More text is needed.
    Waits,
    /// It ended before this position.
    Ended { at: usize },
}

impl Draft {
    pub(super) fn new(start: usize) -> Self {
        let at = start + CALL.len();
        Self {
            start,
            at,
            searched: at,
            part: Part::Name,
            name: String::new(),
            values: Vec::new(),
            between: String::new(),
            broken: false,
        }
    }

    /// Makes its first tag the beginning of the buffer; returns how many bytes the buffer must lose.
    pub(super) fn rebase(&mut self) -> usize {
        let lost = std::mem::take(&mut self.start);
        self.at -= lost;
        self.searched -= lost;
        lost
    }

    /// Reads as far as the buffer goes.
    pub(super) fn read(&mut self, buffer: &str) -> Progress {
        loop {
            match &mut self.part {
                Part::Name => {
                    let Some((name, closed)) = self.tag(buffer, &['>', '<', '\n']) else {
                        return Progress::Waits;
                    };
                    self.broken |= name.is_empty() || closed == '<';
                    self.name = name;
                    self.go_on(Part::Between);
                }
                Part::Key => {
                    // An equals sign where the tag should end is a slip that leaves no doubt.
                    let Some((key, closed)) = self.tag(buffer, &['>', '=', '<', '\n']) else {
                        return Progress::Waits;
                    };
                    self.broken |= key.is_empty() || closed == '<';
                    self.go_on(Part::Value { key });
                }
                Part::Value { key } => {
                    let Some(end) = buffer[self.searched..].find(PARAMETER_END) else {
                        let keep = buffer.len().saturating_sub(PARAMETER_END.len());
                        self.searched = buffer.floor_char_boundary(keep).max(self.searched);
                        return Progress::Waits;
                    };
                    let end = self.searched + end;
                    let value = form::value(&buffer[self.at..end]).to_owned();
                    self.values.push((std::mem::take(key), value));
                    self.at = end + PARAMETER_END.len();
                    self.go_on(Part::Between);
                }
                Part::Between => {
                    let mut rest = &buffer[self.at..];
                    if self.between.is_empty() {
                        rest = rest.trim_start();
                        self.at = buffer.len() - rest.len();
                    }
                    if rest.starts_with(PARAMETER) {
                        self.at += PARAMETER.len();
                        self.go_on(Part::Key);
                    } else if rest.starts_with(CALL_END) {
                        return Progress::Ended {
                            at: self.at + CALL_END.len(),
                        };
                    } else if ENDINGS.iter().any(|ending| rest.starts_with(ending)) {
                        return Progress::Ended { at: self.at };
                    } else if PARAMETER.starts_with(rest)
                        || ENDINGS.iter().any(|ending| ending.starts_with(rest))
                    {
                        return Progress::Waits;
                    } else {
                        let first = rest.chars().next().map_or(0, char::len_utf8);
                        let length = rest[first..].find('<').map_or(rest.len(), |next| first + next);
                        self.between.push_str(&rest[..length]);
                        self.at += length;
                    }
                }
            }
        }
    }

    fn go_on(&mut self, part: Part) {
        self.part = part;
        self.searched = self.at;
    }

    /// What stands in a tag, and what closes it.
    fn tag(&mut self, buffer: &str, closings: &[char]) -> Option<(String, char)> {
        let rest = &buffer[self.searched..];
        let Some((end, closed)) = rest.char_indices().find(|(_, c)| closings.contains(c)) else {
            self.searched = buffer.len();
            return None;
        };
        let end = self.searched + end;
        let text = buffer[self.at..end].trim().trim_matches(['"', '\'']).to_owned();
        self.at = end + usize::from(matches!(closed, '>' | '='));
        Some((text, closed))
    }

    /// The call, now that it has come to its end.
    pub(super) fn into_piece(self, buffer: &str, tools: &[ToolSchema]) -> Piece {
        if self.broken {
            return self.into_unread(buffer);
        }
        let name = resolve(&self.name, tools);
        let schema = tools
            .iter()
            .find(|tool| tool.name == name)
            .map(|tool| &tool.parameters);
        let arguments = match serde_json::from_str::<Map<String, Value>>(&self.between) {
            // Some write the arguments as they would in another form.
            Ok(arguments) if self.values.is_empty() => arguments,
            Ok(_) | Err(_) => {
                let values = self.values.into_iter();
                values
                    .map(|(key, text)| {
                        let value = typed(text, schema, &key);
                        (key, value)
                    })
                    .collect()
            }
        };
        Piece::Call {
            name,
            arguments: Value::Object(arguments).to_string(),
        }
    }

    /// The call, where the text ended before it did. A tag that is missing at the very end is only forgotten,
    /// unless the model was stopped.
    pub(super) fn finish(mut self, buffer: &str, ending: Ending, tools: &[ToolSchema]) -> Piece {
        let rest = &buffer[self.at..];
        match (&mut self.part, ending) {
            (Part::Between, Ending::Whole) => self.into_piece(buffer, tools),
            (Part::Value { key }, Ending::Whole) if let Some(end) = rest.find(CALL_END) => {
                let value = form::value(&rest[..end]).to_owned();
                self.values.push((std::mem::take(key), value));
                self.into_piece(buffer, tools)
            }
            (Part::Name | Part::Key | Part::Value { .. } | Part::Between, _) => self.into_unread(buffer),
        }
    }

    /// A call that nobody can run: its text, which is no JSON, in the place of arguments.
    fn into_unread(self, buffer: &str) -> Piece {
        Piece::Call {
            name: self.name,
            arguments: buffer[self.start..].to_owned(),
        }
    }
}

pub(super) fn resolve(name: &str, tools: &[ToolSchema]) -> String {
    let offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    let alias = ALIASES
        .iter()
        .find(|(alias, tool)| *alias == name && offered(tool));
    match alias {
        Some((_, tool)) if !offered(name) => (*tool).to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

/// A value in the type that its schema wants, where it can be read as that. Text stays as it is.
fn typed(text: String, schema: Option<&Value>, key: &str) -> Value {
    let property = schema.and_then(|schema| schema.get("properties")?.get(key));
    if property.is_none_or(takes_text) {
        return Value::String(text);
    }
    let trimmed = text.trim();
    let lower = trimmed.to_ascii_lowercase();
    match lower.as_str() {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => serde_json::from_str(trimmed).unwrap_or(Value::String(text)),
    }
}

fn takes_text(property: &Value) -> bool {
    let choices = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| property.get(*key)?.as_array());
    match (property.get("type"), choices) {
        (Some(Value::String(kind)), _) => kind == "string",
        (Some(Value::Array(kinds)), _) => kinds.iter().any(|kind| kind == "string"),
        (_, Some(choices)) => choices.iter().any(takes_text),
        (_, None) => true,
    }
}
