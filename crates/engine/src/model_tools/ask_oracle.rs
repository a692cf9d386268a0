//! The tool that asks a stronger model for advice.

use std::sync::Arc;

use deft_tools::{Call, Reach, Tool, ToolError, Touches, spec};
use deft_types::{Action, AskOracleObservation, Content, Message, Observation, Role, ToolSpec};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::{Models, Spending, ask, wrong};
use crate::budget::Purse;

/// The name of the model that is asked for advice.
pub(super) const ORACLE: &str = "oracle";
const ORACLE_PROMPT: &str = "You are asked for advice by a software agent that is stuck or unsure. Think it through, say what you \
                             would do and why, and name what you are not sure of.";

/// Asks the model that the user named `oracle`.
pub(super) struct AskOracle {
    pub(super) models: Arc<dyn Models>,
    pub(super) spending: Spending,
    pub(super) purse: Purse,
}

impl Tool for AskOracle {
    fn spec(&self) -> ToolSpec {
        let properties = json!({
            "question": {"type": "string", "description": "What you want to know. It sees nothing else."},
            "context": {"type": "string", "description": "What it must know to answer: code, errors, what was tried."},
        });
        let description = "Asks a stronger model for advice, once. Use it when you are stuck or a decision is hard to undo.";
        spec(
            "ask_oracle",
            "AskOracle",
            Reach::Nothing,
            description,
            &properties,
            &["question"],
        )
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Nothing
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            let Action::AskOracle(action) = &call.action else {
                return Err(wrong("ask_oracle", &call.action));
            };
            let mut question = action.question.clone();
            if let Some(context) = &action.context {
                question = format!("{question}\n\n{context}");
            }
            let messages = vec![
                Message::text(Role::System, ORACLE_PROMPT),
                Message::text(Role::User, question),
            ];
            let answer = match self.models.open(ORACLE) {
                Ok(model) => ask(&model, messages, &call, (&self.purse, &self.spending))
                    .await
                    .map(|reply| {
                        let text = reply.text.clone();
                        self.spending.add(ORACLE.to_owned(), model, reply);
                        text
                    }),
                Err(error) => Err(error.to_string()),
            };
            let is_error = answer.is_err();
            let text = answer.unwrap_or_else(|error| format!("The oracle gave no answer: {error}"));
            Ok(AskOracleObservation {
                content: vec![Content::text(text)],
                is_error,
                ..AskOracleObservation::default()
            }
            .into())
        }
        .boxed()
    }
}
