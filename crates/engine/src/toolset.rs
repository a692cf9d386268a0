//! The tools of a conversation, as a model is offered them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use deft_llm::ToolSchema;
use deft_types::{Tokens, ToolDefinition, ToolSpec};
use serde_json::{Map, Value, json};

use crate::structured::{self, SchemaError};

/// The tools of the executor, those of servers that it started, those that run beside the engine, and those of servers
/// elsewhere.
#[derive(Clone, Default)]
pub(crate) struct Toolset {
    specs: Vec<ToolSpec>,
    /// How many of them are the executor's.
    remote: usize,
    /// How many behind them come from servers that it started.
    served: usize,
    /// How many at the end come from servers elsewhere.
    elsewhere: usize,
    /// The names of those that servers offered before, and do not now.
    withdrawn: BTreeSet<String>,
    schemas: Arc<[ToolSchema]>,
    /// How many tokens those have, by our estimate: it is asked for before every call.
    tokens: Tokens,
    /// What some of them answer with, beside their own arguments.
    responses: BTreeMap<String, Value>,
}

impl Toolset {
    /// Asks for an answer of this form with each call of a tool.
    pub(crate) fn ask_for(&mut self, tool: String, response: Value) -> Result<(), SchemaError> {
        let Some(spec) = self.specs.iter_mut().find(|spec| spec.name() == tool) else {
            return Err(SchemaError::NoTool(tool));
        };
        spec.parameters = structured::merged(&tool, &spec.parameters, &response)?;
        self.describe();
        self.responses.insert(tool, response);
        Ok(())
    }

    /// The form of the answer that a tool is asked for.
    pub(crate) fn response_of(&self, tool: &str) -> Option<&Value> {
        self.responses.get(tool)
    }

    pub(crate) fn new(executor: Vec<ToolSpec>, host: Vec<ToolSpec>) -> Self {
        let remote = executor.len();
        let specs: Vec<_> = executor.into_iter().chain(host).collect();
        let mut all = Self {
            specs,
            remote,
            ..Self::default()
        };
        all.describe();
        all
    }

    fn describe(&mut self) {
        self.schemas = self.specs.iter().map(schema_for_model).collect();
        self.tokens = deft_llm::tool_tokens(&self.schemas);
    }

    /// Offers what servers in the workspace offer, and no longer what they offered before.
    pub(crate) fn serve(&mut self, served: Vec<ToolSpec>) {
        let before = self.remote..self.remote + self.served;
        self.served = served.len();
        self.exchange(before, served);
    }

    /// Offers what servers elsewhere offer, and no longer what they offered before.
    pub(crate) fn serve_elsewhere(&mut self, offered: Vec<ToolSpec>) {
        let before = self.specs.len() - self.elsewhere..self.specs.len();
        self.elsewhere = offered.len();
        self.exchange(before, offered);
    }

    fn exchange(&mut self, before: Range<usize>, offered: Vec<ToolSpec>) {
        let gone = self.specs.splice(before, offered);
        let gone = gone.map(|spec| spec.name().to_owned());
        self.withdrawn.extend(gone);
        self.withdrawn
            .retain(|name| !self.specs.iter().any(|spec| spec.name() == name));
        self.describe();
    }

    /// Whether a server has taken back what it offered under this name.
    pub(crate) fn is_withdrawn(&self, name: &str) -> bool {
        self.withdrawn.contains(name)
    }

    /// The tools that the executor must have.
    pub(crate) fn of_executor(&self) -> &[ToolSpec] {
        &self.specs[..self.remote]
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name() == name)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.specs.iter().map(ToolSpec::name).collect()
    }

    pub(crate) fn schemas(&self) -> Arc<[ToolSchema]> {
        self.schemas.clone()
    }

    pub(crate) fn tokens(&self) -> Tokens {
        self.tokens
    }

    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        self.specs.iter().map(|spec| spec.definition.clone()).collect()
    }
}

/// The tool's own arguments behind two that every call has. They come first so that a reply that is cut
/// short does not lose them.
fn schema_for_model(spec: &ToolSpec) -> ToolSchema {
    let mut properties = Map::new();
    if !spec.is_read_only() {
        properties.insert(
            "security_risk".into(),
            json!({
                "type": "string",
                "enum": ["UNKNOWN", "LOW", "MEDIUM", "HIGH"],
                "description": "How much harm this call could do: LOW reads or changes nothing that matters, MEDIUM \
                                changes the workspace, HIGH reaches beyond it or cannot be undone."
            }),
        );
    }
    let own = spec.parameters.get("properties").and_then(Value::as_object);
    if !own.is_some_and(|own| own.contains_key("summary")) {
        properties.insert(
            "summary".into(),
            json!({"type": "string", "description": "What this call does, in at most ten words."}),
        );
    }
    properties.extend(own.cloned().unwrap_or_default());
    let mut parameters = json!({"type": "object", "properties": properties});
    for key in ["required", "$defs", "definitions"] {
        if let Some(value) = spec.parameters.get(key) {
            parameters[key] = value.clone();
        }
    }
    ToolSchema {
        name: spec.name().to_owned(),
        description: spec.definition.description.clone(),
        parameters,
    }
}
