//! Looks at the workspace and keeps what it has not kept before.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};

use super::beneath::{Root, split};
use super::hash::Hash;
use super::objects::Objects;
use super::stamp::{self, Stamp};
use super::tree::{Entry, NotKept, RelativePath, Tree};
use super::walk::{Found, Walk, is_gone, threads};
use super::{CheckpointError, CheckpointLimits};

/// How often a file that changes while it is read is read again.
const MAX_READS: usize = 3;

/// Where to look, and where to keep what is found.
pub(super) struct Camera<'a> {
    pub(super) workspace: &'a Path,
    pub(super) root: &'a Root,
    /// Our own directory, which is never looked at.
    pub(super) ours: &'a Path,
    pub(super) objects: &'a Objects,
    pub(super) limits: &'a CheckpointLimits,
}

/// What was seen.
pub(super) struct Snapshot {
    pub(super) tree: Tree,
    /// Bytes that the objects have grown by.
    pub(super) added: u64,
    /// What a restore left when it was killed.
    pub(super) unfinished: Vec<RelativePath>,
}

impl Camera<'_> {
    /// The whole workspace. A file with the stamp that `known` has for it is not read again.
    pub(super) fn shoot(&self, known: &Tree) -> Result<Snapshot, CheckpointError> {
        let moment = stamp::now();
        let ours = self.ours.metadata().map_err(CheckpointError::ours(self.ours))?;
        let walk = Walk {
            workspace: self.workspace,
            root: self.root,
            ours: (ours.dev(), ours.ino()),
            max_entries: self.limits.max_entries,
        };
        let mut found = walk.run()?;
        found.sort_unstable_by(|(one, _), (two, _)| one.cmp(two));
        let mut room = self.limits.max_total_bytes / 2;
        let mut tree = Tree::new();
        let mut unfinished = Vec::new();
        let mut unread = Vec::new();
        for (path, found) in found {
            match found {
                Found::Unfinished => unfinished.push(path),
                // A directory that cannot be read was found twice: by its parent, and by itself.
                Found::Known(entry) if matches!(tree.get(&path), Some(Entry::NotKept { .. })) => drop(entry),
                Found::Known(entry) => {
                    tree.insert(path, entry);
                }
                Found::File(stat) => {
                    let stamp = Stamp::of(&stat);
                    let left = room.checked_sub(stamp.size);
                    if stamp.size > self.limits.max_file_bytes || left.is_none() {
                        let why = if left.is_none() {
                            NotKept::NoRoom
                        } else {
                            NotKept::TooLarge
                        };
                        tree.insert(path, Entry::NotKept { why, stamp });
                        continue;
                    }
                    room = left.unwrap_or_default();
                    match unchanged(known.get(&path), &stat) {
                        Some(entry) => {
                            tree.insert(path, entry);
                        }
                        None => unread.push(path),
                    }
                }
            }
        }
        let added = self.read_all(&unread, moment, &mut tree)?;
        Ok(Snapshot {
            tree,
            added,
            unfinished,
        })
    }

    /// What is at one path, ignored or not.
    pub(super) fn look(&self, path: &[u8]) -> Result<Option<Entry>, CheckpointError> {
        let Ok(directory) = self.root.parent(path) else {
            return Ok(None);
        };
        let name = split(path).1;
        let Ok(stat) = rustix::fs::statat(&directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) else {
            return Ok(None);
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self
                .read(&directory, path, stamp::now(), &Mutex::default())
                .map(|read| read.map(|(entry, _)| entry)),
            FileType::Directory => Ok(Some(Entry::Directory {
                mode: stat.st_mode & 0o7777,
            })),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&directory, name, Vec::new());
                Ok(target.ok().map(|target| Entry::Symlink {
                    target: target.into_bytes(),
                }))
            }
            _ => Ok(Some(Entry::NotKept {
                why: NotKept::Special,
                stamp: Stamp::of(&stat),
            })),
        }
    }

    /// Reads files with several threads and puts them into the tree.
    fn read_all(&self, paths: &[RelativePath], moment: i64, tree: &mut Tree) -> Result<u64, CheckpointError> {
        let next = AtomicUsize::new(0);
        let written = Mutex::default();
        let work = || {
            let mut entries = Vec::new();
            let mut opened: Option<(&[u8], OwnedFd)> = None;
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                let parent = split(path).0;
                if opened.as_ref().is_none_or(|(known, _)| *known != parent) {
                    opened = self
                        .root
                        .directory(parent)
                        .ok()
                        .map(|directory| (parent, directory));
                }
                if let Some((_, directory)) = &opened
                    && let Some(read) = self.read(directory, path, moment, &written)?
                {
                    entries.push((path.clone(), read));
                }
            }
            Ok::<_, CheckpointError>(entries)
        };
        let mut added = 0;
        thread::scope(|scope| {
            let helpers = threads().min(paths.len() / 16 + 1) - 1;
            let others: Vec<_> = (0..helpers).map(|_| scope.spawn(work)).collect();
            let mut results = vec![work()];
            for other in others {
                let ended = other.join();
                results.push(ended.unwrap_or_else(|_| {
                    Err(CheckpointError::io(
                        "read files",
                        io::Error::other("a thread broke"),
                    ))
                }));
            }
            for result in results {
                for (path, (entry, grown)) in result? {
                    added += grown;
                    tree.insert(path, entry);
                }
            }
            Ok(added)
        })
    }

    /// Reads one file and keeps its content; nothing if it vanished. Gives the bytes that were added.
    fn read(
        &self,
        directory: &OwnedFd,
        path: &[u8],
        moment: i64,
        written: &Mutex<HashSet<Hash>>,
    ) -> Result<Option<(Entry, u64)>, CheckpointError> {
        let name = split(path).1;
        // Not blocking, because a pipe may have taken the file's place.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        for attempt in 1..=MAX_READS {
            let opened = openat(directory, name, flags, Mode::empty()).map_err(io::Error::from);
            let mut file = match opened {
                Ok(file) => File::from(file),
                Err(error) if is_gone(&error) => return Ok(None),
                Err(_) => return Ok(Some((without_copy(NotKept::Unreadable, Stamp::default()), 0))),
            };
            let Ok(before) = fstat(&file) else { return Ok(None) };
            let mut stamp = Stamp::of(&before);
            if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
                return Ok(None);
            }
            let limit = self.limits.max_file_bytes;
            let mut bytes =
                Vec::with_capacity(usize::try_from(stamp.size.min(limit)).unwrap_or_default() + 1);
            if (&mut file).take(limit + 1).read_to_end(&mut bytes).is_err() {
                return Ok(Some((without_copy(NotKept::Unreadable, stamp), 0)));
            }
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if length > limit {
                return Ok(Some((without_copy(NotKept::TooLarge, stamp), 0)));
            }
            let is_still = || fstat(&file).is_ok_and(|after| Stamp::of(&after) == Stamp::of(&before));
            let is_whole = is_still();
            if !is_whole && attempt < MAX_READS {
                continue;
            }
            stamp.size = length;
            let fresh = !is_whole || stamp.is_fresh(moment);
            let hash = Hash::of(&bytes);
            let is_new = written
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(hash);
            let mut added = 0;
            if is_new {
                let keep = |same| {
                    let kept = self.objects.put(hash, &bytes, same);
                    kept.map_err(|error| CheckpointError::io("keep a copy of a file", error))
                };
                added = keep((!fresh).then_some(&file))?;
                if !fresh && !is_still() {
                    keep(None)?; // the blocks that were shared may be those of a later content
                }
            }
            let entry = Entry::File {
                mode: before.st_mode & 0o7777,
                hash,
                stamp,
                fresh,
            };
            return Ok(Some((entry, added)));
        }
        Ok(None)
    }
}

fn without_copy(why: NotKept, stamp: Stamp) -> Entry {
    Entry::NotKept { why, stamp }
}

/// The known entry, if the file is surely the same.
fn unchanged(known: Option<&Entry>, stat: &Stat) -> Option<Entry> {
    match known? {
        Entry::File {
            hash,
            stamp,
            fresh: false,
            ..
        } if *stamp == Stamp::of(stat) => Some(Entry::File {
            mode: stat.st_mode & 0o7777,
            hash: *hash,
            stamp: *stamp,
            fresh: false,
        }),
        _ => None,
    }
}
