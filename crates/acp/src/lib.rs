//! The client of coding agents that are programs of their own and speak the Agent Client Protocol: JSON-RPC, a message a
//! line, over a byte stream.
//!
//! It knows nothing of conversations, workspaces or how a program is started. Begin reading at [`Session`]: it greets the
//! agent, begins or takes up a session, and prompts it; what the agent tells meanwhile is [`Incoming`]. What agents say
//! is read leniently, field by field: they come in many versions, and none may break us by a word we do not know.

mod error;
mod incoming;
mod models;
mod peer;
mod session;
mod tool_calls;

pub use error::AgentError;
pub use incoming::{Choice, Incoming, Permission, PlanEntry, ToolCallUpdate, Update};
pub use models::{ModelInfo, Models};
pub use peer::Clean;
pub use session::{About, Prompting, Session, Start, TurnEnd, Usage};
pub use tool_calls::{ToolCall, ToolCalls};
