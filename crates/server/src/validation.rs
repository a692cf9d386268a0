//! What is wrong with a request, in the form the contract's clients know: which field, and why.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::masking::looks_secret;

/// One thing that is wrong.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Issue(Box<Fields>);

#[derive(Debug, Serialize)]
struct Fields {
    #[serde(rename = "type")]
    kind: &'static str,
    loc: Vec<Value>,
    msg: String,
    input: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    ctx: Option<Value>,
}

/// What is said where there should be fields, and is something else.
pub(crate) const NOT_FIELDS: &str = "Input should be a valid dictionary or object to extract fields from";

/// Where in a request a field stands: the part (`body`, `query`, `path`), and the way to it.
pub(crate) type Place<'a> = &'a [&'a str];

impl Issue {
    /// What is given does not fit. The input is echoed without what looks secret.
    pub(crate) fn new(kind: &'static str, place: Place, msg: impl Into<String>, input: &Value) -> Self {
        Self(Box::new(Fields {
            kind,
            loc: place.iter().map(|part| Value::from(*part)).collect(),
            msg: msg.into(),
            input: redacted(input),
            ctx: None,
        }))
    }

    /// The same, seen from what has the place under this name or number.
    pub(crate) fn beneath(mut self, name: impl Into<Value>) -> Self {
        self.0.loc.insert(0, name.into());
        self
    }

    /// The same without what was sent, where that could be a secret.
    pub(crate) fn hidden(mut self) -> Self {
        if matches!(
            self.0.input,
            Value::String(_) | Value::Array(_) | Value::Object(_)
        ) {
            self.0.input = "<redacted>".into();
        }
        self
    }

    pub(crate) fn with(mut self, ctx: Value) -> Self {
        self.0.ctx = Some(ctx);
        self
    }

    /// The field is not there; `parent` is what should have had it.
    pub(crate) fn missing(place: Place, parent: &Value) -> Self {
        Self::new("missing", place, "Field required", parent)
    }

    /// A rule that types cannot say is broken.
    pub(crate) fn rule(place: Place, error: &str, input: &Value) -> Self {
        Self::new("value_error", place, format!("Value error, {error}"), input).with(json!({"error": error}))
    }

    /// Only one of a few words may stand here.
    pub(crate) fn choice(place: Place, words: &[&str], input: &str) -> Self {
        let expected = Self::listed(words);
        Self::new(
            "enum",
            place,
            format!("Input should be {expected}"),
            &input.into(),
        )
        .with(json!({"expected": expected}))
    }

    /// Words as the contract lists them.
    pub(crate) fn listed(words: &[&str]) -> String {
        let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        match quoted.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => quoted.concat(),
        }
    }

    pub(crate) fn bad_uuid(place: Place, input: &str, error: &uuid::Error) -> Self {
        let msg = format!("Input should be a valid UUID, {error}");
        Self::new("uuid_parsing", place, msg, &input.into()).with(json!({"error": error.to_string()}))
    }

    /// The body is no JSON. The place is the number of characters before what is wrong.
    pub(crate) fn bad_json(error: &serde_json::Error, body: &[u8]) -> Self {
        let mut issue = Self::new("json_invalid", &["body"], "JSON decode error", &json!({}))
            .with(json!({"error": error.to_string()}));
        let lines = body.split_inclusive(|byte| *byte == b'\n');
        let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        let in_line = if error.is_eof() {
            error.column()
        } else {
            error.column().saturating_sub(1)
        };
        let end = (before + in_line).min(body.len());
        let place = String::from_utf8_lossy(&body[..end]).chars().count();
        issue.0.loc.push(place.into());
        issue
    }
}

/// The value with every field that looks secret hidden.
fn redacted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let hide = |(name, value): (&String, &Value)| {
                let value = if looks_secret(name) && !value.is_null() {
                    "<redacted>".into()
                } else {
                    redacted(value)
                };
                (name.clone(), value)
            };
            Value::Object(fields.iter().map(hide).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(redacted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_sent_is_echoed_without_its_secrets() {
        let sent = json!({"llm": {"model": "m", "api_key": "sk-1", "aws_session_token": null}, "tags": {"Bad-Key": "x"}});
        let issue = Issue::rule(&["body"], "no", &sent);
        let expected = json!({"llm": {"model": "m", "api_key": "<redacted>", "aws_session_token": null},
            "tags": {"Bad-Key": "<redacted>"}});
        assert_eq!(json!(issue)["input"], expected);
    }

    #[test]
    fn broken_json_is_pointed_at_by_the_characters_before_it() {
        for (text, place) in [("{not json", 1), ("{\"a\":", 5), ("{\"ä\": 1,\n x}", 10)] {
            let error = serde_json::from_str::<Value>(text).unwrap_err();
            let issue = json!(Issue::bad_json(&error, text.as_bytes()));
            assert_eq!(issue["loc"], json!(["body", place]), "{text}");
        }
    }

    #[test]
    fn choices_are_listed_as_people_would() {
        let issue = Issue::choice(&["query", "sort_order"], &["TIMESTAMP", "TIMESTAMP_DESC"], "X");
        assert_eq!(
            json!(issue),
            json!({"type": "enum", "loc": ["query", "sort_order"], "msg": "Input should be 'TIMESTAMP' or 'TIMESTAMP_DESC'",
                "input": "X", "ctx": {"expected": "'TIMESTAMP' or 'TIMESTAMP_DESC'"}})
        );
    }
}
