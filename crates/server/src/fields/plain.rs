//! Values that have no parts. Numbers and switches may come as texts that mean one.

use serde_json::{Map, Number, Value, json};

use crate::validation::Issue;

pub(super) fn text(value: &Value) -> Result<&str, Issue> {
    let fault = || Issue::new("string_type", &[], "Input should be a valid string", value);
    value.as_str().ok_or_else(fault)
}

/// A text of so many characters.
pub(super) fn sized(value: &Value, least: usize, most: usize) -> Result<Value, Issue> {
    let characters = |count: usize| if count == 1 { "character" } else { "characters" };
    let length = text(value)?.chars().count();
    if length < least {
        let sentence = format!("String should have at least {least} {}", characters(least));
        return Err(Issue::new("string_too_short", &[], sentence, value).with(json!({ "min_length": least })));
    }
    if length > most {
        let sentence = format!("String should have at most {most} {}", characters(most));
        return Err(Issue::new("string_too_long", &[], sentence, value).with(json!({ "max_length": most })));
    }
    Ok(value.clone())
}

pub(super) fn map(value: &Value) -> Result<&Map<String, Value>, Issue> {
    let fault = || Issue::new("dict_type", &[], "Input should be a valid dictionary", value);
    value.as_object().ok_or_else(fault)
}

/// What arguments are held to, and what providers insist on.
pub(super) fn schema(value: &Value) -> Result<Value, Issue> {
    if map(value)?.get("type").is_some_and(|kind| kind == "object") {
        return Ok(value.clone());
    }
    let sentence =
        "it must be the JSON schema of an object, such as {\"type\": \"object\", \"properties\": {…}}";
    Err(Issue::rule(&[], sentence, value))
}

pub(super) fn integer(value: &Value, least: Option<i64>) -> Result<Value, Issue> {
    let number = match value {
        Value::Bool(is_set) => (*is_set).into(),
        Value::String(text) => {
            let text = text.trim();
            let whole = text.strip_suffix(".0").unwrap_or(text);
            whole.parse().map_err(|_| {
                let sentence = "Input should be a valid integer, unable to parse string as an integer";
                Issue::new("int_parsing", &[], sentence, value)
            })?
        }
        Value::Number(number) => number.as_i64().or_else(|| whole(number)).ok_or_else(|| {
            let sentence = "Input should be a valid integer, got a number with a fractional part";
            Issue::new("int_from_float", &[], sentence, value)
        })?,
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(Issue::new(
                "int_type",
                &[],
                "Input should be a valid integer",
                value,
            ));
        }
    };
    match least {
        Some(least) if number < least => Err(too_small(least, &least.into(), value)),
        _ => Ok(number.into()),
    }
}

/// A number that is written with a fraction and has none.
fn whole(number: &Number) -> Option<i64> {
    number.to_string().strip_suffix(".0")?.parse().ok()
}

/// None of them may be less than nothing.
pub(super) fn number(value: &Value, most: Option<f64>) -> Result<Value, Issue> {
    let number = match value {
        Value::Bool(is_set) => f64::from(u8::from(*is_set)),
        Value::String(text) => text.trim().parse().map_err(|_| {
            let sentence = "Input should be a valid number, unable to parse string as a number";
            Issue::new("float_parsing", &[], sentence, value)
        })?,
        _ => value
            .as_f64()
            .ok_or_else(|| Issue::new("float_type", &[], "Input should be a valid number", value))?,
    };
    match most {
        _ if number < 0.0 || number.is_nan() => Err(too_small(0, &json!(0.0), value)),
        Some(most) if number > most => {
            let sentence = format!("Input should be less than or equal to {most}");
            Err(Issue::new("less_than_equal", &[], sentence, value).with(json!({ "le": most })))
        }
        _ if value.is_number() => Ok(value.clone()),
        _ => Ok(Number::from_f64(number).map_or(Value::Null, Value::Number)),
    }
}

pub(super) fn positive(value: &Value) -> Result<Value, Issue> {
    let read = number(value, None)?;
    if read.as_f64() == Some(0.0) {
        let sentence = "Input should be greater than 0";
        return Err(Issue::new("greater_than", &[], sentence, value).with(json!({ "gt": 0.0 })));
    }
    Ok(read)
}

fn too_small(least: i64, ctx: &Value, input: &Value) -> Issue {
    let sentence = format!("Input should be greater than or equal to {least}");
    Issue::new("greater_than_equal", &[], sentence, input).with(json!({ "ge": ctx }))
}

pub(super) fn switch(value: &Value) -> Result<Value, Issue> {
    let has_fraction = |number: &Number| number.as_f64().is_some_and(|number| number.fract() != 0.0);
    let word = match value {
        Value::Bool(_) => return Ok(value.clone()),
        Value::String(text) => text.to_lowercase(),
        Value::Number(number) if !has_fraction(number) => number.to_string(),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            return Err(Issue::new(
                "bool_type",
                &[],
                "Input should be a valid boolean",
                value,
            ));
        }
    };
    match word.as_str() {
        "1" | "1.0" | "true" | "t" | "yes" | "y" | "on" => Ok(true.into()),
        "0" | "0.0" | "false" | "f" | "no" | "n" | "off" => Ok(false.into()),
        _ => {
            let sentence = "Input should be a valid boolean, unable to interpret input";
            Err(Issue::new("bool_parsing", &[], sentence, value))
        }
    }
}
