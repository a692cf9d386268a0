//! Carries out a plan, each file in one step: whoever looks sees the old one or the new one.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, chmod, fchmod, mkdirat, openat, renameat, statat, symlinkat, unlinkat,
};
use uuid::Uuid;

use super::beneath::{Root, split};
use super::change::{Effect, Failure};
use super::objects::Objects;
use super::plan::{Plan, Step, readable};
use super::stamp::Stamp;
use super::tree::{Entry, NotKept, RelativePath, Tree};
use super::walk::UNFINISHED;

/// Owners must be able to list and change a directory while we work in it.
const OWNER: u32 = 0o700;

/// A restore at work.
pub(super) struct Restore<'a> {
    pub(super) root: &'a Root,
    pub(super) objects: &'a Objects,
    /// What is to be there in the end.
    pub(super) then: &'a Tree,
}

impl Restore<'_> {
    /// Does what it can; gives what it could not.
    pub(super) fn run(&self, plan: &Plan) -> Vec<Failure> {
        let mut failed = Vec::new();
        let mut attempt = |path: &[u8], done: io::Result<()>| {
            if let Err(error) = done {
                failed.push(Failure {
                    path: readable(path),
                    reason: error.to_string(),
                });
            }
        };
        let steps = || {
            plan.iter()
                .filter(|(_, step)| !matches!(step.effect, Effect::Leave(_)))
        };
        for (path, _) in steps() {
            self.open_up(split(path).0);
            self.open_up(path);
        }
        // What is in a directory goes before it, and what has to make way goes before what takes its place.
        for (path, step) in steps().rev() {
            match (&step.now, &step.then) {
                (
                    Some(
                        Entry::Directory { .. }
                        | Entry::NotKept {
                            why: NotKept::Unreadable,
                            ..
                        },
                    ),
                    Some(Entry::Directory { .. }),
                )
                | (None, _) => {}
                (Some(Entry::Directory { .. }), _) => attempt(path, self.remove_directory(path, step)),
                (Some(now), None | Some(Entry::Directory { .. })) => attempt(path, self.remove(path, now)),
                (Some(_), Some(_)) => {} // is replaced
            }
        }
        for (path, step) in steps() {
            match &step.then {
                None | Some(Entry::NotKept { .. }) => {}
                Some(Entry::Directory { .. }) => attempt(path, self.make_directory(path)),
                Some(then @ (Entry::File { .. } | Entry::Symlink { .. })) => {
                    attempt(path, self.put(path, step.now.as_ref(), then));
                }
            }
        }
        // Last, because a directory may be one that even its owner cannot write to.
        for path in Self::opened_up(plan) {
            if let Some(Entry::Directory { mode }) = self.then.get(&path) {
                attempt(&path, self.set_mode(&path, *mode));
            }
        }
        failed
    }

    /// What may be a directory that was opened up, those within others first.
    fn opened_up(plan: &Plan) -> Vec<RelativePath> {
        let of_step = |path: &RelativePath| [path.clone(), split(path).0.to_vec()];
        let mut all: Vec<_> = plan.keys().flat_map(of_step).collect();
        all.sort_unstable();
        all.dedup();
        all.reverse();
        all
    }

    /// Lets us work in a directory; its mode is set right in the end.
    fn open_up(&self, path: &[u8]) {
        if let Some(Entry::Directory { mode }) = self.then.get(path) {
            let _ = self.set_mode(path, mode | OWNER); // it may not be there yet
        }
    }

    /// Sets a directory's mode, even of one that we may not open.
    fn set_mode(&self, path: &[u8], mode: u32) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&self.root.parent(path)?, split(path).1, flags, Mode::empty())?;
        let itself = format!("/proc/self/fd/{}", directory.as_raw_fd());
        Ok(chmod(itself, Mode::from_raw_mode(mode))?)
    }

    fn make_directory(&self, path: &[u8]) -> io::Result<()> {
        let parent = self.root.parent(path)?;
        match mkdirat(&parent, split(path).1, Mode::from_raw_mode(OWNER)) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::EXIST) => self.root.directory(path).map(drop),
            Err(error) => Err(error.into()),
        }
    }

    /// A directory that holds what has no copy stays, unless something has to take its place.
    fn remove_directory(&self, path: &[u8], step: &Step) -> io::Result<()> {
        let parent = self.root.parent(path)?;
        match unlinkat(&parent, split(path).1, AtFlags::REMOVEDIR) {
            Err(rustix::io::Errno::NOTEMPTY) if step.then.is_none() => Ok(()),
            removed => Ok(removed?),
        }
    }

    fn remove(&self, path: &[u8], now: &Entry) -> io::Result<()> {
        let parent = self.root.parent(path)?;
        check_unchanged(&parent, path, Some(now))?;
        Ok(unlinkat(&parent, split(path).1, AtFlags::empty())?)
    }

    /// Makes a file or link beside its place and moves it there.
    fn put(&self, path: &[u8], now: Option<&Entry>, then: &Entry) -> io::Result<()> {
        let parent = self.root.parent(path)?;
        let beside = format!("{UNFINISHED}{}", Uuid::new_v4().simple());
        let made = match then {
            Entry::File { mode, hash, .. } => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(openat(&parent, &beside, flags, Mode::from_raw_mode(0o600))?);
                self.objects.copy_to(*hash, &mut file).and_then(|()| {
                    fchmod(&file, Mode::from_raw_mode(*mode))?;
                    Ok(())
                })
            }
            Entry::Symlink { target } => {
                symlinkat(target.as_slice(), &parent, &beside).map_err(io::Error::from)
            }
            Entry::Directory { .. } | Entry::NotKept { .. } => Err(io::ErrorKind::InvalidInput.into()),
        };
        let moved = made
            .and_then(|()| check_unchanged(&parent, path, now))
            .and_then(|()| Ok(renameat(&parent, &beside, &parent, split(path).1)?));
        if moved.is_err() {
            let _ = unlinkat(&parent, &beside, AtFlags::empty()); // already failing; the first error is the one to tell
        }
        moved
    }

    /// Removes what an earlier restore left when it was killed.
    pub(super) fn clear(&self, unfinished: &[RelativePath]) {
        for path in unfinished {
            if let Ok(parent) = self.root.parent(path) {
                let _ = unlinkat(&parent, split(path).1, AtFlags::empty()); // it is never looked at anyway
            }
        }
    }
}

/// Somebody may have written to a file after we looked: that edit is in no checkpoint.
fn check_unchanged(parent: &OwnedFd, path: &[u8], now: Option<&Entry>) -> io::Result<()> {
    let found = statat(parent, split(path).1, AtFlags::SYMLINK_NOFOLLOW);
    let is_unchanged = match (now, found) {
        (Some(Entry::File { stamp, .. } | Entry::NotKept { stamp, .. }), Ok(stat)) => {
            Stamp::of(&stat) == *stamp
        }
        (Some(Entry::Symlink { .. }), Ok(stat)) => FileType::from_raw_mode(stat.st_mode) == FileType::Symlink,
        (Some(Entry::Directory { .. }) | None, found) => found.is_err(), // it has made way
        (Some(_), Err(_)) => false,
    };
    if is_unchanged {
        return Ok(());
    }
    Err(io::Error::other(
        "it changed while the workspace was being restored",
    ))
}
