//! The agent server: conversations over HTTP and sockets, in the words of the OpenHands agent server 1.58.
//!
//! It runs what the engine offers and shows what the store remembers. It knows nothing of terminals and of the
//! user's settings: which models there are and where tools run is told by the program ([`Composition`]).
//!
//! Begin reading at [`Server`], then `router` (the table of all routes and who may use them), `conversations`
//! (what is in memory) and `feed` (what a watcher hears, in which order).

mod agent;
mod app;
mod bash;
mod catalog;
mod composition;
mod config;
mod conversations;
mod documents;
mod exposure;
mod extract;
mod failure;
mod feed;
mod frames;
mod gateway;
mod info;
mod launch;
mod log;
mod masking;
mod moment;
mod places;
mod request;
mod resident;
mod router;
mod routes;
mod secrets;
mod security;
mod server;
mod settings;
mod site;
mod sockets;
mod summary;
mod validation;
mod vault;
mod wanted;
mod wire;
mod zip;

pub use composition::{Composition, Demo, Offer, Place};
pub use config::{Build, Config, ConfigError};
pub use router::{Access, routes};
pub use server::{KeyOrigin, ServeError, Server};
pub use vault::VaultError;
