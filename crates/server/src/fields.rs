//! Fields that clients send, held against a table: what each holds, and everything that is wrong with them.

use serde_json::{Map, Number, Value, json};

use crate::failure::Failure;
use crate::validation::{Issue, Place};

/// What a field holds. Numbers and switches may come as texts that mean one, and are kept as what they mean.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// A text of which the contract knows several kinds, and says so in its refusals.
    SomeText,
    Integer {
        least: Option<i64>,
    },
    /// None of them may be less than nothing.
    Number {
        most: Option<f64>,
    },
    Switch,
    OneOf(&'static [&'static str]),
    Map,
    /// Names and texts.
    Texts,
}

/// Whether a field may be null.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Null {
    Allowed,
    Refused,
}

/// The fields of something, in the contract's order.
pub(crate) type Table = [(&'static str, Kind, Null)];

/// What is wrong with a value: where beneath it, the contract's word, its sentence, and what it adds.
struct Fault {
    beneath: Option<String>,
    word: &'static str,
    sentence: String,
    ctx: Option<Box<Value>>,
}

/// Reads the fields of an object that stands at `place`. What the table does not name stays as it is.
pub(crate) fn read(
    place: Place,
    sent: &Map<String, Value>,
    table: &Table,
) -> Result<Map<String, Value>, Failure> {
    let mut read = sent.clone();
    let mut issues = Vec::new();
    for (name, kind, null) in table {
        let Some(value) = sent.get(*name) else {
            continue;
        };
        if value.is_null() && *null == Null::Allowed {
            continue;
        }
        match kind.read(value) {
            Ok(value) => drop(read.insert((*name).to_owned(), value)),
            Err(faults) => issues.extend(faults.into_iter().map(|fault| {
                let beneath = fault.beneath.as_deref();
                let input = beneath.and_then(|beneath| value.get(beneath)).unwrap_or(value);
                let hidden = Value::from("<redacted>");
                let input = if kind.may_be_secret() { &hidden } else { input };
                let place = [place, &[name], beneath.as_slice()].concat();
                let issue = Issue::new(fault.word, &place, fault.sentence, input);
                match fault.ctx {
                    Some(ctx) => issue.with(*ctx),
                    None => issue,
                }
            })),
        }
    }
    if issues.is_empty() {
        Ok(read)
    } else {
        Err(issues.into())
    }
}

impl Kind {
    /// Keys and headers are not echoed, whatever form they come in.
    fn may_be_secret(self) -> bool {
        matches!(self, Self::SomeText | Self::Texts)
    }

    fn read(self, value: &Value) -> Result<Value, Vec<Fault>> {
        let read = match self {
            Self::Text => text(value),
            Self::SomeText => text(value).map_err(|fault| fault.beneath("str")),
            Self::Integer { least } => integer(value).and_then(|number| match least {
                Some(least) if number < least => Err(too_small(least, &least.into())),
                _ => Ok(number.into()),
            }),
            Self::Number { most } => number(value).and_then(|number| match most {
                _ if number < 0.0 || number.is_nan() => Err(too_small(0, &json!(0.0))),
                Some(most) if number > most => {
                    let sentence = format!("Input should be less than or equal to {most}");
                    Err(Fault::new("less_than_equal", sentence).with(json!({ "le": most })))
                }
                _ if value.is_number() => Ok(value.clone()),
                _ => Ok(Number::from_f64(number).map_or(Value::Null, Value::Number)),
            }),
            Self::Switch => switch(value),
            Self::OneOf(words) if words.iter().any(|word| value == word) => Ok(value.clone()),
            Self::OneOf(words) => {
                let expected = Issue::listed(words);
                let fault = Fault::new("literal_error", format!("Input should be {expected}"));
                Err(fault.with(json!({ "expected": expected })))
            }
            Self::Map => map(value).map(|_| value.clone()),
            Self::Texts => {
                let map = map(value).map_err(|fault| vec![fault])?;
                let faults: Vec<_> = map
                    .iter()
                    .filter_map(|(name, value)| Some(text(value).err()?.beneath(name)))
                    .collect();
                return if faults.is_empty() {
                    Ok(value.clone())
                } else {
                    Err(faults)
                };
            }
        };
        read.map_err(|fault| vec![fault])
    }
}

impl Fault {
    fn new(word: &'static str, sentence: impl Into<String>) -> Self {
        Self {
            beneath: None,
            word,
            sentence: sentence.into(),
            ctx: None,
        }
    }

    fn with(self, ctx: Value) -> Self {
        Self {
            ctx: Some(Box::new(ctx)),
            ..self
        }
    }

    fn beneath(self, name: &str) -> Self {
        Self {
            beneath: Some(name.to_owned()),
            ..self
        }
    }
}

fn too_small(least: i64, ctx: &Value) -> Fault {
    let sentence = format!("Input should be greater than or equal to {least}");
    Fault::new("greater_than_equal", sentence).with(json!({ "ge": ctx }))
}

fn text(value: &Value) -> Result<Value, Fault> {
    if value.is_string() {
        return Ok(value.clone());
    }
    Err(Fault::new("string_type", "Input should be a valid string"))
}

fn map(value: &Value) -> Result<&Map<String, Value>, Fault> {
    let fault = || Fault::new("dict_type", "Input should be a valid dictionary");
    value.as_object().ok_or_else(fault)
}

fn integer(value: &Value) -> Result<i64, Fault> {
    match value {
        Value::Bool(is_set) => Ok((*is_set).into()),
        Value::String(text) => {
            let text = text.trim();
            let whole = text.strip_suffix(".0").unwrap_or(text);
            whole.parse().map_err(|_| {
                let sentence = "Input should be a valid integer, unable to parse string as an integer";
                Fault::new("int_parsing", sentence)
            })
        }
        Value::Number(number) => number.as_i64().or_else(|| whole(number)).ok_or_else(|| {
            let sentence = "Input should be a valid integer, got a number with a fractional part";
            Fault::new("int_from_float", sentence)
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(Fault::new("int_type", "Input should be a valid integer"))
        }
    }
}

/// A number that is written with a fraction and has none.
fn whole(number: &Number) -> Option<i64> {
    number.to_string().strip_suffix(".0")?.parse().ok()
}

fn number(value: &Value) -> Result<f64, Fault> {
    match value {
        Value::Bool(is_set) => Ok(f64::from(u8::from(*is_set))),
        Value::String(text) => text.trim().parse().map_err(|_| {
            let sentence = "Input should be a valid number, unable to parse string as a number";
            Fault::new("float_parsing", sentence)
        }),
        _ => value
            .as_f64()
            .ok_or_else(|| Fault::new("float_type", "Input should be a valid number")),
    }
}

fn switch(value: &Value) -> Result<Value, Fault> {
    let word = match value {
        Value::Bool(_) => return Ok(value.clone()),
        Value::String(text) => text.to_lowercase(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(Fault::new("bool_type", "Input should be a valid boolean"));
        }
    };
    match word.as_str() {
        "1" | "1.0" | "true" | "t" | "yes" | "y" | "on" => Ok(true.into()),
        "0" | "0.0" | "false" | "f" | "no" | "n" | "off" => Ok(false.into()),
        _ => {
            let sentence = "Input should be a valid boolean, unable to interpret input";
            Err(Fault::new("bool_parsing", sentence))
        }
    }
}
