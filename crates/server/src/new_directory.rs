//! Directories that clients name and that are not there yet: an executor needs one to live in.
//!
//! One that was made becomes a repository, as clients of the contract expect. A directory that somebody else has made
//! stays as it is.

use std::fs;
use std::io;
use std::path::Path;

/// The parts of a repository without a commit.
const FOLDERS: [&str; 4] = ["objects/info", "objects/pack", "refs/heads", "refs/tags"];
const FILES: [(&str, &str); 2] = [
    ("HEAD", "ref: refs/heads/main\n"),
    (
        "config",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
    ),
];

/// Makes a directory, if there is none, that is no repository.
pub(crate) fn make_plain(root: &Path) -> io::Result<()> {
    fs::create_dir_all(root)
}

/// Makes a directory, if there is none.
pub(crate) fn make(root: &Path) -> io::Result<()> {
    if root.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(root)?;
    let is_inside = root.ancestors().any(|above| above.join(".git").exists());
    if is_inside {
        Ok(())
    } else {
        repository(&root.join(".git"))
    }
}

fn repository(git: &Path) -> io::Result<()> {
    FOLDERS
        .iter()
        .try_for_each(|folder| fs::create_dir_all(git.join(folder)))?;
    FILES
        .iter()
        .try_for_each(|(name, text)| fs::write(git.join(name), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_becomes_a_repository_and_what_is_there_stays_as_it_is() {
        let top = tempfile::tempdir().unwrap();
        let new = top.path().join("a/b");
        make(&new).unwrap();
        let git = |place: &Path| {
            let mut git = std::process::Command::new("git");
            git.args(["status", "--porcelain=v2", "--branch"])
                .current_dir(place);
            git.output().unwrap()
        };
        let said = String::from_utf8(git(&new).stdout).unwrap();
        assert!(said.contains("# branch.head main"), "{said}");
        make(&new.join("below")).unwrap();
        assert!(!new.join("below/.git").exists(), "it is in one already");
        make(top.path()).unwrap();
        assert!(!top.path().join(".git").exists());
    }
}
