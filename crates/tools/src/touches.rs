//! What a call touches, so that calls which touch nothing in common can run at the same time.

use std::path::{Path, PathBuf};

/// What a call of a tool touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Nothing that another call could see.
    Nothing,
    /// Reads files.
    Reads(Files),
    /// Writes files, and may read them.
    Writes(Files),
    /// Runs a command in the shell of this name: it may read and write any file.
    Shell(String),
    /// Only what this name stands for: the browser, a server.
    Only(String),
}

/// Which files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Files {
    /// Any of them.
    All,
    /// These, by absolute path.
    These(Vec<PathBuf>),
}

impl Touches {
    /// Whether the later of two calls must wait for the earlier one. Shells are separate on purpose: whoever asks for
    /// two of them wants them to run side by side.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Only(one), Self::Only(two)) | (Self::Shell(one), Self::Shell(two)) => one == two,
            (Self::Nothing | Self::Only(_), _)
            | (_, Self::Nothing | Self::Only(_))
            | (Self::Reads(_), Self::Reads(_)) => false,
            (Self::Shell(_), _) | (_, Self::Shell(_)) => true,
            (Self::Reads(one) | Self::Writes(one), Self::Reads(two) | Self::Writes(two)) => one.overlap(two),
        }
    }
}

impl Files {
    /// One file, by what it is in the end: two names of one file are one.
    pub fn one(workspace: &Path, path: &str) -> Self {
        let path = workspace.join(path);
        let whole = path.canonicalize().ok().or_else(|| {
            let parent = path.parent()?.canonicalize().ok()?; // it is still to be made
            Some(parent.join(path.file_name()?))
        });
        Self::These(vec![whole.unwrap_or(path)])
    }

    fn overlap(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => true,
            // A directory stands for what is in it.
            (Self::These(one), Self::These(two)) => one
                .iter()
                .any(|a| two.iter().any(|b| a.starts_with(b) || b.starts_with(a))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn these(path: &str) -> Files {
        Files::These(vec![path.into()])
    }

    #[test]
    fn calls_wait_only_for_calls_that_could_change_what_they_see() {
        let shell = |name: &str| Touches::Shell(name.to_owned());
        let reads = Touches::Reads(Files::All);
        let edit = |path| Touches::Writes(these(path));
        for (one, two, conflict) in [
            (reads.clone(), reads.clone(), false),
            (reads.clone(), edit("/w/a"), true),
            (edit("/w/a"), edit("/w/a"), true),
            (edit("/w/a"), edit("/w/b"), false),
            (edit("/w/a"), Touches::Reads(these("/w")), true),
            (shell("main"), shell("main"), true),
            (shell("main"), shell("server"), false),
            (shell("server"), edit("/w/a"), true),
            (shell("main"), Touches::Nothing, false),
            (shell("main"), Touches::Only("browser".to_owned()), false),
            (
                Touches::Only("browser".to_owned()),
                Touches::Only("browser".to_owned()),
                true,
            ),
        ] {
            assert_eq!(one.conflicts_with(&two), conflict, "{one:?} and {two:?}");
            assert_eq!(two.conflicts_with(&one), conflict, "{two:?} and {one:?}");
        }
    }
}
