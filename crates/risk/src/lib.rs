//! Judges actions before they run, by rules alone: no model, no I/O.
//!
//! A shell command is parsed, not searched: what counts is which programs it would start with which arguments,
//! seen through quotes, variables, wrappers and nested shells. Text that is only written to a file is no command; text that
//! the same command then runs is. The verdict is advice for a person who is asked. It keeps nobody out: that is the
//! workspace's task.
//!
//! Begin reading at [`assess`], then `shell.rs` (from text to commands) and `rules/table.rs` (what is dangerous).
//! Knows nothing of engines, policies and people.

mod allow;
mod assess;
mod files;
mod named;
mod place;
mod prose;
mod rules;
mod shell;
mod verdict;
mod visible;

pub use allow::{AllowRule, BadAllowRule, allows};
pub use assess::{RuleSet, assess};
pub use named::{directory_behind, named_paths, paths_to_run};
pub use place::Site;
pub use verdict::Verdict;
