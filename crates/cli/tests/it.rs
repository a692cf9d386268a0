//! What is tested of `deft` from the outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::duplicate_mod)] // the examples share a file

#[path = "it/again.rs"]
mod again;
#[path = "it/backups.rs"]
mod backups;
#[path = "it/checkpoints.rs"]
mod checkpoints;
#[path = "it/commands.rs"]
mod commands;
#[path = "it/crash.rs"]
mod crash;
#[path = "it/deferred.rs"]
mod deferred;
#[path = "it/deleting.rs"]
mod deleting;
#[path = "it/examples.rs"]
mod examples;
#[path = "it/host_questions.rs"]
mod host_questions;
#[path = "it/layers.rs"]
mod layers;
#[path = "it/mcp.rs"]
mod mcp;
#[path = "it/mcp_changes.rs"]
mod mcp_changes;
#[path = "it/models.rs"]
mod models;
#[path = "it/odd_places.rs"]
mod odd_places;
#[path = "it/old_logs.rs"]
mod old_logs;
#[path = "it/packages.rs"]
mod packages;
#[path = "it/plan.rs"]
mod plan;
#[path = "it/plugins.rs"]
mod plugins;
#[path = "it/sandbox.rs"]
mod sandbox;
#[path = "it/sandbox_network.rs"]
mod sandbox_network;
#[path = "it/sandbox_protected.rs"]
mod sandbox_protected;
#[path = "it/secrets.rs"]
mod secrets;
#[path = "it/serve.rs"]
mod serve;
#[path = "it/skills.rs"]
mod skills;
#[path = "it/source_rules.rs"]
mod source_rules;
#[path = "it/start_path.rs"]
mod start_path;
#[path = "it/tasks.rs"]
mod tasks;
#[path = "it/traces.rs"]
mod traces;
#[path = "it/users.rs"]
mod users;
#[path = "it/workspace_names.rs"]
mod workspace_names;
#[path = "it/workspaces.rs"]
mod workspaces;
#[path = "it/worktree.rs"]
mod worktree;
