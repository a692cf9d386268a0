//! What can go wrong with a file, in words for the model.

use std::path::PathBuf;

use crate::file::read::FileError;

/// Why a file was not viewed or changed. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("`path` must be absolute, and {0} is not.{1}")]
    Relative(String, String),
    #[error("`path` begins with `~`, which is not expanded here: give the absolute path instead of {0}.")]
    Tilde(String),
    #[error(
        "{0} exists already, and `create` does not overwrite. Use `str_replace` or `insert` to change it."
    )]
    Exists(PathBuf),
    #[error("`{command}` needs the parameter `{parameter}`.")]
    Required {
        command: &'static str,
        parameter: &'static str,
    },
    #[error("`view_range` does not apply to a directory; leave it out for {0}.")]
    RangeOfDirectory(PathBuf),
    #[error("`view_range` {given:?} is not valid: {why}.")]
    Range { given: Vec<i64>, why: String },
    #[error(
        "`insert_line` {given} is not valid: the file has {lines} lines, so it must be from 0 (before the first) to {lines}."
    )]
    InsertLine { given: i64, lines: usize },
    #[error("`old_str` is empty. Give the text to replace, or use `insert`.")]
    EmptyOld,
    #[error("`old_str` and `new_str` are the same, so nothing would change.")]
    SameStrings,
    #[error(
        "`old_str` was not found in {path}: `{old}`. It must match exactly, with indentation; view the file again."
    )]
    NoMatch { path: PathBuf, old: String },
    #[error(
        "`old_str` was found {count} times, in lines {lines:?} of {path}. Add lines around it so that it fits one place only."
    )]
    ManyMatches {
        path: PathBuf,
        count: usize,
        lines: Vec<usize>,
    },
    #[error("There is no edit of {0} to undo.")]
    NothingToUndo(PathBuf),
    #[error(transparent)]
    File(#[from] FileError),
}
