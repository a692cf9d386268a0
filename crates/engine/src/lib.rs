//! Everything between a user's message and a finished task: the conversation actor and the agent loop.
//!
//! The engine decides, the executor acts, the log remembers. It sees HTTP, SQL and containers only as
//! traits: [`deft_llm::Model`], [`deft_store::Store`], [`deft_workspace::Workspace`].
//!
//! Begin reading at [`Conversation`], the handle; `actor` is what answers it, `state` is what is folded
//! from the log, and `turn` turns a model's reply into events.

mod above;
mod actor;
mod alias;
mod allow_rules;
mod arguments;
mod aside;
mod branch;
mod brief;
mod budget;
mod changes;
mod client_tool;
mod command;
mod condense;
mod context;
mod conversation;
mod critic;
mod delegate_tool;
mod egress;
mod extensions;
mod external;
mod external_aside;
mod fork;
mod goal;
mod hidden;
mod hook_agent;
mod hook_run;
mod hooks;
mod hosts;
mod invoke_skill;
mod judge;
mod label;
mod live;
mod mode;
mod model_tools;
mod named_scripts;
mod observation;
mod plugin_servers;
mod prompt;
mod queue;
mod rerun;
mod rewind;
mod risk;
mod route_task;
mod secret_lookup;
mod servers;
mod skill_content;
mod skills;
mod state;
mod status;
mod structured;
mod stuck;
mod sub_agents;
mod supervision;
mod task_tool;
mod tasks;
mod titling;
mod toolset;
mod trace;
mod trust;
mod turn;
mod view;
mod words;
mod workspace_call;
mod workspace_command;
mod world;

pub use above::Above;
pub use allow_rules::{AllowScope, Allowed, allow_rules, allowed_hosts};
pub use aside::AsideError;
pub use brief::Brief;
pub use budget::{Budget, Purse};
pub use client_tool::{ClientResults, ClientTool, ClientToolSpec};
pub use command::{Answer, Begun, CommandError, ExecutorFate};
pub use condense::{Condenser, Summary, UnknownCondenser};
pub use context::{Context, ContextEntry, ContextKind, Earlier};
pub use conversation::{
    Conversation, Limits, Memory, OpenError, Outfit, Parts, Progress, Safety, load, read_branch,
};
pub use critic::{Critic, Criticised, Refinement};
pub use egress::Requested;
pub use extensions::{Extensions, Gathered, Notes, OfProject};
pub use external::ExternalAgent;
pub use fork::{Fork, fork};
pub use goal::{GOAL, GOAL_ROUNDS, Goal};
pub use hook_agent::HookAgent;
pub use hooks::{BadHooks, Hook, HookConfig, HookEvent, Waits};
pub use hosts::{Attendance, Attendant, HostAnswer};
pub use live::{Live, show_preparation};
pub use mode::{APPROVED, Mode};
pub use model_tools::Models;
pub use queue::{QueueChange, Queued};
pub use rerun::Rerun;
pub use rewind::Rewind;
pub use route_task::{RouteQuestion, TaskRoutes};
pub use secret_lookup::{SecretLookup, SecretSources};
pub use servers::{Reached, Servers, ServersElsewhere, ToolFilter};
pub use skill_content::SkillFiles;
pub use skills::SkillSources;
pub use state::State;
pub use state::key::{ANSWERED_REQUEST, HOST_QUESTIONS, OWN_KEYS, SERVERS as MCP_SERVERS};
pub use structured::SchemaError;
pub use stuck::BEFORE_CIRCLE;
pub use sub_agents::{BegunTask, Order, OwnBranch, SubAgent, SubAgentKind, SubAgents, usage_of_task};
pub use supervision::Supervision;
pub use tasks::{AGENT_OF_TASK, Delegate};
pub use trust::{Decision, Decisions, HOOKS_FILE, Provided, ProvidedKind, decide, provided};
pub use workspace_command::{Ran, run as run_command};
pub use world::{Point, RealWorld, World};
