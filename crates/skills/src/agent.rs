//! Agents that people define in files: what they are for, what they may do, and how they are to go about it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::files::{Files, directory_of, name_of};
use crate::front_matter::{self, Listed};
use crate::problem::{Fault, Problem};
use crate::registry::{Declared, Offer};
use crate::skill::Origin;

/// Folders of a project that hold agents.
pub const AGENT_FOLDERS: &[&str] = &[".agents/agents", ".openhands/agents"];
/// Agents that are kept.
const MAX_AGENTS: usize = 100;

/// An agent that can be given tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentDefinition {
    /// What it is called by.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The tools that it has; all of its parent's where none is named.
    pub tools: Vec<String>,
    /// The model that it runs on, by a name of the user's; its parent's where none is named.
    pub model: Option<String>,
    /// Which of its actions wait for a person's word.
    pub permission: Option<Permission>,
    /// Model calls that it may make.
    pub max_steps: Option<u64>,
    /// Dollars that it may spend.
    pub max_cost: Option<f64>,
    /// Whether it works on a branch of its own.
    pub worktree: bool,
    /// The skills that stand in its prompt whole, by name.
    pub skills: Vec<String>,
    /// MCP servers that it names, which clients are told. It has those of its parent and no others. Secrets can stand
    /// there.
    #[serde(skip)]
    pub servers: Map<String, Value>,
    /// How its memory is kept short: a name, `false`, or a description as clients send it; its parent's way where
    /// nothing is said.
    pub condenser: Option<Value>,
    /// What it can do, wants and gives.
    pub declared: Declared,
    /// Whose it is.
    pub origin: Origin,
    /// Its file.
    pub path: String,
    /// How it is to go about its tasks.
    #[serde(skip)]
    pub instructions: String,
}

/// Which actions of an agent wait for a person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// All of them.
    AlwaysConfirm,
    /// Those that are dangerous.
    ConfirmRisky,
    /// None.
    NeverConfirm,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Written {
    name: Option<String>,
    description: Option<String>,
    tools: Listed,
    model: Option<String>,
    permission_mode: Option<Permission>,
    max_iteration_per_run: Option<u64>,
    max_budget_per_run: Option<f64>,
    worktree: bool,
    skills: Listed,
    mcp_config: Value,
    mcp_servers: Value,
    condenser: Value,
    capabilities: Listed,
    input_schema: Option<Value>,
    output_schema: Option<Value>,
}

impl AgentDefinition {
    /// Reads a file; otherwise what is wrong with it.
    pub fn read(files: &impl Files, path: &str, origin: Origin) -> Result<Self, Problem> {
        let unreadable = |error: std::io::Error| Fault::Unreadable {
            reason: error.to_string(),
        };
        let text = files.read(path).map_err(unreadable);
        let read = text.and_then(|text| Self::parse(path, &text, origin));
        read.map_err(|fault| Problem {
            path: path.to_owned(),
            fault,
        })
    }

    /// Reads the text of a file.
    pub fn parse(path: &str, text: &str, origin: Origin) -> Result<Self, Fault> {
        let (written, body): (Written, _) = front_matter::parse_as(text)?;
        Self::of(written, path, body, origin)
    }

    pub(crate) fn of(
        written: Written,
        path: &str,
        instructions: &str,
        origin: Origin,
    ) -> Result<Self, Fault> {
        let by_file = name_of(path).trim_end_matches(".md").to_owned();
        let (tools, capabilities) = (written.tools, written.capabilities);
        Ok(Self {
            name: written.name.unwrap_or(by_file),
            description: written.description.unwrap_or_default(),
            tools: tools.split(|char| char == ','),
            model: written.model.filter(|model| model != "inherit"),
            permission: written.permission_mode,
            max_steps: written.max_iteration_per_run.filter(|steps| *steps > 0),
            max_cost: written.max_budget_per_run.filter(|cost| *cost > 0.0),
            worktree: written.worktree,
            skills: written.skills.split(|char| char == ','),
            servers: servers(&written.mcp_servers, &written.mcp_config),
            condenser: Some(written.condenser)
                .filter(|condenser| !condenser.is_null() && condenser != "default"),
            declared: Declared::new(
                capabilities.split(|char| char == ','),
                written.input_schema,
                written.output_schema,
                &[],
            )?,
            origin,
            path: path.to_owned(),
            instructions: instructions.to_owned(),
        })
    }

    /// Its entry in the registry.
    pub fn offer(&self) -> Offer<'_> {
        Offer {
            name: &self.name,
            description: &self.description,
            declared: &self.declared,
            words: &[],
        }
    }
}

/// The servers of the first of these that names some, alone or under `mcpServers`.
fn servers(written: &Value, or: &Value) -> Map<String, Value> {
    let named = [written, or].into_iter().find_map(Value::as_object);
    let named = named.cloned().unwrap_or_default();
    match named.get("mcpServers").and_then(Value::as_object) {
        Some(inner) => inner.clone(),
        None => named,
    }
}

/// Whether a file is one that defines an agent, by its place and name.
pub(crate) fn is_agent_file(path: &str) -> bool {
    let name = name_of(path);
    let stem = name
        .len()
        .checked_sub(3)
        .and_then(|end| name.split_at_checked(end));
    let stem = stem.filter(|(_, ending)| ending.eq_ignore_ascii_case(".md"));
    name_of(directory_of(path)) == "agents"
        && stem.is_some_and(|(stem, _)| !stem.eq_ignore_ascii_case("readme"))
}

/// The agents of a folder, by their names, or what is wrong with their files.
pub fn agents_in(files: &impl Files, folder: &str, origin: Origin) -> Vec<Result<AgentDefinition, Problem>> {
    let mut listed = files.list(folder);
    listed.sort();
    let agents = listed
        .iter()
        .filter(|path| directory_of(path) == folder && is_agent_file(path));
    agents
        .take(MAX_AGENTS)
        .map(|path| AgentDefinition::read(files, path, origin))
        .collect()
}

/// Those of several folders; the first of a name counts.
pub fn without_doubles(agents: impl IntoIterator<Item = AgentDefinition>) -> Vec<AgentDefinition> {
    let mut kept: Vec<AgentDefinition> = Vec::new();
    for agent in agents {
        if !kept.iter().any(|other| other.name == agent.name) {
            kept.push(agent);
        }
    }
    kept
}
