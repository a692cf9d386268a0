//! Tells model calls whole, where a client wants to see them.

use std::time::UNIX_EPOCH;

use deft_llm::LoggedCall;
use deft_tools::Mask;
use deft_types::{Extra, LLMCompletionLogEvent, Source};
use serde_json::json;

use super::Actor;
use crate::turn::Draft;

impl Actor {
    /// The calls that have ended since something was last recorded. What came of them stands behind them.
    pub(super) fn logged_calls(&self, mask: &Mask) -> Vec<Draft> {
        let calls = self.logged.take();
        calls
            .into_iter()
            .map(|call| self.logged_call(call, mask))
            .collect()
    }

    fn logged_call(&self, mut call: LoggedCall, mask: &Mask) -> Draft {
        let now = self.world.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs_f64();
        call.data["timestamp"] = json!(now);
        // Here, where it is no text yet: a secret that JSON writes otherwise would not be found in it.
        mask.hide_in_data(&mut call.data);
        let (model, id) = (
            call.model.replace('/', "__"),
            self.world.new_id().simple().to_string(),
        );
        let end = if call.failed { "-error" } else { "" };
        let event = LLMCompletionLogEvent {
            filename: format!("{model}-{now:.3}-{}{end}.json", &id[..4]),
            log_data: call.data.to_string(),
            model_name: call.model,
            usage_id: call.usage_id,
            extra: Extra::new(),
        };
        Draft::new(Source::Environment, event)
    }
}
