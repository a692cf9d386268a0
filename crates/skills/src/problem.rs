//! What is wrong with a file. One bad file never keeps the others out.

use std::fmt;

use serde::Serialize;

/// A file, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.fault)
    }
}

/// What can be wrong with a skill's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// It cannot be read. The skill is left out.
    #[error("it cannot be read ({reason}); check that it is there and yours")]
    Unreadable {
        /// Why.
        reason: String,
    },
    /// Nothing is in it.
    #[error("it is empty; write what the agent is to know")]
    Empty,
    /// It is too long. The skill is left out.
    #[error("it has {bytes} bytes, more than the {limit} that are read; move parts of it into other files")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The part between the `---` lines is not what it should be. The skill is left out.
    #[error("its front matter cannot be understood: {reason}")]
    BadFrontMatter {
        /// Why.
        reason: String,
    },
    /// What it says of its parameters is no schema of an object. The skill is left out.
    #[error("its {field} is no JSON schema of an object; give it `type: object` and `properties`")]
    BadSchema {
        /// Which one.
        field: &'static str,
    },
    /// Its name is not one. The skill is left out.
    #[error("{name:?} is no name for a skill; use at most 64 small letters, digits and single hyphens")]
    BadName {
        /// The name.
        name: String,
    },
    /// Its name is not that of its folder. The skill is left out.
    #[error("it is named {name:?} but lies in {folder:?}; rename one of them")]
    NotItsFolder {
        /// The name.
        name: String,
        /// The folder's.
        folder: String,
    },
    /// It has nothing that says what it is for.
    #[error("it has no `description`, so the model cannot know when to use it; add one")]
    NoDescription,
    /// It has both, and only the first counts.
    #[error("it has `paths`, so its `triggers` and `inputs` do nothing; keep one of them")]
    TriggersIgnored,
    /// Another skill has its name and comes first. The skill is left out.
    #[error("another skill is named {name:?} as well and counts more: {winner}")]
    Shadowed {
        /// The name.
        name: String,
        /// The other's file.
        winner: String,
    },
    /// There are too many. This skill and those behind it are left out.
    #[error("there are more than {limit} skills; remove some")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
}

impl Fault {
    /// Whether the skill cannot be used because of it.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Unreadable { .. }
            | Self::Empty
            | Self::TooLong { .. }
            | Self::BadFrontMatter { .. }
            | Self::BadSchema { .. }
            | Self::BadName { .. }
            | Self::NotItsFolder { .. }
            | Self::TooMany { .. } => true,
            Self::NoDescription | Self::TriggersIgnored | Self::Shadowed { .. } => false,
        }
    }
}
