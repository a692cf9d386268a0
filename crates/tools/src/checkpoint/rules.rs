//! What ignore files say, in a repository or not.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{CWD, Mode, OFlags, openat};

/// A longer ignore file is read up to here.
const MAX_RULES_BYTES: u64 = 1024 * 1024;

/// Files with rules, those that count for more first.
pub(super) const RULE_FILES: [&str; 2] = [".ignore", ".gitignore"];

/// What version control systems keep is theirs.
const REPOSITORIES: [&[u8]; 4] = [b".git", b".hg", b".jj", b".svn"];

/// How the names of files begin in which projects keep settings that git must not see.
const SETTINGS: &[u8] = b".env";

/// The rules for a directory: its own, then those of the directories above it.
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    own: Vec<Gitignore>,
}

impl Rules {
    /// What holds at the workspace's root before its own files are read: when it is a part of a repository, the rules
    /// above it.
    pub(super) fn outer(workspace: &Path) -> Arc<Self> {
        let mut own = Vec::new();
        if let Some(repository) = workspace.ancestors().find(|path| path.join(".git").exists()) {
            for path in workspace.ancestors().skip(1) {
                if !path.starts_with(repository) {
                    break;
                }
                for name in RULE_FILES {
                    own.extend(open(&path.join(name)).and_then(|file| parse(path, file)));
                }
            }
            let exclude = open(&repository.join(".git/info/exclude"));
            own.extend(exclude.and_then(|file| parse(repository, file)));
        }
        Arc::new(Self { above: None, own })
    }

    /// With the rules of a directory below, if it has the files.
    pub(super) fn with(self: &Arc<Self>, workspace: &Path, path: &[u8], directory: BorrowedFd) -> Arc<Self> {
        let root = workspace.join(OsStr::from_bytes(path));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let files = RULE_FILES
            .iter()
            .filter_map(|name| openat(directory.as_fd(), *name, flags, Mode::empty()).ok());
        let own: Vec<_> = files
            .filter_map(|file| parse(&root, fs::File::from(file)))
            .collect();
        if own.is_empty() {
            return Arc::clone(self);
        }
        Arc::new(Self {
            above: Some(Arc::clone(self)),
            own,
        })
    }

    /// Whether this is none of our business.
    pub(super) fn ignore(&self, workspace: &Path, path: &[u8], kind: Kind) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        if REPOSITORIES.contains(&name) {
            return true;
        }
        // A person wrote it, and nobody else has a copy.
        if kind == Kind::Other && name.starts_with(SETTINGS) {
            return false;
        }
        if self.above.is_none() && self.own.is_empty() {
            return false;
        }
        let path = workspace.join(OsStr::from_bytes(path));
        let mut rules = Some(self);
        while let Some(level) = rules {
            for file in &level.own {
                match file.matched(&path, kind == Kind::Directory) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            rules = level.above.as_deref();
        }
        false
    }
}

/// Some rules hold for directories only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory.
    Directory,
    /// Anything else.
    Other,
}

/// Without waiting for whoever writes to a pipe.
fn open(path: &Path) -> Option<fs::File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    Some(file.into())
}

/// Rules that cannot be read or understood are left out: what they would ignore is kept then.
fn parse(root: &Path, file: fs::File) -> Option<Gitignore> {
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(root);
    for line in String::from_utf8_lossy(&bytes).lines() {
        let _ = builder.add_line(None, line); // the other lines still hold
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
