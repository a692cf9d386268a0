//! One step of a script, as the file has it.

use std::time::Duration;

use deft_types::Money;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::failure_of;
use crate::{FinishReason, ModelError, Usage};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Step {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) tool_calls: Vec<Call>,
    pub(super) usage: Option<Usage>,
    pub(super) cost: Option<Money>,
    pub(super) finish: Option<FinishReason>,
    pub(super) delay_ms: u64,
    pub(super) chunk_delay_ms: u64,
    pub(super) cut_after: Option<usize>,
    pub(super) stall: bool,
    pub(super) error: Option<Failure>,
    pub(super) repeat: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// A mapping, or text that is passed on as it is.
    #[serde(default = "no_arguments")]
    pub(super) arguments: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    status: Option<u16>,
    kind: Option<FailureName>,
    #[serde(default = "scripted")]
    message: String,
    retry_after: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FailureName {
    ContextWindowExceeded,
    MalformedHistory,
    Authentication,
    Permission,
    Quota,
    RateLimit,
    Overloaded,
    Timeout,
    ContentPolicy,
    BadRequest,
    Unavailable,
    Network,
    Protocol,
}

fn no_arguments() -> Value {
    json!({})
}

fn scripted() -> String {
    "a failure of the script".to_owned()
}

impl Step {
    /// The step that ends a task.
    pub(super) fn finish(message: &str) -> Self {
        Self {
            tool_calls: vec![Call {
                id: None,
                name: "finish".to_owned(),
                arguments: json!({ "message": message }),
            }],
            ..Self::default()
        }
    }

    /// Whether it leaves no turn of the assistant behind. An empty reply does not: nobody sends it back.
    pub(super) fn is_fault(&self) -> bool {
        let is_empty = self.text.trim().is_empty() && self.tool_calls.is_empty();
        self.stall || self.error.is_some() || self.cut_after.is_some() || is_empty
    }

    /// What is wrong with it, if anything is.
    pub(super) fn check(&self) -> Result<(), String> {
        let says_something =
            !(self.text.is_empty() && self.reasoning.is_empty() && self.tool_calls.is_empty());
        match (&self.error, self.stall, self.cut_after) {
            (Some(_), true, _) | (Some(_), _, Some(_)) | (_, true, Some(_)) => {
                Err("a step has only one of `error`, `stall` and `cut_after`".to_owned())
            }
            (Some(_), ..) | (_, true, _) if says_something => {
                Err("a step with `error` or `stall` has no reply".to_owned())
            }
            (Some(error), ..) if error.status.is_some() == error.kind.is_some() => {
                Err("an `error` has either a `status` or a `kind`".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// The step with its number in place of each `{{n}}`.
    pub(super) fn numbered(&self, n: usize) -> Self {
        let mut step = self.clone();
        number(&mut step.text, n);
        number(&mut step.reasoning, n);
        for call in &mut step.tool_calls {
            number(&mut call.name, n);
            call.id.iter_mut().for_each(|id| number(id, n));
            number_value(&mut call.arguments, n);
        }
        step
    }
}

fn number(text: &mut String, n: usize) {
    if text.contains("{{n}}") {
        *text = text.replace("{{n}}", &n.to_string());
    }
}

fn number_value(value: &mut Value, n: usize) {
    match value {
        Value::String(text) => number(text, n),
        Value::Array(items) => items.iter_mut().for_each(|item| number_value(item, n)),
        Value::Object(fields) => fields.values_mut().for_each(|field| number_value(field, n)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Call {
    pub(super) fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            json => json.to_string(),
        }
    }
}

impl Failure {
    pub(super) fn to_model_error(&self) -> ModelError {
        let detail = self.message.clone();
        let retry_after = self
            .retry_after
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let Some(kind) = self.kind else {
            return failure_of(self.status, retry_after, &detail);
        };
        match kind {
            FailureName::ContextWindowExceeded => ModelError::ContextWindowExceeded { detail },
            FailureName::MalformedHistory => ModelError::MalformedHistory { detail },
            FailureName::Authentication => ModelError::Authentication { detail },
            FailureName::Permission => ModelError::Permission { detail },
            FailureName::Quota => ModelError::Quota { detail },
            FailureName::RateLimit => ModelError::RateLimit { retry_after, detail },
            FailureName::Overloaded => ModelError::Overloaded { retry_after, detail },
            FailureName::Timeout => ModelError::Timeout { detail },
            FailureName::ContentPolicy => ModelError::ContentPolicy { detail },
            FailureName::BadRequest => ModelError::BadRequest { detail },
            FailureName::Unavailable => ModelError::Unavailable { detail },
            FailureName::Network => ModelError::Network { detail },
            FailureName::Protocol => ModelError::Protocol { detail },
        }
    }
}
