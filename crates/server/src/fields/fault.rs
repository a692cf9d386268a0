//! What is wrong with a value, before anybody knows where in a request it stands.

use serde_json::{Value, json};

use crate::validation::{Issue, Place};

/// Where beneath the value it is, the contract's word and sentence for it, what was sent there, and what the contract adds.
pub(super) struct Fault {
    beneath: Vec<Value>,
    word: &'static str,
    sentence: String,
    input: Value,
    ctx: Option<Box<Value>>,
}

impl Fault {
    pub(super) fn new(word: &'static str, sentence: impl Into<String>, input: &Value) -> Self {
        Self {
            beneath: Vec::new(),
            word,
            sentence: sentence.into(),
            input: input.clone(),
            ctx: None,
        }
    }

    /// A rule that types cannot say is broken.
    pub(super) fn rule(error: &str, input: &Value) -> Self {
        Self::new("value_error", format!("Value error, {error}"), input).with(json!({ "error": error }))
    }

    /// One of a few words was expected; `word` is what the contract calls such a fault.
    pub(super) fn choice(word: &'static str, words: &[&str], input: &Value) -> Self {
        let expected = Issue::listed(words);
        Self::new(word, format!("Input should be {expected}"), input).with(json!({ "expected": expected }))
    }

    pub(super) fn with(self, ctx: Value) -> Self {
        let ctx = Some(Box::new(ctx));
        Self { ctx, ..self }
    }

    /// The same, seen from what has the value under this name or number.
    pub(super) fn beneath(mut self, name: impl Into<Value>) -> Self {
        self.beneath.insert(0, name.into());
        self
    }

    /// The same without what was sent, where that could be a secret.
    pub(super) fn hidden(self) -> Self {
        let input = match self.input {
            Value::String(_) | Value::Array(_) | Value::Object(_) => "<redacted>".into(),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        };
        Self { input, ..self }
    }

    /// The same as clients are told of it.
    pub(super) fn at(self, place: Place) -> Issue {
        let issue = Issue::new(self.word, place, self.sentence, &self.input).beneath(self.beneath);
        match self.ctx {
            Some(ctx) => issue.with(*ctx),
            None => issue,
        }
    }
}
