//! Models: what answers prompts.
//!
//! One trait, [`Model`], over everything that answers: OpenAI, Azure, Anthropic, AWS Bedrock, Google Gemini, Ollama,
//! the many servers that speak like OpenAI, a written script, a recording and a built-in demo. Replies stream; dropping the stream cancels
//! the call; every provider's failures come out as the one [`ModelError`].
//!
//! This crate knows nothing of conversations and runs no tools. It only turns messages into a reply.
//!
//! Begin reading at [`Model`], then [`complete`] and [`open`].

mod anthropic;
mod api;
mod attachment;
mod azure;
mod bedrock;
mod blocks;
mod call_log;
mod canned;
mod capabilities;
mod cassette;
mod catalog;
mod chat;
mod chatgpt;
mod check;
mod claude;
mod count;
mod delta;
mod demo;
mod discover;
mod error;
mod facts;
mod fallback;
#[cfg(test)]
mod fuzz;
mod gemini;
mod grayswan;
mod http;
mod images;
mod json_events;
mod learning;
mod messages;
mod model;
mod ollama;
mod open;
mod openai;
mod own_server;
mod prefix;
mod prices;
mod prompted;
mod provider;
mod registry;
mod reply;
mod responses;
mod retry;
mod router;
mod script;
mod secrets;
mod spent;
mod sse;
mod stop;
mod task_class;
mod tokenizer;
mod tokens;
mod tool_use;
mod tuning;

pub use bedrock::{AwsKeys, AwsProfileError, AwsRole, AwsSettings};
pub use call_log::{CallLog, LoggedCall};
pub use capabilities::{Capabilities, KnownCapabilities, ThinkingMode};
pub use cassette::CassetteError;
pub use catalog::known_models;
pub use chatgpt::{
    CHATGPT_MODELS, ChatGptIssuer, ChatGptServers, ChatGptTokens, DeviceCode, LoginError, Pass, Subscription,
};
pub use check::{Finding, Layer, Verdict, check};
pub use count::{CountSource, TokenCount};
pub use delta::{Delta, FinishReason, Usage};
pub use discover::{Found, LOCAL_PATIENCE, LocalKind, Place, discover, usual_places};
pub use error::ModelError;
pub use facts::{Ability, ModelFacts, ProviderFacts, facts, facts_with, providers};
pub use fallback::with_stand_ins;
pub use grayswan::GraySwan;
pub use http::Proxies;
pub use messages::Messages;
pub use model::{Model, ModelProfile, Request, ToolSchema};
pub use open::{ApiMode, ModelSettings, OpenModelError, Reach, address_variable, key_variable, open};
pub use prefix::{PrefixChange, PrefixWatch};
pub use prices::{LongPrompt, Prices, Rates};
pub use registry::{NamedModel, Registry, SettingsFor};
pub use reply::{Reply, complete};
pub use retry::{RetryPolicy, with_retries};
pub use router::Condition;
pub use script::ScriptError;
pub use spent::{OtherUse, Spent};
pub use task_class::{TaskClass, TaskClasses};
pub use tokens::{TokenMeter, message_tokens, tool_tokens};
pub use tuning::Tuning;
