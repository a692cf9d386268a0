//! Skills as clients of the server send them.

use serde::Deserialize;
use serde_json::Value;

use crate::registry::Declared;
use crate::skill::{Input, Kind, Origin, Skill};

/// The fields of the contract that we use.
#[derive(Deserialize)]
struct Sent {
    name: String,
    content: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    trigger: Option<Trigger>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    inputs: Vec<Input>,
    #[serde(default)]
    is_agentskills_format: bool,
    #[serde(default)]
    disable_model_invocation: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Trigger {
    Keyword { keywords: Vec<String> },
    Task { triggers: Vec<String> },
    Path { paths: Vec<String> },
}

/// Reads one. What cannot be read is none.
pub fn sent(value: &Value) -> Option<Skill> {
    let sent = Sent::deserialize(value).ok()?;
    let (kind, triggers, paths) = match sent.trigger {
        Some(Trigger::Path { paths }) => (Kind::PathRule, Vec::new(), paths),
        Some(Trigger::Keyword { keywords }) => (Kind::Knowledge, keywords, Vec::new()),
        Some(Trigger::Task { triggers }) => (Kind::Task, triggers, Vec::new()),
        None => (Kind::Repo, Vec::new(), Vec::new()),
    };
    let kind = match kind {
        Kind::PathRule => kind,
        _ if sent.is_agentskills_format => Kind::Agent,
        _ => kind,
    };
    Some(Skill {
        declared: Declared::new(Vec::new(), None, None, &sent.inputs).ok()?,
        name: sent.name,
        description: sent.description,
        kind,
        origin: Origin::Client,
        path: sent.source.unwrap_or_default(),
        body: sent.content,
        triggers,
        inputs: sent.inputs,
        paths,
        resources: Vec::new(),
        urls: Vec::new(),
        allowed_tools: Vec::new(),
        disable_model_invocation: sent.disable_model_invocation,
        license: None,
        compatibility: None,
        metadata: std::collections::BTreeMap::new(),
    })
}
