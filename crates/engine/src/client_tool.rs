//! Tools that the client runs: the engine only tells it that they were called.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deft_tools::{Call, Tool, ToolError, Touches};
use deft_types::{
    Action, ActionId, ClientToolObservation, Content, Extra, Observation, ToolAnnotations, ToolDefinition,
    ToolSpec,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// What the client says about a tool of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientToolSpec {
    /// The name the model calls it by.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// JSON Schema of its arguments; without it, it has none.
    #[serde(default = "no_parameters")]
    pub parameters: Value,
    /// What it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Seconds to wait for a result from the client; without it the call is answered as passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_timeout: Option<u64>,
}

fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}

/// Results that clients hand back. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ClientResults {
    waiting: Arc<Mutex<HashMap<ActionId, oneshot::Sender<ClientToolObservation>>>>,
}

impl ClientResults {
    /// Gives a call that waits its result; whether there was one.
    pub fn give(&self, call: &ActionId, result: ClientToolObservation) -> bool {
        let waiting = self.lock().remove(call);
        waiting.is_some_and(|waiting| waiting.send(result).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ActionId, oneshot::Sender<ClientToolObservation>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner) // each change of it is whole
    }
}

/// A tool of the client's.
#[derive(Debug)]
pub struct ClientTool {
    spec: ClientToolSpec,
    results: ClientResults,
}

impl ClientTool {
    /// The tool; results come through `results`.
    pub fn new(spec: ClientToolSpec, results: ClientResults) -> Self {
        Self { spec, results }
    }

    async fn wait(&self, call: Call, limit: Duration) -> Result<Observation, ToolError> {
        let (sender, result) = oneshot::channel();
        self.results.lock().insert(call.id.clone(), sender);
        let result = tokio::select! {
            result = tokio::time::timeout(limit, result) => result,
            () = call.cancel.cancelled() => {
                self.results.lock().remove(&call.id);
                let text = "The call was stopped while the client had it: it may have been carried out, or not.";
                return Ok(answer(text.to_owned(), true));
            }
        };
        self.results.lock().remove(&call.id);
        Ok(if let Ok(Ok(result)) = result {
            result.into()
        } else {
            let text = format!("The client gave no result within {} seconds.", limit.as_secs());
            answer(text, true)
        })
    }
}

impl Tool for ClientTool {
    fn spec(&self) -> ToolSpec {
        let spec = &self.spec;
        ToolSpec {
            definition: ToolDefinition {
                description: spec.description.clone(),
                action_type: format!("ClientAction_{}", spec.name),
                observation_type: Some("ClientToolObservation".to_owned()),
                annotations: spec.annotations.clone(),
                kind: "ClientTool".to_owned(),
                title: spec.name.clone(),
                extra: Extra::from_iter([
                    ("client_tool_name".to_owned(), json!(spec.name)),
                    ("input_schema".to_owned(), spec.parameters.clone()),
                ]),
            },
            parameters: spec.parameters.clone(),
        }
    }

    fn touches(&self, _: &Action) -> Touches {
        Touches::Only(format!("client:{}", self.spec.name))
    }

    fn run(&self, call: Call) -> BoxFuture<'_, Result<Observation, ToolError>> {
        async move {
            match self.spec.result_timeout {
                Some(seconds) => self.wait(call, Duration::from_secs(seconds)).await,
                None => Ok(answer("Tool call dispatched to client.".to_owned(), false)),
            }
        }
        .boxed()
    }

    /// The client is told by the action, not by us: to tell it again, or to wait again, does no harm.
    fn may_repeat(&self) -> bool {
        true
    }
}

fn answer(text: String, is_error: bool) -> Observation {
    ClientToolObservation {
        content: vec![Content::text(text)],
        is_error,
        ..ClientToolObservation::default()
    }
    .into()
}
