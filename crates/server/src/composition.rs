//! What the server leaves to the program around it: which models there are, and where tools run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deft_engine::{Memory, Models, SubAgentKind, SubAgents};
use deft_llm::{
    ChatGptServers, Delta, Finding, Found, Model, ModelError, ModelProfile, Reach, Request, Subscription,
};
use deft_mcp::{Login, TokenStore};
use deft_skills::{AgentDefinition, Skill};
use deft_store::{ConversationRecord, Store};
use deft_types::{ConversationId, MCPToolObservation, McpServerStatus, ToolSpec};
use deft_workspace::{Workspace, WorkspaceName};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::mcp_outfit::McpOutfit;
use crate::packages::Packages;
use crate::worktree::Worktree;

/// Makes the parts of a conversation that depend on the program's own settings.
pub trait Composition: Send + Sync {
    /// Opens a model that a client names. The sentence of a failure goes to the client.
    fn model(&self, wanted: &ClientModel) -> Result<Arc<dyn Model>, String>;

    /// Where people log in to `ChatGPT`, and where the models are that their subscriptions pay for.
    fn chatgpt(&self) -> ChatGptServers {
        ChatGptServers::default()
    }

    /// How the memory of an agent is kept short whose client does not say.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// The model that is set to give conversations their titles.
    fn title_model(&self) -> Option<Arc<dyn Model>> {
        None
    }

    /// The workspace that a client names, which is none of this machine's directories, as it is kept and given to
    /// `place`. The sentence of a failure goes to the client.
    fn resolve(&self, name: WorkspaceName) -> Result<String, String> {
        Err(format!("This server cannot work in {name}"))
    }

    /// The id of a workspace of this name that was made ready for a conversation to come, which then has it alone.
    fn ready(&self, _workspace: &str) -> Option<ConversationId> {
        None
    }

    /// Makes a copy of the repository that a directory is in, for a conversation that works on a branch of its own;
    /// beneath a directory, where one is named. None: it is in no repository. The sentence of a failure goes to the client.
    fn own_copy<'a>(
        &'a self,
        _id: ConversationId,
        _root: &'a Path,
        _wanted: &'a Worktree,
        _beneath: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<Option<PathBuf>, String>> {
        let sentence = "This server cannot make a worktree".to_owned();
        std::future::ready(Err(sentence)).boxed()
    }

    /// Where the tools of a conversation run, and which there are. The sentence of a failure goes to the client.
    fn place(&self, id: ConversationId, root: &Path) -> Result<Place, String>;

    /// Removes what was kept for the executor of a conversation that is deleted.
    fn forget(&self, id: ConversationId) -> Result<(), String>;

    /// Removes what was made for the workspace of a conversation that is deleted: a container, a pod, a sandbox. What
    /// was there before it stays.
    fn remove<'a>(&'a self, _id: ConversationId, _root: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Lets the workspace of a conversation sleep that nobody uses. It wakes when it is opened.
    fn pause<'a>(&'a self, _id: ConversationId, _root: &'a Path) -> BoxFuture<'a, Result<(), String>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Removes what was made for workspaces of conversations that are not in the store any more; gives their ids.
    fn collect_orphans<'a>(&'a self, _store: &'a dyn Store) -> BoxFuture<'a, Result<Vec<String>, String>> {
        std::future::ready(Ok(Vec::new())).boxed()
    }

    /// Like `place`, for an agent that may only plan: nothing but the plan can be changed there.
    fn place_to_plan(&self, _id: ConversationId, _root: &Path) -> Result<Place, String> {
        Err("This server cannot keep an agent from changing things".to_owned())
    }

    /// Models with names of the user's own, for agents that may use others than theirs.
    fn models(&self) -> Option<Arc<dyn Models>> {
        None
    }

    /// Who takes tasks off an agent whose model is one that a client names. They have its MCP servers, and no others.
    fn agents(
        &self,
        _store: &Arc<dyn Store>,
        _parent: &ConversationRecord,
        _model: &ClientModel,
        _tools: &[ToolSpec],
        _servers: &McpOutfit,
    ) -> Option<Arc<dyn SubAgents>> {
        None
    }

    /// The tools that workspaces have, from which clients choose.
    fn tools(&self) -> Vec<ToolSpec>;

    /// The skills that the user keeps for all projects.
    fn skills(&self) -> Vec<Skill> {
        Vec::new()
    }

    /// The agents that this program brings along.
    fn built_in_agents(&self) -> Vec<SubAgentKind> {
        Vec::new()
    }

    /// The agents that the user keeps for all projects.
    fn users_agents(&self) -> Vec<AgentDefinition> {
        Vec::new()
    }

    /// The packages of skills and plugins that the user has installed. None: this program keeps none.
    fn packages(&self) -> Option<Arc<dyn Packages>> {
        None
    }

    /// Starts an MCP server in `root`, or reaches it elsewhere, calls a tool of it if one is named, and ends it again.
    /// None: it took longer than the limit. The sentence of a failure goes to the client.
    fn try_mcp<'a>(
        &'a self,
        _root: &'a Path,
        _trial: McpTrial<'a>,
    ) -> BoxFuture<'a, Result<Option<McpTried>, String>> {
        let sentence = "This server cannot try MCP servers".to_owned();
        std::future::ready(Err(sentence)).boxed()
    }

    /// Begins a login to an MCP server elsewhere, from which the person is sent back to `redirect`. `servers` is a map
    /// with this one. The sentence of a failure goes to the client.
    fn login_mcp<'a>(
        &'a self,
        _servers: &'a Value,
        _redirect: &'a str,
        _tokens: Arc<dyn TokenStore>,
    ) -> BoxFuture<'a, Result<Login, String>> {
        let sentence = "This server cannot log in to MCP servers".to_owned();
        std::future::ready(Err(sentence)).boxed()
    }

    /// The MCP servers that a client names for a conversation and where it works; `variable` gives what stands for the
    /// `${NAME}` in them. The sentence of a failure goes to the client.
    fn mcp(
        &self,
        _place: (ConversationId, &Path),
        _servers: &Value,
        _variable: &dyn Fn(&str) -> Option<String>,
        _tokens: Arc<dyn TokenStore>,
    ) -> Result<McpOutfit, String> {
        Err("This server cannot use MCP servers".to_owned())
    }

    /// Certificates that are trusted beside the usual ones.
    fn ca_file(&self) -> Option<PathBuf> {
        None
    }

    /// What somebody is offered who begins a conversation in the web app.
    fn offer(&self) -> Offer;

    /// Tries a model out, layer by layer. The sentence of a failure goes to the client.
    fn check<'a>(&'a self, wanted: &'a ClientModel) -> BoxFuture<'a, Result<Vec<Finding>, String>>;

    /// The model servers that run on this machine.
    fn local_models(&self) -> BoxFuture<'_, Vec<Found>>;

    /// Makes a small project that the built-in demo model can mend. The sentence of a failure goes to the client.
    fn demo(&self) -> Result<Demo, String>;
}

/// A model as a client names it.
#[derive(Clone)]
pub struct ClientModel {
    /// The `llm` object.
    pub llm: Value,
    /// What pays for it, where `auth_type` says so.
    pub subscription: Arc<dyn Subscription>,
    /// Where its address may be, if the client names one.
    pub reach: Reach,
}

/// What a new conversation begins with, where nobody chooses otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Offer {
    /// The model that is set. None: there is only the demo.
    pub model: Option<String>,
    /// Models with names of the user's own.
    pub models: Vec<String>,
    /// The folder to work in, or the name of a workspace.
    pub folder: String,
}

/// A project to try an agent on.
#[derive(Clone, Debug, Serialize)]
pub struct Demo {
    /// Where it is.
    pub folder: String,
    /// What to ask for.
    pub task: String,
}

/// An MCP server that is to be tried.
pub struct McpTrial<'a> {
    /// A map with this one.
    pub servers: &'a Value,
    /// How long it may take, the call included.
    pub limit: Duration,
    /// Where tokens are.
    pub tokens: Arc<dyn TokenStore>,
    /// What to call.
    pub call: Option<McpCall>,
}

/// A call of a tool that a server is tried with.
#[derive(Clone, Debug, Deserialize)]
pub struct McpCall {
    /// The tool's name at the server.
    pub name: String,
    /// What it is given.
    #[serde(default)]
    pub arguments: BTreeMap<String, Value>,
}

/// What came of a trial.
pub struct McpTried {
    /// How the server is doing.
    pub status: McpServerStatus,
    /// What the tool answered, if it was called.
    pub answer: Option<MCPToolObservation>,
}

/// Where tools run.
pub struct Place {
    /// How the executor is reached.
    pub workspace: Arc<dyn Workspace>,
    /// What it can do.
    pub tools: Vec<ToolSpec>,
}

/// Stands in for a model that cannot be opened: each call fails with the reason. So the conversation can be
/// talked to, and says what is wrong when it is run, as it does when a server refuses a key.
pub(crate) struct Unopened {
    profile: ModelProfile,
    reason: String,
}

impl Unopened {
    pub(crate) fn new(name: &str, reason: String) -> Self {
        Self {
            profile: ModelProfile::unknown(name),
            reason,
        }
    }
}

impl Model for Unopened {
    fn profile(&self) -> &ModelProfile {
        &self.profile
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let detail = self.reason.clone();
        stream::iter([Err(ModelError::BadRequest { detail })]).boxed()
    }
}
