//! The agent server: conversations over HTTP and sockets, in the words of the OpenHands agent server 1.58.
//!
//! It runs what the engine offers and shows what the store remembers. It knows nothing of terminals and of the
//! user's settings: which models there are and where tools run is told by the program ([`Composition`]).
//!
//! Begin reading at [`Server`], then `router` (the table of all routes and who may use them), `users` (each has an
//! `App` of their own), `conversations` (what is in memory) and `feed` (what a watcher hears, in which order).

mod accounts;
mod agent;
mod allowance;
mod app;
mod audit;
mod bash;
mod calls;
mod catalog;
mod children;
mod cloning;
mod composition;
mod config;
mod connections;
mod conversations;
mod documents;
mod dormant;
mod exposure;
mod external;
mod extract;
mod failure;
mod feed;
mod forge;
mod frames;
mod gateway;
mod git_command;
mod guest;
mod hooks;
mod info;
mod init;
mod launch;
mod log;
mod masking;
mod mcp_logins;
mod mcp_outfit;
mod mcp_tokens;
mod memory;
mod metrics;
mod moment;
mod once;
mod openapi;
mod packages;
mod places;
mod previews;
mod push;
mod request;
mod resident;
mod router;
mod routes;
mod scoped_store;
mod secrets;
mod security;
mod server;
mod settings;
mod shares;
mod sign_in;
mod site;
mod skills;
mod sockets;
mod summary;
mod timed_body;
mod tool_choices;
mod tool_filter;
mod users;
mod validation;
mod vault;
mod wanted;
mod webhooks;
mod wire;
mod worktree;
mod written;
mod zip;

pub use accounts::{Account, AccountError, Accounts, ApiKey, KeyScope, NewAccount, Quota, Role};
pub use audit::{Audit, AuditEntry};
pub use children::note_child;
pub use composition::{Composition, Demo, McpCall, McpTrial, McpTried, Offer, Place};
pub use config::{Build, Config, ConfigError};
pub use connections::Patience;
pub use dormant::Dormant;
pub use init::Init;
pub use mcp_outfit::McpOutfit;
pub use openapi::openapi;
pub use packages::{Existing, Package, PackageError, PackageKind, PackageSource, Packages};
pub use previews::PreviewNames;
pub use router::{Access, routes};
pub use server::{KeyOrigin, ServeError, Server, listen};
pub use sign_in::{SignInError, SignInSettings};
pub use vault::{KeyHome, RotationError, VaultError, VaultKeys, rotate_key};
pub use webhooks::Webhook;
pub use worktree::{Worktree, WorktreeBase};
