//! What of a workspace's directory must not be changed from inside: whatever stands there is run or obeyed outside.
//!
//! | the attack | what is done |
//! | --- | --- |
//! | change what is there (`.git/config`, `.mcp.json`) | it is read-only |
//! | make what is not there yet (`.vscode/tasks.json`) | an empty directory stands in its place, which git does not show |
//! | `.git/commondir` that leads git to another configuration | one that leads nowhere is put there, see [`Guard::Placed`] |
//! | put a copy in its place (`mv .git old`) | all that lies above it is a mount, which cannot be renamed |
//!
//! Not prevented: repositories that an agent makes itself, with settings of their own, and those that lie in another
//! one and are no submodules of it: what tests and tools have made there must be theirs to remove. Nor anything in
//! those projects of a directory that come after [`MAX_OF_PROJECTS`], or that somebody inside has crowded out for the
//! next sandbox, with old files by the name `.git` or with more directories than are looked into. And who replaces a
//! protected file from outside while a sandbox runs takes its protection away until the next one starts; so does who
//! makes a directory writable from outside that could only be read.

mod mounted;
mod repository;
mod stand_ins;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, StatxAttributes, StatxFlags, access, statx};
use rustix::io::Errno;
use rustix::process::geteuid;

pub use self::mounted::{MountedError, check_mounted};
use self::repository::Repositories;
pub(crate) use self::stand_ins::StandIns;
pub use self::stand_ins::remove_stand_ins;
use crate::Policy;

/// The path that stands for all that git obeys.
const GIT: &str = ".git";
/// Once so many paths are kept in the projects below a directory, no further project is looked into: ten plain ones. Each
/// path is one mount or two, and the time that a sandbox takes to start grows with their square.
const MAX_OF_PROJECTS: usize = 30;
/// The text of a [`Guard::Placed`] that no sandbox takes away: a container may have it still.
const STAYS: &str = "./\n";

/// How a path is kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// It is there and cannot be changed.
    ReadOnly,
    /// It is not there and cannot be made.
    Absent,
    /// It is made with this text, which says what its absence would, and cannot be changed.
    Placed(&'static str),
    /// It is not there, and nothing can be made where it would be: only what lies above it must stay in its place.
    Unmakable,
}

/// The guards for a workspace and whatever else can be written, by path.
pub(crate) fn guards(policy: &Policy, root: &Path) -> BTreeMap<PathBuf, Guard> {
    let mut guards = BTreeMap::new();
    let is_new = is_empty(root);
    let is_given = |path: &Path| {
        let given = policy.writable.iter();
        let mut given = given.filter(|given| *given != root && given.starts_with(root));
        given.any(|given| path.starts_with(given))
    };
    let (absolute, relative): (Vec<&Path>, Vec<&Path>) = policy
        .protected
        .iter()
        .map(PathBuf::as_path)
        .partition(|protected| protected.is_absolute());
    let (git, others): (Vec<&Path>, Vec<&Path>) = relative
        .into_iter()
        .partition(|protected| *protected == Path::new(GIT));
    let mut repositories = Repositories::new(policy, root);
    if !git.is_empty() {
        repositories.add(root);
    }
    for project in repository::below(root) {
        if repositories.len() + guards.len() >= MAX_OF_PROJECTS {
            break;
        }
        if !git.is_empty() {
            repositories.add(&project);
        }
        // Of projects only what is there: the stand-ins for the rest would be many more.
        let there = others.iter().map(|protected| project.join(protected));
        let there = there.filter(|path| path.symlink_metadata().is_ok_and(|data| !data.is_symlink()));
        guards.extend(
            there
                .filter(|path| !is_given(path))
                .map(|path| (path, Guard::ReadOnly)),
        );
    }
    guards.extend(repositories.guards());
    let there = absolute.iter().filter_map(|path| path.canonicalize().ok());
    let below = there.filter(|path| path != root && path.starts_with(root));
    guards.extend(
        below
            .filter(|path| !is_given(path))
            .map(|path| (path, Guard::ReadOnly)),
    );
    for protected in others {
        let path = root.join(protected);
        if is_given(&path) {
            continue; // the user says so
        }
        match path.symlink_metadata() {
            Ok(data) if data.is_symlink() => {} // what it leads to is outside, or not obeyed by this name
            // Left behind by a sandbox that died, or as good as nothing.
            Ok(data) if data.is_dir() && is_empty(&path) => {
                guards.insert(path, Guard::Absent);
            }
            Ok(_) => {
                guards.insert(path, Guard::ReadOnly);
            }
            // A project that has nothing yet is begun by tools that insist on an empty directory.
            Err(_) if is_new => {}
            Err(_) => {
                guards.insert(path, Guard::Absent);
            }
        }
    }
    for (path, guard) in &mut guards {
        let is_to_be_made =
            matches!(guard, Guard::Absent | Guard::Placed(_)) && path.symlink_metadata().is_err();
        if is_to_be_made && path.parent().is_some_and(nothing_can_be_made_in) {
            *guard = Guard::Unmakable;
        }
    }
    guards
}

/// Whether a directory stays as empty of new names as it is, whatever is tried from inside: it lies on a read-only file
/// system, or it is somebody else's who has not let us write. Our own could be opened again with `chmod`.
fn nothing_can_be_made_in(directory: &Path) -> bool {
    match access(directory, Access::WRITE_OK) {
        Err(Errno::ROFS) => true,
        Err(Errno::ACCESS) => directory
            .metadata()
            .is_ok_and(|data| data.uid() != geteuid().as_raw()),
        _ => false,
    }
}

/// Where git looks for hooks in every repository, by the settings in a home: the names that lead below its top.
pub(crate) fn hooks_everywhere(home: &Path) -> Vec<PathBuf> {
    // Often a link: into a repository of such files.
    let settings = [".gitconfig", ".config/git/config"].map(|path| {
        let file = home.join(path).canonicalize().unwrap_or_default();
        repository::read(&file)
    });
    let named = settings
        .iter()
        .flat_map(|settings| repository::values(settings, "hooksPath"));
    let below = named.filter(|name| !name.starts_with('~')).map(Path::new);
    let is_plain = |path: &&Path| path.components().all(|part| matches!(part, Component::Normal(_)));
    below
        .filter(is_plain)
        .filter(|path| !path.as_os_str().is_empty())
        .map(Path::to_owned)
        .collect()
}

/// A path to mount over itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The path.
    pub path: PathBuf,
    /// Whether it must stay as it is; else it only must not be renamed.
    pub read_only: bool,
    /// Whether it is of the file system around it, so that [`check_mounted`] can tell. Where another one is mounted nobody
    /// in a container can put a link.
    pub is_of_its_place: bool,
}

/// What to mount in a container that has a directory of this machine: that which is there, and is obeyed outside. What is
/// not there can be made, but for another place of git's settings: that is put there, and stays.
pub fn keep_as_it_is(root: &Path) -> io::Result<Vec<Kept>> {
    let policy = Policy::for_user(std::env::home_dir().as_deref(), root);
    let mut kept = BTreeMap::new();
    let guards = guards(&policy, root).into_iter();
    // Engines are told texts.
    for (path, guard) in guards.filter(|(path, _)| path.to_str().is_some()) {
        match guard {
            Guard::Placed(text) if !text.is_empty() => stand_ins::place(root, &path, STAYS)?,
            Guard::Placed(_) | Guard::ReadOnly => {}
            Guard::Absent | Guard::Unmakable => continue,
        }
        let is_real = |path: &Path| path.symlink_metadata().is_ok_and(|data| !data.is_symlink());
        let above = path.ancestors().skip(1).take_while(|above| *above != root);
        if !is_real(&path) || !above.clone().all(is_real) {
            continue;
        }
        // Where a file system is mounted there is nothing to be renamed.
        for above in above.filter(|above| !is_mount_point(above)) {
            kept.entry(above.to_owned()).or_insert(false);
        }
        kept.insert(path, true);
    }
    let kept = kept.into_iter().map(|(path, read_only)| Kept {
        is_of_its_place: !is_mount_point(&path),
        path,
        read_only,
    });
    Ok(kept.collect())
}

fn is_mount_point(path: &Path) -> bool {
    let status = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    status.is_ok_and(|status| status.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests;
