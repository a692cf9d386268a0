//! The tool that lets another model answer.

use std::sync::Arc;

use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{Action, Content, Observation, SwitchLLMObservation, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::{Models, wrong};

/// Goes on with another model.
pub(super) struct SwitchModel {
    pub(super) models: Arc<dyn Models>,
}

impl Tool for SwitchModel {
    fn spec(&self) -> ToolSpec {
        let description = format!(
            "Goes on with another model from the next reply on. Known by name: {}.",
            self.models.names().join(", ")
        );
        let properties = json!({
            "profile_name": {"type": "string", "description": "The model's name."},
            "reason": {"type": "string", "description": "Why, in a sentence."},
        });
        let required = ["profile_name", "reason"];
        let mut spec = spec(
            "switch_llm",
            "SwitchLLM",
            Reach::Files,
            &description,
            &properties,
            &required,
        );
        if let Some(hints) = &mut spec.definition.annotations {
            hints.destructive_hint = false;
        }
        spec
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Only("model".to_owned())
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::SwitchLLM(action) = call.action else {
                return Err(wrong("switch_llm", &call.action));
            };
            let opened = self.models.open(&action.profile_name);
            let text = match &opened {
                Ok(model) => format!("From the next reply on, {} answers.", model.profile().name),
                Err(error) => format!("Nothing was changed: {error}."),
            };
            Ok(SwitchLLMObservation {
                content: vec![Content::text(text)],
                is_error: opened.is_err(),
                active_model: opened.ok().map(|model| model.profile().name.clone()),
                reason: Some(action.reason.clone()),
                profile_name: action.profile_name.clone(),
                ..SwitchLLMObservation::default()
            }
            .into())
        }
        .boxed()
    }
}
