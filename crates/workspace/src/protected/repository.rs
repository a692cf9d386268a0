//! Everything in a repository that tells git to run something, or where to look for what tells it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use super::Guard;
use crate::Policy;

/// Repositories of one workspace that are looked into. Those beyond are read-only as a whole, with the directory they are in.
const MAX_REPOSITORIES: usize = 100;
/// Paths that are kept in the repositories of one workspace. Somebody inside could fill them with more than a sandbox can be
/// started with.
const MAX_GUARDS: usize = 500;
/// Directories that are looked into for repositories, what is read of them together, and how deep they lie at most: as in
/// `host/owner/name`.
const MAX_DIRECTORIES: usize = 1000;
const MAX_ENTRIES: usize = 10_000;
const MAX_DEPTH: usize = 3;
/// Files that the settings of one repository include, those in included ones as well, as far as we look. Somebody inside
/// may have written them, so that they include each other without end.
const MAX_INCLUDES: usize = 32;
/// There are not more hooks that git knows.
const MAX_LINKED_HOOKS: usize = 32;
/// Bytes of a file of git's that are read.
const MAX_FILE: u64 = 1024 * 1024;
/// To be the repository oneself is the same as to name no other one.
const ITSELF: &str = ".\n";

pub(super) struct Repositories<'a> {
    /// What can be written, so that something must be kept in it.
    changeable: Vec<&'a Path>,
    seen: BTreeSet<PathBuf>,
    /// Directories of files whose submodules were looked for.
    tops: BTreeSet<PathBuf>,
    /// Entries of git's own directories that were read, and submodules that repositories name.
    entries: usize,
    guards: BTreeMap<PathBuf, Guard>,
}

impl<'a> Repositories<'a> {
    pub(super) fn new(policy: &'a Policy, root: &'a Path) -> Self {
        let writable = policy.writable.iter().map(PathBuf::as_path);
        Self {
            changeable: writable.chain([root]).collect(),
            seen: BTreeSet::new(),
            tops: BTreeSet::new(),
            entries: 0,
            guards: BTreeMap::new(),
        }
    }

    pub(super) fn guards(self) -> BTreeMap<PathBuf, Guard> {
        self.guards
    }

    /// So many paths are kept.
    pub(super) fn len(&self) -> usize {
        self.guards.len()
    }

    /// The repository whose files are in a directory, and its submodules.
    pub(super) fn add(&mut self, files: &Path) {
        let mut waiting = VecDeque::from([files.to_owned()]);
        while let Some(files) = waiting.pop_front() {
            if self.is_full() || !self.tops.insert(files.clone()) || !self.add_top(&files) {
                continue;
            }
            let named = read(&files.join(".gitmodules"));
            let named: BTreeSet<_> = values(&named, "path").collect();
            for submodule in named {
                self.entries += 1;
                if self.entries >= MAX_ENTRIES {
                    break;
                }
                // The repository's own word: it must not lead out.
                let place = files.join(submodule).canonicalize();
                waiting.extend(place.ok().filter(|place| place.starts_with(&files)));
            }
        }
    }

    /// What git obeys where the files of one are; false if it is none.
    fn add_top(&mut self, files: &Path) -> bool {
        let git = files.join(".git");
        match git.symlink_metadata() {
            Ok(data) if data.is_dir() => self.add_directory(&git),
            Ok(data) if data.is_file() => {
                let named = read(&git)
                    .strip_prefix("gitdir:")
                    .map(|place| files.join(place.trim()));
                if let Some(directory) = named.and_then(|place| place.canonicalize().ok()) {
                    self.add_directory(&directory);
                }
                self.guard(git, Guard::ReadOnly);
            }
            _ => return false,
        }
        true
    }

    /// A directory of git's.
    fn add_directory(&mut self, directory: &Path) {
        if self.seen.contains(directory) {
            return;
        }
        if self.is_full() {
            return self.guard(directory.to_owned(), Guard::ReadOnly);
        }
        self.seen.insert(directory.to_owned());
        let config = directory.join("config");
        let common = directory.join("commondir");
        if common.exists() && !["", ".", "./"].contains(&read(&common).trim()) {
            // A linked worktree, which has its settings elsewhere.
            self.keep(directory, &["commondir", "gitdir"]);
            if let Ok(main) = directory.join(read(&common).trim()).canonicalize() {
                self.keep_own_settings(directory, &main.join("config"));
                self.add_directory(&main);
            }
            return;
        }
        self.guard(common, Guard::Placed(ITSELF));
        self.keep_own_settings(directory, &config);
        let mut left = MAX_INCLUDES;
        self.keep_what_is_named(directory, directory, &read(&config), &mut left);
        self.guard(config, Guard::Placed(""));
        let hooks = directory.join("hooks");
        let guard = if hooks.exists() {
            Guard::ReadOnly
        } else {
            Guard::Absent
        };
        self.keep_hooks_elsewhere(&hooks);
        self.guard(hooks, guard);
        let worktrees = directory.join("worktrees");
        for worktree in self.directories_of_git(&worktrees) {
            if self.is_full() {
                self.guard(worktrees, Guard::ReadOnly);
                break;
            }
            let link = worktree.join(read(&worktree.join("gitdir")).trim());
            if let Some(link) = link.canonicalize().ok().filter(|link| link.is_file()) {
                self.guard(link, Guard::ReadOnly);
            }
            self.add_directory(&worktree);
        }
        self.add_modules(&directory.join("modules"));
    }

    /// The repositories of submodules, whose names may have slashes.
    fn add_modules(&mut self, modules: &Path) {
        for module in self.directories_of_git(modules) {
            if self.is_full() {
                return self.guard(modules.to_owned(), Guard::ReadOnly);
            }
            if module.join("HEAD").exists() {
                self.add_directory(&module);
            } else {
                self.add_modules(&module);
            }
        }
    }

    /// The directories in one of git's own; none where that is a link, which could lead anywhere. Where they are too many
    /// it is read-only as a whole.
    fn directories_of_git(&mut self, directory: &Path) -> Vec<PathBuf> {
        if !directory.symlink_metadata().is_ok_and(|data| data.is_dir()) {
            return Vec::new();
        }
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let entries: Vec<_> = entries.take(MAX_ENTRIES).collect();
        self.entries += entries.len();
        if self.entries >= MAX_ENTRIES {
            self.guard(directory.to_owned(), Guard::ReadOnly);
            return Vec::new();
        }
        let directories = entries.iter().filter(|entry| is_directory(entry));
        directories.map(DirEntry::path).collect()
    }

    fn is_full(&self) -> bool {
        self.seen.len() >= MAX_REPOSITORIES || self.guards.len() >= MAX_GUARDS
    }

    /// The settings that each worktree can have for itself: read only where those of the repository say so.
    fn keep_own_settings(&mut self, directory: &Path, config: &Path) {
        if read(config).to_ascii_lowercase().contains("worktreeconfig") {
            self.guard(directory.join("config.worktree"), Guard::Placed(""));
        }
    }

    /// Files whose settings count as well, which are named from the file that includes them, and what they name. And
    /// another place for hooks, which is named from the files' directory.
    fn keep_what_is_named(&mut self, git: &Path, place: &Path, settings: &str, left: &mut usize) {
        // The last one counts.
        if let Some(hooks) = values(settings, "hooksPath").last() {
            let top = git.parent().unwrap_or(git);
            let hooks = top.join(hooks);
            // Husky's own directory only calls what lies beside it.
            let beside = hooks.parent().filter(|_| hooks.ends_with("_"));
            self.keep_if_there(beside.filter(|beside| *beside != top).unwrap_or(&hooks));
            self.keep_hooks_elsewhere(&hooks);
        }
        for included in values(settings, "path").map(|path| place.join(path)) {
            let Some(fewer) = left.checked_sub(1) else { return };
            *left = fewer;
            self.keep_if_there(&included);
            let place = included.parent().unwrap_or(place);
            self.keep_what_is_named(git, place, &read(&included), left);
        }
    }

    /// Where links in the place of hooks lead: to scripts of the project, mostly.
    fn keep_hooks_elsewhere(&mut self, hooks: &Path) {
        let entries = fs::read_dir(hooks).into_iter().flatten().flatten();
        let entries = entries.take(MAX_ENTRIES);
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        for link in links.take(MAX_LINKED_HOOKS).map(|link| link.path()) {
            if link.is_file() {
                self.keep_if_there(&link);
            }
        }
    }

    fn keep_if_there(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else {
            return;
        };
        // All of the workspace is no place for hooks, but for work.
        if !self
            .changeable
            .iter()
            .any(|changeable| changeable.starts_with(&path))
        {
            self.guard(path, Guard::ReadOnly);
        }
    }

    fn keep(&mut self, directory: &Path, names: &[&str]) {
        for name in names {
            self.guard(directory.join(name), Guard::ReadOnly);
        }
    }

    /// What cannot be written anyway needs none.
    fn guard(&mut self, path: PathBuf, guard: Guard) {
        if self
            .changeable
            .iter()
            .any(|changeable| path.starts_with(changeable))
        {
            self.guards.insert(path, guard);
        }
    }
}

/// The repositories below a directory that is none itself, but holds projects: the tops of their files. Those that have
/// been there for longest come first, so that the same ones do in every sandbox, whatever is cloned meanwhile.
pub(super) fn below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = VecDeque::from([(root.to_owned(), 0)]);
    let (mut known, mut entries) = (1, 0);
    while let Some((directory, depth)) = waiting.pop_front() {
        if let Some(made) = made(&directory.join(".git")) {
            found.push((made, directory));
            continue;
        }
        if depth == MAX_DEPTH {
            continue;
        }
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if known == MAX_DIRECTORIES || entries == MAX_ENTRIES {
                break;
            }
            entries += 1;
            if is_directory(&entry) {
                known += 1;
                waiting.push_back((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    let tops = found.into_iter().map(|(_, top)| top);
    tops.filter(|top| top != root).collect()
}

/// When something was made, as far as its file system knows: seconds and their fractions. None if it is not there.
fn made(path: &Path) -> Option<(i64, u32)> {
    let status = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
    Some((status.stx_btime.tv_sec, status.stx_btime.tv_nsec))
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// The text of a small file; nothing if it is none.
pub(super) fn read(path: &Path) -> String {
    let is_small = path
        .symlink_metadata()
        .is_ok_and(|data| data.is_file() && data.len() <= MAX_FILE);
    let text = is_small.then(|| fs::read(path).ok()).flatten();
    text.map_or_else(String::new, |text| String::from_utf8_lossy(&text).into_owned())
}

/// The values of a key in a file of git's settings, as far as we must understand those.
pub(super) fn values<'a>(settings: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    settings
        .lines()
        .filter_map(|line| line.split_once('='))
        // The first of a section may stand behind its name: `[core] hooksPath = x`.
        .map(|(name, value)| (name.rsplit(']').next().unwrap_or(name), value))
        .filter(move |(name, _)| name.trim().eq_ignore_ascii_case(key))
        .map(|(_, value)| value.trim().trim_matches('"'))
}
