//! The client of a server: conversations over HTTP, typed, with what happens in them as a stream.
//!
//! It speaks the protocol of the OpenHands agent server 1.58 and knows nothing of how a server is made: engines,
//! stores and tools are on the other side.
//!
//! Begin reading at [`Client`], then [`Conversation`], the handle of one that is there; `frames` is how a stream that
//! broke off goes on without a gap.

mod client;
mod conversation;
mod error;
mod frames;
mod request;

pub use client::Client;
pub use conversation::{Conversation, ConversationInfo};
pub use error::ClientError;
pub use request::NewConversation;
