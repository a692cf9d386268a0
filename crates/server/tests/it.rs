//! The server over real HTTP and sockets, with a scripted model and real tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "it/access.rs"]
mod access;
#[path = "it/acp.rs"]
mod acp;
#[path = "it/allowed_hosts.rs"]
mod allowed_hosts;
#[path = "it/archives.rs"]
mod archives;
#[path = "it/at_once.rs"]
mod at_once;
#[path = "it/attacks.rs"]
mod attacks;
#[path = "it/brief.rs"]
mod brief;
#[path = "it/budget.rs"]
mod budget;
#[path = "it/chatgpt.rs"]
mod chatgpt;
#[path = "it/checklist.rs"]
mod checklist;
#[path = "it/clones.rs"]
mod clones;
#[path = "it/commands.rs"]
mod commands;
#[path = "it/completion_logs.rs"]
mod completion_logs;
#[path = "it/console.rs"]
mod console;
#[path = "it/context.rs"]
mod context;
#[path = "it/contract.rs"]
mod contract;
#[path = "it/contract_document.rs"]
mod contract_document;
#[path = "it/critics.rs"]
mod critics;
#[path = "it/desk.rs"]
mod desk;
#[path = "it/forge.rs"]
mod forge;
#[path = "it/gateway.rs"]
mod gateway;
#[path = "it/history.rs"]
mod history;
#[path = "it/installation.rs"]
mod installation;
#[path = "it/issuer.rs"]
mod issuer;
#[path = "it/lifecycle.rs"]
mod lifecycle;
#[path = "it/metrics.rs"]
mod metrics;
#[path = "it/monitor.rs"]
mod monitor;
#[path = "it/once.rs"]
mod once;
#[path = "it/openapi.rs"]
mod openapi;
#[path = "it/others_things.rs"]
mod others_things;
#[path = "it/paths.rs"]
mod paths;
#[path = "it/plan.rs"]
mod plan;
#[path = "it/ports.rs"]
mod ports;
#[path = "it/preparation.rs"]
mod preparation;
#[path = "it/profiles.rs"]
mod profiles;
#[path = "it/queue.rs"]
mod queue;
#[path = "it/recordings.rs"]
mod recordings;
#[path = "it/refusals.rs"]
mod refusals;
#[path = "it/review.rs"]
mod review;
#[path = "it/settings.rs"]
mod settings;
#[path = "it/shares.rs"]
mod shares;
#[path = "it/sign_in.rs"]
mod sign_in;
#[path = "it/site.rs"]
mod site;
#[path = "it/skills.rs"]
mod skills;
#[path = "it/slow_clients.rs"]
mod slow_clients;
#[path = "it/sockets.rs"]
mod sockets;
#[path = "it/steering.rs"]
mod steering;
#[path = "it/subscription.rs"]
mod subscription;
#[path = "it/user.rs"]
mod user;
#[path = "it/user_ends.rs"]
mod user_ends;
#[path = "it/user_keys.rs"]
mod user_keys;
#[path = "it/user_routes.rs"]
mod user_routes;
#[path = "it/users.rs"]
mod users;
#[path = "it/vault.rs"]
mod vault;
#[path = "it/webhook_settings.rs"]
mod webhook_settings;
#[path = "it/webhooks.rs"]
mod webhooks;
#[path = "it/workspaces.rs"]
mod workspaces;
#[path = "it/wrong_fields.rs"]
mod wrong_fields;
