//! The client of MCP servers: their tools become [`deft_tools::Tool`]s.
//!
//! A server is untrusted code: it gets time limits, its words are cleaned and cut, its tools get names of ours and are
//! pinned by digests, and a dead one never stops a conversation. This crate knows nothing of models, agents or
//! executors.
//!
//! Begin reading at [`ServerConfig`] (what people write), then [`McpServers`] (what becomes of it); `server.rs` holds
//! the task that looks after one server, `tool.rs` a call.

mod config;
mod handler;
mod http;
mod known;
mod limits;
mod link;
mod listing;
mod local;
mod oauth;
mod outputs;
mod pin;
mod process;
mod relist;
mod rest;
mod result;
mod server;
mod servers;
mod sse;
mod text;
mod tool;

pub use config::{ConfigError, Endpoint, OAuth, Program, Remote, ServerConfig, put_variables};
pub use http::Network;
pub use limits::Limits;
pub use link::Place;
pub use local::LocalServers;
pub use oauth::{Login, NoTokens, OAuthError, TokenStore};
pub use pin::{diff, fingerprint};
pub use servers::{Changes, McpServers};
