//! Language servers: what an editor knows of the code, for an agent.
//!
//! The tool [`Code`] finds definitions, references, symbols and problems; [`Checked`] stands around a tool that edits
//! files and adds the errors that an edit has brought about. Servers are found on the `PATH`, started when they are
//! first needed and ended with the toolbox; one that hangs or dies costs an answer, never an edit. This crate knows
//! nothing of models, executors or conversations.
//!
//! Begin reading at [`Servers`], then `server.rs` (one server and the files it has open) and `connection.rs` (JSON-RPC
//! over its standard streams). Which servers there are stands in `language.rs`.

mod checked;
mod code;
mod connection;
mod diagnostic;
mod error;
mod language;
mod message;
mod place;
mod server;
mod servers;
mod shown;

pub use checked::Checked;
pub use code::Code;
pub use servers::Servers;
