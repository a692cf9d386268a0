//! The engine with a real store, a real executor, a real shell, and scripted models.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "it/bounds.rs"]
mod bounds;
#[path = "it/calls.rs"]
mod calls;
#[path = "it/confirmation.rs"]
mod confirmation;
#[path = "it/delegates.rs"]
mod delegates;
#[path = "it/desk.rs"]
mod desk;
#[path = "it/files.rs"]
mod files;
#[path = "it/hooks.rs"]
mod hooks;
#[path = "it/hostile.rs"]
mod hostile;
#[path = "it/judging.rs"]
mod judging;
#[path = "it/loop_quality.rs"]
mod loop_quality;
#[path = "it/lost_answers.rs"]
mod lost_answers;
#[path = "it/memory.rs"]
mod memory;
#[path = "it/models.rs"]
mod models;
#[path = "it/plan.rs"]
mod plan;
#[path = "it/queue.rs"]
mod queue;
#[path = "it/requests.rs"]
mod requests;
#[path = "it/secrets.rs"]
mod secrets;
#[path = "it/simulation.rs"]
mod simulation;
#[path = "it/skills.rs"]
mod skills;
#[path = "it/slow_workspace.rs"]
mod slow_workspace;
#[path = "it/spending.rs"]
mod spending;
#[path = "it/steering.rs"]
mod steering;
#[path = "it/stuck.rs"]
mod stuck;
#[path = "it/task_rules.rs"]
mod task_rules;
#[path = "it/tasks.rs"]
mod tasks;
#[path = "it/titles.rs"]
mod titles;
#[path = "it/tree.rs"]
mod tree;
#[path = "it/trusted.rs"]
mod trusted;
#[path = "it/truth.rs"]
mod truth;
