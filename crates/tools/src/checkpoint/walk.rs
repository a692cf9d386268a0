//! Lists everything below the workspace, several directories at a time.

use std::ffi::OsStr;
use std::io;
use std::num::NonZero;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, Dir, FileType, Stat, readlinkat, statat};

use super::CheckpointError;
use super::beneath::Root;
use super::rules::{Kind, RULE_FILES, Rules};
use super::stamp::Stamp;
use super::tree::{Entry, NotKept, RelativePath};

/// Threads that look at the same time; more only wait for the disk.
const MAX_THREADS: usize = 8;

/// Names of files that a restore was about to move to their place.
pub(super) const UNFINISHED: &str = ".deft-restore-";

/// What was found at a path.
pub(super) enum Found {
    /// A file, still to be read.
    File(Stat),
    /// Anything else.
    Known(Entry),
    /// What a restore left when it was killed.
    Unfinished,
}

/// How many threads to use.
pub(super) fn threads() -> usize {
    thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MAX_THREADS)
}

/// One walk.
pub(super) struct Walk<'a> {
    pub(super) workspace: &'a Path,
    pub(super) root: &'a Root,
    /// A directory that is left out, by device and inode: ours.
    pub(super) ours: (u64, u64),
    pub(super) max_entries: usize,
}

/// Directories that nobody has looked at yet.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    directories: Vec<(RelativePath, Arc<Rules>)>,
    /// Threads that may still find more directories.
    busy: usize,
    entries: usize,
    failed: Option<CheckpointError>,
}

impl Walk<'_> {
    /// Everything there is, in no order. What vanishes meanwhile is left out.
    pub(super) fn run(&self) -> Result<Vec<(RelativePath, Found)>, CheckpointError> {
        let state = State {
            directories: vec![(Vec::new(), Rules::outer(self.workspace))],
            busy: 0,
            entries: 0,
            failed: None,
        };
        let queue = Queue {
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        let mut found = Vec::new();
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads())
                .map(|_| scope.spawn(|| self.work(&queue)))
                .collect();
            found = self.work(&queue);
            for other in others {
                found.extend(other.join().unwrap_or_default());
            }
        });
        match queue.lock().failed.take() {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    fn work(&self, queue: &Queue) -> Vec<(RelativePath, Found)> {
        let mut found = Vec::new();
        while let Some((path, rules)) = queue.next() {
            let before = found.len();
            let below = self.list(&path, &rules, &mut found);
            queue.done(below, found.len() - before, self.max_entries);
        }
        found
    }

    /// Lists one directory; gives the directories in it.
    fn list(
        &self,
        path: &[u8],
        rules: &Arc<Rules>,
        found: &mut Vec<(RelativePath, Found)>,
    ) -> Result<Vec<(RelativePath, Arc<Rules>)>, CheckpointError> {
        let entries = match self.entries(path) {
            Ok(entries) => entries,
            Err(error) if path.is_empty() => {
                return Err(CheckpointError::io("read the workspace", error));
            }
            Err(error) if is_gone(&error) => return Ok(Vec::new()),
            Err(_) => {
                found.push((
                    path.to_vec(),
                    Found::Known(not_kept(NotKept::Unreadable, Stamp::default())),
                ));
                return Ok(Vec::new());
            }
        };
        let (directory, names, device) = entries;
        let has_rules = names
            .iter()
            .any(|name| RULE_FILES.iter().any(|rules| name == rules.as_bytes()));
        let rules = if has_rules {
            rules.with(self.workspace, path, directory.as_fd())
        } else {
            Arc::clone(rules)
        };
        let mut below = Vec::new();
        for name in names {
            let mut whole = Vec::with_capacity(path.len() + 1 + name.len());
            whole.extend_from_slice(path);
            if !path.is_empty() {
                whole.push(b'/');
            }
            whole.extend_from_slice(&name);
            let name = OsStr::from_bytes(&name);
            if name.as_bytes().starts_with(UNFINISHED.as_bytes()) {
                found.push((whole, Found::Unfinished));
                continue;
            }
            let Ok(stat) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue; // gone
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let is_directory = if kind == FileType::Directory {
                Kind::Directory
            } else {
                Kind::Other
            };
            if rules.ignore(self.workspace, &whole, is_directory) {
                found.push((whole, Found::Known(not_kept(NotKept::Ignored, Stamp::default()))));
                continue;
            }
            let stamp = Stamp::of(&stat);
            let known = match kind {
                FileType::RegularFile => Found::File(stat),
                FileType::Directory if (stat.st_dev, stat.st_ino) == self.ours => continue,
                FileType::Directory if stat.st_dev != device => {
                    Found::Known(not_kept(NotKept::Mounted, Stamp::default()))
                }
                FileType::Directory => {
                    below.push((whole.clone(), Arc::clone(&rules)));
                    Found::Known(Entry::Directory {
                        mode: stat.st_mode & 0o7777,
                    })
                }
                FileType::Symlink => match readlinkat(&directory, name, Vec::new()) {
                    Ok(target) => Found::Known(Entry::Symlink {
                        target: target.into_bytes(),
                    }),
                    Err(_) => continue,
                },
                _ => Found::Known(not_kept(NotKept::Special, stamp)),
            };
            found.push((whole, known));
        }
        Ok(below)
    }

    fn entries(&self, path: &[u8]) -> io::Result<(impl AsFd + use<>, Vec<Vec<u8>>, u64)> {
        let directory = self.root.directory(path)?;
        let device = rustix::fs::fstat(&directory)?.st_dev;
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        Ok((directory, names, device))
    }
}

/// Whether it vanished or became something else between two looks.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
    )
}

fn not_kept(why: NotKept, stamp: Stamp) -> Entry {
    Entry::NotKept { why, stamp }
}

impl Queue {
    /// A directory to look at, or nothing when all is done or has failed.
    fn next(&self) -> Option<(RelativePath, Arc<Rules>)> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if let Some(next) = state.directories.pop() {
                state.busy += 1;
                return Some(next);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(
        &self,
        below: Result<Vec<(RelativePath, Arc<Rules>)>, CheckpointError>,
        entries: usize,
        max_entries: usize,
    ) {
        let mut state = self.lock();
        state.busy -= 1;
        state.entries += entries;
        match below {
            Ok(_) if state.entries > max_entries => {
                state.failed = Some(CheckpointError::TooMany { limit: max_entries });
            }
            Ok(below) => state.directories.extend(below),
            Err(error) => state.failed = Some(error),
        }
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
