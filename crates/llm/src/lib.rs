//! Models: what answers prompts.
//!
//! One trait, [`Model`], over everything that answers: OpenAI-compatible servers, a written script and
//! a built-in demo. Replies stream; dropping the stream cancels the call; every provider's failures come
//! out as the one [`ModelError`].
//!
//! This crate knows nothing of conversations and runs no tools. It only turns messages into a reply.
//!
//! Begin reading at [`Model`], then [`complete`] and [`open`].

mod api;
mod arguments;
mod canned;
mod catalog;
mod chat;
mod check;
mod data_url;
mod delta;
mod demo;
mod discover;
mod error;
mod facts;
mod gemini;
mod http;
mod model;
mod ollama;
mod open;
mod provider;
mod reply;
mod script;
mod sse;

pub use check::{Finding, Layer, Verdict, check};
pub use delta::{Delta, FinishReason, Usage};
pub use discover::{Found, LOCAL_PATIENCE, LocalKind, Place, discover, usual_places};
pub use error::ModelError;
pub use facts::{Ability, ModelFacts, ProviderFacts, facts, providers};
pub use model::{Model, ModelProfile, Prices, Request, ToolSchema};
pub use open::{ModelSettings, OpenModelError, address_variable, key_variable, open};
pub use reply::{Reply, complete};
pub use script::ScriptError;
