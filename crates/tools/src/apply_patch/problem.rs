//! Why a patch was not applied, in words for the model.

use std::path::PathBuf;

use crate::file::read::FileError;

/// Why a patch was not applied. Unless it says otherwise, every file is as it was.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("The patch must begin with `*** Begin Patch`.")]
    NoBegin,
    #[error("The patch must end with `*** End Patch`; perhaps it was cut short.")]
    NoEnd,
    #[error("The patch changes nothing.")]
    Empty,
    #[error("Line {number} of the patch is none that can stand here: `{line}`. {expected}")]
    Line {
        number: usize,
        line: String,
        expected: &'static str,
    },
    #[error("The patch has no hunk for {0}.")]
    NoHunk(String),
    #[error("The patch names {0} twice: put all changes of a file into one section.")]
    Twice(String),
    #[error("The patch changes more than {0} files: make several of it.")]
    TooManyFiles(usize),
    #[error("{0} is not in the workspace, and only files in it can be patched.")]
    Outside(String),
    #[error("{0} exists already: delete it first, or move to another name.")]
    Exists(String),
    #[error(
        "These lines were not found in {path}; no file was changed. Look at the file and write them as they are:\n{lines}"
    )]
    NoPlace { path: String, lines: String },
    #[error(
        "These lines of {path} stand above the hunk before them; no file was changed. Write the hunks in the order of the file:\n{lines}"
    )]
    Order { path: String, lines: String },
    #[error(
        "The line behind @@ was not found in {path}, and these lines stand in several places; no file was changed. Give more lines around the change:\n{lines}"
    )]
    ManyPlaces { path: String, lines: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{0} No file was changed: what had been written before was taken back.")]
    Undone(FileError),
    #[error("{failure} What had been written before could not be taken back everywhere; look at {left:?}.")]
    Stuck { failure: FileError, left: Vec<PathBuf> },
}
