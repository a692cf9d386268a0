//! Fields that clients send, held against a table: what each holds, and everything that is wrong with them.

mod plain;

use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::request::object;
use crate::validation::{Issue, NOT_FIELDS, Place};

/// What a field holds. Numbers and switches may come as texts that mean one, and are kept as what they mean.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// A text of so many characters.
    Sized {
        least: usize,
        most: usize,
    },
    /// A text of which the contract knows several kinds, and says so in its refusals.
    SomeText,
    Integer {
        least: Option<i64>,
    },
    /// None of them may be less than nothing.
    Number {
        most: Option<f64>,
    },
    /// A number above nothing.
    Positive,
    Switch,
    OneOf(&'static [&'static str]),
    /// The same, where the contract has another word for what is wrong.
    EnumOf(&'static [&'static str]),
    /// Names and whatever.
    Map,
    /// The JSON schema of an object.
    Schema,
    /// Names and values of one kind.
    Each(&'static Kind),
    List(&'static Kind),
    Object(&'static Object),
    Tagged(&'static Tagged),
    /// The first of these that fits, each with the contract's name for it.
    Either(&'static [(&'static str, &'static Kind)]),
    /// What it is, in a text, or the whole of it.
    TextOr(&'static Kind),
    /// It may be a secret, so it is not echoed.
    Hidden(&'static Kind),
}

/// Which fields may be missing or null.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Gap {
    /// It may be null, or not there.
    Null,
    /// It may not be there, but if it is, it is not null.
    Absent,
    /// It must be there.
    None,
}

/// The fields of something, in the contract's order.
pub(crate) type Table = [(&'static str, Kind, Gap)];

/// Something that has fields.
pub(crate) struct Object {
    /// What the contract calls it, where it does.
    pub(crate) class: Option<&'static str>,
    pub(crate) fields: &'static Table,
    pub(crate) others: Others,
}

/// What becomes of fields that a table does not name.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Others {
    Kept,
    Refused,
}

/// Something whose `kind` says which fields it has.
pub(crate) struct Tagged {
    pub(crate) class: Option<&'static str>,
    /// What the contract says of a kind that is none, with `{}` in its place.
    pub(crate) unknown: &'static str,
    pub(crate) kinds: &'static [(&'static str, &'static Table)],
    /// What one without a kind has, where that may be.
    pub(crate) without: Option<&'static Table>,
}

/// Reads the fields of an object that stands at `place`.
pub(crate) fn read(
    place: Place,
    sent: &Map<String, Value>,
    table: &Table,
) -> Result<Map<String, Value>, Failure> {
    told(place, read_fields(sent, table, Others::Kept))
}

/// The same of something that has no other fields.
pub(crate) fn read_closed(
    place: Place,
    sent: &Map<String, Value>,
    table: &Table,
) -> Result<Map<String, Value>, Failure> {
    told(place, read_fields(sent, table, Others::Refused))
}

/// Reads the body of a request.
pub(crate) fn read_body(body: &Value, table: &Table, others: Others) -> Result<Map<String, Value>, Failure> {
    told(&["body"], read_fields(object(body)?, table, others))
}

/// Whether a switch that may come as a text is set.
pub(crate) fn is_set(sent: &Value) -> bool {
    plain::switch(sent).is_ok_and(|sent| sent == true)
}

/// What is wrong, with the place where the whole stands.
fn told<T>(place: Place, read: Result<T, Vec<Issue>>) -> Result<T, Failure> {
    read.map_err(|issues| {
        let at = |issue: Issue| place.iter().rev().fold(issue, |issue, part| issue.beneath(*part));
        issues.into_iter().map(at).collect::<Vec<_>>().into()
    })
}

/// One of a few words was expected; `word` is what the contract calls that.
fn choice(word: &'static str, words: &[&str], input: &Value) -> Issue {
    let expected = Issue::listed(words);
    let sentence = format!("Input should be {expected}");
    Issue::new(word, &[], sentence, input).with(json!({ "expected": expected }))
}

fn read_fields(
    sent: &Map<String, Value>,
    table: &Table,
    others: Others,
) -> Result<Map<String, Value>, Vec<Issue>> {
    let mut read = sent.clone();
    let mut issues = Vec::new();
    for (name, kind, gap) in table {
        match (sent.get(*name), gap) {
            (None, Gap::None) => {
                let whole = Value::Object(sent.clone());
                issues.push(Issue::new("missing", &[], "Field required", &whole).beneath(*name));
            }
            (None, Gap::Null | Gap::Absent) | (Some(Value::Null), Gap::Null) => {}
            (Some(value), _) => match kind.read(value) {
                Ok(value) => drop(read.insert((*name).to_owned(), value)),
                Err(beneath) => issues.extend(beneath.into_iter().map(|issue| issue.beneath(*name))),
            },
        }
    }
    if others == Others::Refused {
        let is_known = |name: &str| table.iter().any(|(known, ..)| *known == name);
        let more = sent.iter().filter(|(name, _)| !is_known(name));
        issues.extend(more.map(|(name, value)| {
            Issue::new("extra_forbidden", &[], "Extra inputs are not permitted", value).beneath(name.as_str())
        }));
    }
    if issues.is_empty() { Ok(read) } else { Err(issues) }
}

impl Kind {
    fn read(self, value: &Value) -> Result<Value, Vec<Issue>> {
        let read = match self {
            Self::Text => plain::text(value).map(|_| value.clone()),
            Self::Sized { least, most } => plain::sized(value, least, most),
            Self::SomeText => {
                let read = plain::text(value).map(|_| value.clone());
                read.map_err(|issue| issue.beneath("str"))
            }
            Self::Integer { least } => plain::integer(value, least),
            Self::Number { most } => plain::number(value, most),
            Self::Positive => plain::positive(value),
            Self::Switch => plain::switch(value),
            Self::OneOf(words) | Self::EnumOf(words) if words.iter().any(|word| value == word) => {
                Ok(value.clone())
            }
            Self::OneOf(words) => Err(choice("literal_error", words, value)),
            Self::EnumOf(words) => Err(choice("enum", words, value)),
            Self::Map => plain::map(value).map(|_| value.clone()),
            Self::Schema => plain::schema(value),
            Self::Each(kind) => return each(kind, value),
            Self::List(kind) => return list(kind, value),
            Self::Object(object) => return object.read(value),
            Self::Tagged(tagged) => return tagged.read(value),
            Self::Either(kinds) => return either(kinds, value),
            Self::TextOr(_) if value.is_string() => Ok(value.clone()),
            Self::TextOr(kind) => return kind.read(value),
            Self::Hidden(kind) => {
                let hidden = |issues: Vec<Issue>| issues.into_iter().map(Issue::hidden).collect();
                return kind.read(value).map_err(hidden);
            }
        };
        read.map_err(|issue| vec![issue])
    }
}

fn each(kind: &Kind, value: &Value) -> Result<Value, Vec<Issue>> {
    let sent = plain::map(value).map_err(|issue| vec![issue])?;
    let mut read = Map::new();
    let mut issues = Vec::new();
    for (name, value) in sent {
        match kind.read(value) {
            Ok(value) => drop(read.insert(name.clone(), value)),
            Err(beneath) => issues.extend(beneath.into_iter().map(|issue| issue.beneath(name.as_str()))),
        }
    }
    if issues.is_empty() {
        Ok(read.into())
    } else {
        Err(issues)
    }
}

fn list(kind: &Kind, value: &Value) -> Result<Value, Vec<Issue>> {
    let Some(items) = value.as_array() else {
        return Err(vec![Issue::new(
            "list_type",
            &[],
            "Input should be a valid list",
            value,
        )]);
    };
    let mut read = Vec::with_capacity(items.len());
    let mut issues = Vec::new();
    for (number, item) in items.iter().enumerate() {
        match kind.read(item) {
            Ok(item) => read.push(item),
            Err(beneath) => issues.extend(beneath.into_iter().map(|issue| issue.beneath(number))),
        }
    }
    if issues.is_empty() {
        Ok(read.into())
    } else {
        Err(issues)
    }
}

fn either(kinds: &[(&str, &Kind)], value: &Value) -> Result<Value, Vec<Issue>> {
    let mut issues = Vec::new();
    for (name, kind) in kinds {
        match kind.read(value) {
            Ok(value) => return Ok(value),
            Err(beneath) => issues.extend(beneath.into_iter().map(|issue| issue.beneath(*name))),
        }
    }
    Err(issues)
}

impl Object {
    fn read(&self, value: &Value) -> Result<Value, Vec<Issue>> {
        let sent = fields_of(value, self.class)?;
        read_fields(sent, self.fields, self.others).map(Value::Object)
    }
}

impl Tagged {
    fn read(&self, value: &Value) -> Result<Value, Vec<Issue>> {
        let sent = fields_of(value, self.class)?;
        let fields = match (sent.get("kind"), self.without) {
            (None, Some(fields)) => Some(fields),
            (kind, _) => {
                let kind = kind.and_then(Value::as_str);
                let known = self.kinds.iter().find(|(known, _)| Some(*known) == kind);
                known.map(|(_, fields)| *fields)
            }
        };
        let Some(fields) = fields else {
            let kind = sent.get("kind").and_then(Value::as_str).unwrap_or_default();
            return Err(vec![Issue::rule(&[], &self.unknown.replace("{}", kind), value)]);
        };
        read_fields(sent, fields, Others::Kept).map(Value::Object)
    }
}

fn fields_of<'v>(value: &'v Value, class: Option<&str>) -> Result<&'v Map<String, Value>, Vec<Issue>> {
    value.as_object().ok_or_else(|| {
        vec![match class {
            None => Issue::new("model_attributes_type", &[], NOT_FIELDS, value),
            Some(class) => {
                let sentence = format!("Input should be a valid dictionary or instance of {class}");
                Issue::new("model_type", &[], sentence, value).with(json!({ "class_name": class }))
            }
        }]
    })
}
