//! Models: what answers prompts.
//!
//! One trait, [`Model`], over everything that answers: OpenAI-compatible servers, Anthropic, AWS Bedrock, a
//! written script and a built-in demo. Replies stream; dropping the stream cancels the call; every provider's
//! failures come out as the one [`ModelError`].
//!
//! This crate knows nothing of conversations and runs no tools. It only turns messages into a reply.
//!
//! Begin reading at [`Model`], then [`complete`] and [`open`].

mod anthropic;
mod api;
mod attachment;
mod bedrock;
mod blocks;
mod canned;
mod catalog;
mod chat;
mod claude;
mod delta;
mod demo;
mod error;
mod http;
mod json_events;
mod model;
mod open;
mod provider;
mod reply;
mod script;
mod sse;
mod stop;
mod tool_use;

pub use bedrock::{AwsKeys, AwsSettings};
pub use delta::{Delta, FinishReason, Usage};
pub use error::ModelError;
pub use model::{Model, ModelProfile, Prices, Request, ToolSchema};
pub use open::{ModelSettings, OpenModelError, key_variable, open};
pub use reply::{Reply, complete};
pub use script::ScriptError;
