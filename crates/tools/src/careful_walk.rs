//! A walk over a tree that leaves out what ignore files name.
//!
//! The library opens those files whatever they are. A repository can have a link to `/dev/zero` in the place of one, which
//! would fill the memory, and an agent can put a pipe there, which would hold up the walk for ever.

use std::fs;
use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

/// Nobody writes longer ones.
const MAX_RULES_BYTES: u64 = 1024 * 1024;

/// Walks over what the ignore files leave and `is_wanted` takes. A directory whose rules cannot be read is left out; if
/// those of the root or above it cannot, nothing is ignored.
pub fn careful_walk(
    root: &Path,
    is_wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let has_rules = real.ancestors().all(can_be_read_in);
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(has_rules).filter_entry(move |entry| {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        is_wanted(entry) && !(has_rules && is_directory && !can_be_read_in(entry.path()))
    });
    walk
}

/// Whether the library can read the rules in a directory, and those of the repository whose top it is.
fn can_be_read_in(directory: &Path) -> bool {
    let files = [".ignore", ".gitignore"];
    files.iter().all(|name| can_be_read(&directory.join(name))) && can_be_read_of(&directory.join(".git"))
}

fn can_be_read_of(git: &Path) -> bool {
    let is_link = match git.metadata() {
        Ok(data) if data.is_dir() => return can_be_read(&git.join("info/exclude")),
        Ok(data) => data.is_file(),
        Err(_) => false,
    };
    if !is_link {
        return true; // and is not read
    }
    // A linked worktree or a submodule: the same names as the library looks at, one after the other.
    let Some(own) = line(git) else { return false };
    let Some(own) = own.strip_prefix("gitdir: ").map(Path::new) else {
        return true;
    };
    let common = own.join("commondir");
    can_be_read(&common)
        && line(&common).is_none_or(|place| can_be_read(&own.join(place).join("info/exclude")))
}

/// Whether something ends when it is read, or is not there.
fn can_be_read(path: &Path) -> bool {
    let Ok(data) = path.metadata() else { return true };
    data.is_dir() || data.is_file() && data.len() <= MAX_RULES_BYTES
}

/// The first line of a file that can be read.
fn line(path: &Path) -> Option<String> {
    let text = can_be_read(path).then(|| fs::read_to_string(path).ok())??;
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn found(root: &Path) -> Vec<PathBuf> {
        let walk = careful_walk(root, |entry| entry.file_name() != ".git").build();
        let entries = walk.filter_map(Result::ok);
        let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let names = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_owned()));
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_never_ends_in_the_place_of_rules_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("top");
        for directory in [".git/info", "plain", "zeros"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["a", "ignored", "plain/b", "zeros/c"] {
            fs::write(root.join(file), "").unwrap();
        }
        fs::write(root.join(".gitignore"), "ignored\n").unwrap();
        symlink("/dev/zero", root.join("zeros/.ignore")).unwrap();
        assert_eq!(found(&root), ["a", "plain/b"].map(PathBuf::from));
        let all = ["a", "ignored", "plain/b", "zeros/c"].map(PathBuf::from);
        for endless in [".gitignore", ".git/info/exclude"] {
            let _ = fs::remove_file(root.join(endless));
            symlink("/dev/zero", root.join(endless)).unwrap();
            assert_eq!(found(&root), all, "{endless}");
            fs::remove_file(root.join(endless)).unwrap();
        }
        // The directory of a linked worktree's repository.
        fs::rename(root.join(".git"), root.join("git")).unwrap();
        fs::write(
            root.join(".git"),
            format!("gitdir: {}\n", root.join("git").display()),
        )
        .unwrap();
        symlink("/dev/zero", root.join("git/commondir")).unwrap();
        assert_eq!(found(&root), all);
        // And above the root.
        symlink("/dev/zero", place.path().join(".ignore")).unwrap();
        assert_eq!(found(&root.join("plain")), [PathBuf::from("b")]);
    }
}
