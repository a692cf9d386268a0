//! Where a path leads in the end.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The path without links, also of a file that is still to be made. A link that leads nowhere is refused: writing to
/// it would make a file in a place that nobody looked at.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (parent, Some(Component::Normal(name))) = (path.parent(), path.components().next_back())
            else {
                return Err(error);
            };
            if path.is_symlink() {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    "it is a link that leads nowhere",
                ));
            }
            Ok(resolve(parent.unwrap_or(Path::new("/")))?.join(name))
        }
        resolved => resolved,
    }
}

/// The path that is meant: relative ones are those of the workspace.
pub(crate) fn in_workspace(workspace: &Path, given: &str) -> PathBuf {
    workspace.join(given).components().collect() // without `.` and a slash at the end
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_also_above_what_is_still_to_be_made() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        assert_eq!(
            resolve(&root.join("link/new/file")).unwrap(),
            root.join("real/new/file")
        );
        assert_eq!(resolve(&root.join("link/..")).unwrap(), root);
        assert!(resolve(&root.join("dangling")).is_err());
        assert!(resolve(&root.join("dangling/file")).is_err());
        assert!(resolve(&root.join("new/../../other")).is_err());
    }
}
