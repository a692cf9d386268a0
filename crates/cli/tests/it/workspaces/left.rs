//! What of a workspace is left on this machine.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the kernel shows control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Processes, for people.
pub(super) fn named(pids: &[u32]) -> Vec<String> {
    pids.iter().map(|pid| format!("process {pid}")).collect()
}

/// The mounts that name something.
pub(super) fn mounts(words: &str) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let named = mounts.lines().filter(|line| line.contains(words));
    named.map(|line| format!("mount {line}")).collect()
}

/// The control groups that are named after something.
pub(super) fn control_groups(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut places = vec![PathBuf::from(GROUPS)];
    while let Some(place) = places.pop() {
        let below = directories(&place);
        let named = below.iter().filter(|path| is_named(path, words));
        found.extend(named.map(|path| format!("control group {}", path.display())));
        places.extend(below);
    }
    found
}

/// One may go while they are listed.
fn directories(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

fn is_named(path: &Path, words: &str) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().contains(words)
}
