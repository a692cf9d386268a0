//! Where files come from.

use std::io;

/// Reads files for us: of a disk, or by way of an executor.
pub trait Files {
    /// The paths of all files below a directory. None if it is missing.
    fn list(&self, directory: &str) -> Vec<String>;

    /// The same, without those that version control ignores, where that is known. A home directory may be a repository
    /// that ignores all but a few files, so this is for projects only.
    fn tracked(&self, directory: &str) -> Vec<String> {
        self.list(directory)
    }

    /// The text of a file.
    fn read(&self, path: &str) -> io::Result<String>;
}

/// The last part of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The directory that a path lies in.
pub(crate) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The path as seen from a directory, if it lies below.
pub(crate) fn below<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    rest.strip_prefix('/').filter(|rest| !rest.is_empty())
}
