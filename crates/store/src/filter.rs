//! Which events of a log to look for, and in which order.

use deft_types::{Source, Timestamp};

/// Which events are wanted. The default is all that can be read.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// Only those of this kind.
    pub kind: Option<String>,
    /// Only those from there.
    pub source: Option<Source>,
    /// State updates with these keys are not wanted.
    pub without_keys: &'static [&'static str],
    /// Only those that happened then or later.
    pub from: Option<Timestamp>,
    /// Only those that happened earlier.
    pub before: Option<Timestamp>,
}

/// In which order events come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The oldest first.
    #[default]
    Forward,
    /// The newest first.
    Backward,
}
