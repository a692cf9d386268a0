//! The tools: what an agent can do in a workspace, and nothing about who asks.
//!
//! A tool takes an [`deft_types::Action`] and gives an [`deft_types::Observation`]. Expected failures (no such
//! file, a command that fails or is still running) are observations; a [`ToolError`] means that the tool itself
//! could not work. This crate knows nothing of models, conversations or servers.
//!
//! Begin reading at [`Tool`] and [`Toolbox`]; the two tools with a life of their own are `terminal` (a
//! persistent shell on a pseudo-terminal) and `file_editor`.

mod cgroup;
mod checkpoint;
mod file_editor;
mod finish;
#[cfg(test)]
mod fuzz;
mod mask;
mod output;
mod process_tree;
mod secrets;
mod servers;
mod spec;
mod terminal;
mod think;
mod tool;
mod toolbox;
mod touches;
mod turns;

pub use checkpoint::{
    Change, Checkpoint, CheckpointError, CheckpointId, CheckpointLimits, Checkpoints, Effect, Failure,
    NotKept, Overwrite, Restored,
};
pub use file_editor::FileEditor;
pub use finish::Finish;
pub use mask::{Mask, MaskedStream};
pub use output::{OUTPUT_QUEUE, OutputSink};
pub use process_tree::{Family, SHELL_VARIABLE, become_subreaper, kill_descendants_of};
pub use secrets::{SecretSet, Secrets, TooManySecrets};
pub use servers::ToolServers;
pub use spec::{Reach, spec};
pub use terminal::{Terminal, TerminalOptions};
pub use think::Think;
pub use tool::{Call, Tool, ToolError};
pub use toolbox::{ToolContext, Toolbox};
pub use touches::{Files, Touches};
pub use turns::{Turn, Turns};
