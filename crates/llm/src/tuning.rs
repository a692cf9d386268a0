//! How a model is asked to answer.

use deft_types::Tokens;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Capabilities, ModelError, prompted};

/// How a model is asked to answer. What it does not take is left out of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// How hard it reasons, in its provider's words: `low`, `medium`, `high` …
    pub reasoning_effort: Option<String>,
    /// How much of its reasoning it sums up, in its provider's words: `auto`, `concise`, `detailed`.
    pub reasoning_summary: Option<String>,
    /// How freely it chooses its words.
    pub temperature: Option<f64>,
    /// From which share of likely words it chooses.
    pub top_p: Option<f64>,
    /// From how many likely words it chooses.
    pub top_k: Option<u64>,
    /// Words at which it stops.
    pub stop: Vec<String>,
    /// Makes it choose the same words again, as far as a provider can.
    pub seed: Option<i64>,
    /// How much it may read in one request, instead of what is known of it. A server that sets a model up for each
    /// request, as Ollama does, is asked for this much.
    pub context_window: Option<Tokens>,
    /// How much it may write at most, instead of what is known of it.
    pub max_output: Option<Tokens>,
    /// Fields that are put into the body of each request, over those that are there.
    pub extra_body: Map<String, Value>,
}

impl Tuning {
    /// The body of a request as JSON, with the fields that the user adds.
    pub(crate) fn body(&self, body: &impl Serialize) -> Result<Vec<u8>, ModelError> {
        self.json(body).map_err(|error| ModelError::BadRequest {
            detail: format!("the request could not be written as JSON: {error}"),
        })
    }

    fn json(&self, body: &impl Serialize) -> serde_json::Result<Vec<u8>> {
        if self.extra_body.is_empty() {
            return serde_json::to_vec(body);
        }
        let mut body = serde_json::to_value(body)?;
        if let Value::Object(fields) = &mut body {
            fields.extend(self.extra_body.clone());
        }
        serde_json::to_vec(&body)
    }

    /// What of it a model takes.
    pub(crate) fn for_model(mut self, capabilities: &Capabilities) -> Self {
        if !capabilities.reasoning_effort {
            self.reasoning_effort = None;
            self.reasoning_summary = None;
        }
        if !capabilities.sampling {
            self.temperature = None;
            self.top_p = None;
            self.top_k = None;
        }
        if !capabilities.stop_words {
            self.stop.clear();
        } else if !capabilities.native_tool_calls {
            // What a model writes after a call in words is made up.
            self.stop.push(prompted::CALL_END.to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_does_not_take_is_left_out() {
        let wish = Tuning {
            reasoning_effort: Some("high".to_owned()),
            reasoning_summary: Some("auto".to_owned()),
            temperature: Some(0.5),
            top_p: Some(0.9),
            top_k: Some(40),
            stop: vec!["END".to_owned()],
            seed: Some(7),
            ..Tuning::default()
        };
        let reasons = Capabilities {
            reasoning_effort: true,
            sampling: false,
            stop_words: false,
            ..Capabilities::default()
        };
        let fitted = wish.clone().for_model(&reasons);
        assert_eq!(
            (fitted.temperature, fitted.top_p, fitted.top_k, fitted.seed),
            (None, None, None, Some(7))
        );
        assert!(fitted.stop.is_empty());
        assert_eq!(fitted.reasoning_effort.as_deref(), Some("high"));

        let fitted = wish.clone().for_model(&Capabilities::default());
        assert_eq!(fitted.stop, ["END"]);
        assert_eq!((fitted.temperature, fitted.top_p), (Some(0.5), Some(0.9)));
        assert_eq!((fitted.reasoning_effort, fitted.reasoning_summary), (None, None));

        let calls_in_words = Capabilities {
            native_tool_calls: false,
            ..Capabilities::default()
        };
        assert_eq!(wish.for_model(&calls_in_words).stop, ["END", "</function>"]);
    }
}
