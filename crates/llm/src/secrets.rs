//! What must not be shown, and how it is taken out of what others say.

use deft_types::Secret;
use serde_json::Value;

use crate::ModelError;
use crate::http::CUT;

/// A shorter value is no secret: it is the dummy of a server that wants none, and part of many words.
const MIN_SECRET_BYTES: usize = 8;

const MASK: &str = "**********";

/// Values that must not be shown.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<Secret<String>>);

impl Secrets {
    pub(crate) fn new(values: impl IntoIterator<Item = Secret<String>>) -> Self {
        let long = |value: &Secret<String>| value.expose().len() >= MIN_SECRET_BYTES;
        Self(values.into_iter().filter(long).collect())
    }

    /// The failure without secrets, should the server have echoed one.
    pub(crate) fn redact(&self, mut error: ModelError) -> ModelError {
        let detail = error.detail_mut();
        *detail = self.redacted(detail);
        error
    }

    /// The document without secrets. It stays a document: only what its strings say is changed.
    pub(crate) fn redact_json(&self, json: &mut Value) {
        match json {
            Value::String(text) => *text = self.redacted(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.redact_json(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn redacted(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            let secret = secret.expose();
            text = text.replace(secret, MASK);
            // Where a text was cut, half a secret may be left.
            let halves = (MIN_SECRET_BYTES..secret.len()).rev();
            for half in halves.filter_map(|end| secret.get(..end)) {
                text = text.replace(&format!("{half}{CUT}"), &format!("{MASK}{CUT}"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|value| Secret::new((*value).to_owned())))
    }

    #[test]
    fn a_secret_is_taken_out_whole_or_cut_off_and_a_short_value_is_none() {
        let secrets = secrets(&["x", "sk-0123456789"]);
        let cases = [
            ("no sk-0123456789 here", "no ********** here"),
            ("Incorrect key: sk-01234…", "Incorrect key: **********…"),
            ("an example: sk-…", "an example: sk-…"),
        ];
        for (said, shown) in cases {
            assert_eq!(secrets.redacted(said), shown);
        }
    }

    #[test]
    fn a_document_stays_one() {
        let mut json = json!({ "messages": [{ "content": "say \"messages\" and k\"y-01234567" }] });
        secrets(&["messages", "k\"y-01234567"]).redact_json(&mut json);
        assert_eq!(
            json,
            json!({ "messages": [{ "content": "say \"**********\" and **********" }] })
        );
    }
}
