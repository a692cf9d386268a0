//! Skills: instructions that people keep in files, and when a model gets to read them.
//!
//! Every form that people have is read: `SKILL.md` with its folder, microagents with triggers or inputs, `AGENTS.md`
//! and its relatives, at the top or nested. Some stand in every prompt ([`Skills::repo_context`]), some are listed and
//! asked for ([`Skills::catalogue`], [`Skills::invoke`]), some come when a word is said ([`Skills::triggered_by`]) or a
//! file is touched ([`Skills::for_path`]).
//!
//! All of it is data from a repository: nothing here runs anything, or reads a file but through [`Files`]. Knows
//! nothing of models and conversations. Begin reading at [`Skills`].

mod agent;
mod catalogue;
mod discover;
mod dynamic;
mod files;
mod front_matter;
mod glob;
mod inject;
mod memory;
mod plugin;
mod problem;
mod registry;
mod sent;
mod skill;
mod skills;
mod trigger;

pub use agent::{AGENT_FOLDERS, AgentDefinition, Permission, agents_in, without_doubles};
pub use discover::{PROJECT_FOLDERS, Roots, agent_file_names};
pub use dynamic::{DynamicCommand, Invoked};
pub use files::Files;
pub use inject::Injection;
pub use memory::{MEMORY_FILE, MEMORY_FOLDER, memory};
pub use plugin::{
    MANIFESTS, PLUGIN_FOLDERS, PLUGIN_HOOKS, PLUGIN_SERVERS, Plugin, agents_of_plugins, agents_of_project,
    plugin_homes, with_root,
};
pub use problem::{Fault, Problem};
pub use registry::{Declared, Offer, best};
pub use sent::{agent_as_sent, as_sent, sent, sent_agent};
pub use skill::{Input, Kind, Origin, Skill};
pub use skills::{Skills, validate};
