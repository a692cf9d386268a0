//! Everything between a user's message and a finished task: the conversation actor and the agent loop.
//!
//! The engine decides, the executor acts, the log remembers. It sees HTTP, SQL and containers only as
//! traits: [`deft_llm::Model`], [`deft_store::Store`], [`deft_workspace::Workspace`].
//!
//! Begin reading at [`Conversation`], the handle; `actor` is what answers it, `state` is what is folded
//! from the log, and `turn` turns a model's reply into events.

mod actor;
mod arguments;
mod command;
mod conversation;
mod live;
mod observation;
mod prompt;
mod state;
mod status;
mod toolset;
mod turn;
mod view;
mod world;

pub use command::{Begun, CommandError, ExecutorFate};
pub use conversation::{Conversation, Limits, Parts, Progress, load};
pub use live::Live;
pub use state::State;
pub use world::{Point, RealWorld, World};
