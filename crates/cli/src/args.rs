//! What can be typed after `deft`.

mod conversation;
mod executor;
mod images;
mod secrets;
mod skills;
mod trust;
mod users;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use deft_workspace::WorkspaceName;

pub(crate) use self::conversation::{Checkpoints, Delete, Replay, Restore, Rewind, Show};
pub(crate) use self::executor::{Executor, ExecutorPlace, ExecutorRelay, ExecutorServe};
pub(crate) use self::images::Images;
pub(crate) use self::secrets::{RotateKey, Secrets};
pub(crate) use self::skills::Skills;
pub(crate) use self::trust::{Trust, TrustNamed};
pub(crate) use self::users::{AuditLog, Keys, NewKey, NewUser, QuotaFlags, Users};
use crate::settings::Flags;

/// An agent that plans with a model, works with tools in your project, and remembers every step.
#[derive(Parser)]
#[command(name = "deft", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Give the agent a task and watch it work
    Run(Run),
    /// See it work without a key: a built-in model repairs a small project
    Demo(Plain),
    /// The conversations on this machine, newest first
    List(Listing),
    /// Every event of a conversation
    Show(Show),
    /// The moments to which a conversation's workspace can go back
    Checkpoints(Checkpoints),
    /// Make a conversation's workspace what it was at a checkpoint
    Restore(Restore),
    /// Go back to an earlier event: the conversation, its files, or both
    Rewind(Rewind),
    /// Delete conversations, with what was made for their workspaces: containers, pods, volumes
    Delete(Delete),
    /// Show a conversation again as it went, or try it once more from one of its steps
    Replay(Replay),
    /// Serve conversations to apps and other programs
    Serve(Serve),
    /// The users of the server; without any it is yours alone
    #[command(subcommand)]
    Users(Users),
    /// The keys of users
    #[command(subcommand)]
    Keys(Keys),
    /// The key that keeps the server's secrets unreadable on the disk
    #[command(subcommand)]
    Secrets(Secrets),
    /// Who did what on the server, and who was refused
    Audit(AuditLog),
    /// Take in conversations that other programs have kept in folders
    Import(Import),
    /// Copy all conversations and settings to a file, also while a server runs
    Backup(Backup),
    /// Put a backup in the place of all conversations and settings
    RestoreBackup(RestoreBackup),
    /// The models you can use: what is set up, and what runs on this machine
    Models(Models),
    /// The MCP servers that are set up, and whether they work
    #[command(subcommand)]
    Mcp(Mcp),
    /// The skills that there are for this directory
    #[command(subcommand)]
    Skills(Skills),
    /// What this project brings along that would run by itself, and whether it may
    #[command(subcommand)]
    Trust(Trust),
    /// The images that were built for workspaces in containers
    #[command(subcommand)]
    Images(Images),
    /// The settings in force, and where each comes from
    Config(Listing),
    /// What this machine offers, and what to do about what it lacks
    Doctor(Doctor),
    /// The process that runs tools beside the files (started by Deft itself)
    #[command(subcommand, hide = true)]
    Executor(Executor),
}

#[allow(clippy::struct_excessive_bools)] // each is a flag of its own
#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) task: Task,
    /// The directory to work in, in a sandbox, or local:DIR without one [default: this one]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) workspace: Option<WorkspaceName>,
    /// Only look around and write a plan; nothing else can be changed
    #[arg(long)]
    pub(crate) plan: bool,
    /// Carry out the plan of a conversation that was begun with --plan
    #[arg(long, conflicts_with = "plan")]
    pub(crate) approve: bool,
    /// Have the result judged, and go on until nothing of the task is missing
    #[arg(long, conflicts_with = "plan")]
    pub(crate) goal: bool,
    /// How often it is sent back to its goal
    #[arg(long, value_name = "NUMBER", requires = "goal", default_value_t = deft_engine::GOAL_ROUNDS,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Print one JSON event a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) resume: Resume,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct Task {
    /// The task
    #[arg(short = 't', long = "task", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// A file that holds the task
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// `-`: read the task from standard input
    #[arg(value_name = "-", value_parser = ["-"])]
    pub(crate) stdin: Option<String>,
}

#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct Resume {
    /// Go on with this conversation (the beginning of its id is enough)
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Go on with the newest conversation
    #[arg(long)]
    pub(crate) last: bool,
}

#[derive(Args)]
pub(crate) struct Serve {
    /// The address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// The port to listen at; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 3000)]
    pub(crate) port: u16,
    /// Allow an address that other machines can reach
    #[arg(long, env = "DEFT_EXPOSE", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) expose: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Import {
    /// The folder of a conversation of OpenHands, or a folder of such folders
    pub(crate) path: PathBuf,
    /// The workspace that they go on in [default: this directory]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) workspace: Option<WorkspaceName>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Backup {
    /// The file to write, which must not exist
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct RestoreBackup {
    /// The file that `deft backup` has written
    pub(crate) file: PathBuf,
    /// The key of the secrets in it: the file vault-key of the data directory that it was made of
    #[arg(long, value_name = "FILE")]
    pub(crate) vault_key: Option<PathBuf>,
    /// Replace what is in the data directory now; it is kept beside it
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Listing {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Doctor {
    /// Also ask for this workspace: ssh:…, docker:…, k8s:…, remote:… [default: the one that is set]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) workspace: Option<WorkspaceName>,
    #[command(flatten)]
    pub(crate) listing: Listing,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) action: Option<ModelsAction>,
    #[command(flatten)]
    pub(crate) listing: Listing,
}

#[derive(Subcommand)]
pub(crate) enum ModelsAction {
    /// Send a model two small requests, and say which layer fails
    Test(ModelTest),
}

#[derive(Args)]
pub(crate) struct ModelTest {
    /// The model, as provider/name [default: the one that is set]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Subcommand)]
pub(crate) enum Mcp {
    /// The servers that are set up; none is started
    List(Listing),
    /// Start servers and show their tools, or why they fail
    Test(McpServersNamed),
    /// Start servers and agree to what they are now
    Approve(McpServersNamed),
    /// Log in to a server that wants it, in a browser
    Login(McpLogin),
}

#[derive(Args)]
pub(crate) struct McpServersNamed {
    /// Only these servers [default: all]
    #[arg(value_name = "SERVER")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) listing: Listing,
}

#[derive(Args)]
pub(crate) struct McpLogin {
    /// The server
    #[arg(value_name = "SERVER")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) flags: Flags,
}
