//! The tools: what an agent can do in a workspace, and nothing about who asks.
//!
//! A tool takes an [`deft_types::Action`] and gives an [`deft_types::Observation`]. Expected failures (no such
//! file, a command that fails or is still running) are observations; a [`ToolError`] means that the tool itself
//! could not work. This crate knows nothing of models, conversations or servers.
//!
//! Begin reading at [`Tool`] and [`Toolbox`]; the tool with a life of its own is `terminal`, a persistent shell on a
//! pseudo-terminal. What the tools for files have in common is in `file`, what those that search have in `search`.

mod apply_patch;
mod careful_walk;
mod cgroup;
mod checkpoint;
mod edit;
mod file;
mod file_editor;
mod finish;
#[cfg(test)]
mod fuzz;
mod glob;
mod grep;
mod list_directory;
mod live_view;
mod mask;
mod output;
mod planning_file_editor;
mod preset;
mod process_tree;
mod read_file;
mod search;
mod secrets;
mod servers;
mod spec;
mod task_tracker;
mod terminal;
mod think;
mod tool;
mod toolbox;
mod touches;
mod turns;

pub use careful_walk::careful_walk;
pub use checkpoint::{
    Change, Checkpoint, CheckpointError, CheckpointId, CheckpointLimits, Checkpoints, Comparison, Difference,
    Effect, Failure, NotKept, Overwrite, Restored,
};
pub use file_editor::FileEditor;
pub use finish::Finish;
pub use mask::{Mask, MaskedStream};
mod write_file;

pub use apply_patch::ApplyPatch;
pub use edit::Edit;
pub use glob::Glob;
pub use grep::Grep;
pub use list_directory::ListDirectory;
pub use live_view::LiveView;
pub use output::{OUTPUT_QUEUE, OutputSink};
pub use planning_file_editor::PlanningFileEditor;
pub use preset::Preset;
pub use process_tree::{
    Family, SHELL_VARIABLE, become_subreaper, continue_processes, descendants, kill_descendants_of,
    kill_marked, shells_have_programs, stop_descendants,
};
pub use read_file::ReadFile;
pub use secrets::{SecretSet, Secrets, TooManySecrets, names_secret};
pub use servers::ToolServers;
pub use spec::{Reach, spec};
pub use task_tracker::TaskTracker;
pub use terminal::{Terminal, TerminalOptions};
pub use think::Think;
pub use tool::{Call, Tool, ToolError};
pub use toolbox::{ToolContext, Toolbox};
pub use touches::{Files, Touches};
pub use turns::{Turn, Turns};
pub use write_file::WriteFile;
