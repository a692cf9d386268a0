//! Models: what answers prompts.
//!
//! One trait, [`Model`], over everything that answers: OpenAI-compatible servers, a written script, a recording
//! and a built-in demo. Replies stream; dropping the stream cancels the call; every provider's failures come
//! out as the one [`ModelError`].
//!
//! This crate knows nothing of conversations and runs no tools. It only turns messages into a reply.
//!
//! Begin reading at [`Model`], then [`complete`] and [`open`].

mod api;
mod canned;
mod cassette;
mod catalog;
mod chat;
mod delta;
mod demo;
mod error;
#[cfg(test)]
mod fuzz;
mod http;
mod images;
mod model;
mod open;
mod prices;
mod prompted;
mod provider;
mod reply;
mod script;
mod sse;
mod tokens;

pub use cassette::CassetteError;
pub use delta::{Delta, FinishReason, Usage};
pub use error::ModelError;
pub use http::Proxies;
pub use model::{Model, ModelProfile, Request, ToolSchema};
pub use open::{ModelSettings, OpenModelError, key_variable, open};
pub use prices::{LongPrompt, Prices, Rates};
pub use reply::{Reply, complete};
pub use script::ScriptError;
pub use tokens::TokenMeter;
