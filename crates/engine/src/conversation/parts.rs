//! What a conversation is made of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use deft_llm::Model;
use deft_store::{Lease, Store, StoreError};
use deft_tools::Toolbox;
use deft_types::{ConfirmationPolicy, Money, SecurityAnalyzer, Tokens, ToolSpec};
use deft_workspace::Workspace;
use serde::Serialize;
use serde_json::Value;

use crate::condense::Condenser;
use crate::extensions::Extensions;
use crate::external::ExternalAgent;
use crate::model_tools::Models;
use crate::secret_lookup::SecretSources;
use crate::servers::{Servers, ServersElsewhere, ToolFilter};
use crate::structured::SchemaError;
use crate::sub_agents::SubAgents;
use crate::supervision::Supervision;
use crate::world::World;

/// What a run may use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// Model calls in one run, those of agents with tasks of their own included.
    pub max_steps: u32,
    /// Calls of one reply that may run at the same time.
    pub parallel_calls: usize,
    /// Whether a run that goes in circles is stopped.
    pub stuck_detection: bool,
    /// Everything the conversation may cost.
    pub max_cost: Option<Money>,
    /// All tokens that it may use, of prompts and replies together.
    pub max_tokens: Option<Tokens>,
    /// How long one run may take.
    pub max_time: Option<Duration>,
    /// Agents with tasks of their own that it, and those below it, may start.
    pub max_agents: Option<u32>,
    /// How many levels of such agents there may be, one below the other.
    pub max_depth: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 500,
            parallel_calls: 8,
            stuck_detection: true,
            max_cost: None,
            max_tokens: None,
            max_time: None,
            max_agents: Some(32),
            max_depth: Some(2),
        }
    }
}

/// Who judges actions, and which of them wait for a person's word, until somebody changes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Safety {
    /// Which actions wait.
    pub policy: ConfirmationPolicy,
    /// Who judges them.
    pub analyzer: Option<SecurityAnalyzer>,
}

/// How what the model sees is kept within what it can read.
#[derive(Clone, Default)]
pub struct Memory {
    /// How.
    pub condenser: Condenser,
    /// What writes summaries; without it, the model that answers.
    pub model: Option<Arc<dyn Model>>,
}

/// What an executor is given before its first call.
#[derive(Clone, Default)]
pub struct Outfit {
    /// What commands may use by name, and what is hidden in all that tools tell.
    pub secrets: SecretSources,
    /// MCP servers to be started beside the files.
    pub servers: Option<Servers>,
    /// MCP servers that are reached from here.
    pub elsewhere: Option<Arc<dyn ServersElsewhere>>,
    /// Which of the servers' tools are offered, by their names; all of them where nobody says.
    pub filter: Option<ToolFilter>,
    /// Whether the workspace is recorded before each turn that may change it.
    pub checkpoints: bool,
}

/// What a conversation is made of.
pub struct Parts {
    /// Where its log is.
    pub store: Arc<dyn Store>,
    /// The right to write to it.
    pub lease: Lease,
    /// What answers.
    pub model: Arc<dyn Model>,
    /// The name by which it can be opened again.
    pub model_name: String,
    /// The others that it may be exchanged for or asked, where there are some.
    pub models: Option<Arc<dyn Models>>,
    /// Where agents with tasks of their own come from, where there may be some.
    pub agents: Option<Arc<dyn SubAgents>>,
    /// Where tools run.
    pub workspace: Arc<dyn Workspace>,
    /// The directory they run in, as the model is told.
    pub directory: String,
    /// The tools of the executor that are on offer.
    pub tools: Vec<ToolSpec>,
    /// The tools that run beside the engine: all of them are on offer.
    pub host: Toolbox,
    /// The form of an answer that calls of a tool have to carry, by the tool's name.
    pub responses: BTreeMap<String, Value>,
    /// Time and ids.
    pub world: Arc<dyn World>,
    /// What a run may use.
    pub limits: Limits,
    /// What must be asked for.
    pub safety: Safety,
    /// How its memory is kept short.
    pub memory: Memory,
    /// What its executor is given.
    pub outfit: Outfit,
    /// What people have added to the agent.
    pub extensions: Extensions,
    /// Who watches over it.
    pub supervision: Supervision,
    /// The program that makes its turns in place of the model and the tools, where there is one.
    pub external: Option<ExternalAgent>,
}

/// Why a conversation cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tool cannot be asked for such an answer.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}
