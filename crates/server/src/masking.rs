//! Which fields of what a client sent are secret, and what is shown in their place.

use std::convert::Infallible;

use reqwest::Url;
use serde_json::Value;

/// What stands for a secret where clients are told that there is one.
pub(crate) const ASTERISKS: &str = "**********";

/// A field whose name has one of these words holds a secret.
const WORDS: [&str; 8] = [
    "authorization",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "session",
    "token",
];
/// Names that have such a word and hold none.
const HARMLESS: [&str; 6] = [
    "custom_tokenizer",
    "aws_session_name",
    "usage_to_metrics",
    "acp_session_mode",
    "acp_resume_session_id",
    "secret_name",
];
/// A map of this name holds secrets whatever its fields are called.
const SECRETS: &str = "secrets";

/// What stands for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mask {
    /// Nothing: REST answers.
    Null,
    /// Asterisks: frames of sockets.
    Asterisks,
}

impl Mask {
    fn value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Asterisks => ASTERISKS.into(),
        }
    }
}

/// Whether a field of this name holds a secret.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !HARMLESS.contains(&name.as_str()) && WORDS.iter().any(|word| name.contains(word))
}

/// Puts the mask in the place of every secret text.
pub(crate) fn mask(value: &mut Value, mask_with: Mask) {
    let hide = &mut |secret: &mut Value| {
        *secret = mask_with.value();
        Ok::<_, Infallible>(())
    };
    match each_secret(value, hide) {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Does something with every secret text.
pub(crate) fn each_secret<E>(
    value: &mut Value,
    treat: &mut impl FnMut(&mut Value) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::Object(fields) => fields.iter_mut().try_for_each(|(name, value)| {
            if name == SECRETS && value.is_object() {
                every_text(value, treat)
            } else if looks_secret(name) && value.is_string() {
                treat(value)
            } else {
                each_secret(value, treat)
            }
        }),
        Value::Array(items) => items.iter_mut().try_for_each(|item| each_secret(item, treat)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn every_text<E>(value: &mut Value, treat: &mut impl FnMut(&mut Value) -> Result<(), E>) -> Result<(), E> {
    match value {
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(name, _)| *name != "kind" && *name != "description")
            .try_for_each(|(_, value)| every_text(value, treat)),
        Value::Array(items) => items.iter_mut().try_for_each(|item| every_text(item, treat)),
        Value::String(_) => treat(value),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// An address without what may be a key in it.
pub(crate) fn without_keys(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_password(None); // only addresses without a host refuse that
    let _ = url.set_username("");
    url.set_query(None);
    url.to_string()
}

/// Takes out every field that is null, as frames of sockets and searches have it.
pub(crate) fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_secret_of_an_agent_is_shown() {
        let mut agent = json!({
            "llm": {"model": "m", "api_key": "sk-1", "aws_session_token": "t", "max_input_tokens": 5,
                "extra_headers": {"Authorization": "Bearer x", "X-Title": "deft"}, "aws_session_name": "s"},
            "condenser": {"llm": {"api_key": "sk-2"}},
            "agent_context": {"secrets": {"ANY": "v", "OTHER": {"kind": "StaticSecret", "value": "w"}}},
            "mcp_config": {"s": {"env": {"API_TOKEN": "z"}}},
        });
        mask(&mut agent, Mask::Asterisks);
        let text = agent.to_string();
        for secret in ["sk-1", "sk-2", "Bearer", "\"t\"", "\"v\"", "\"w\"", "\"z\""] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for harmless in ["\"m\"", "5", "\"deft\"", "\"s\"", "StaticSecret"] {
            assert!(text.contains(harmless), "{harmless} not in {text}");
        }
    }
}
