//! How much a sandbox may use, enforced by a group of cgroup v2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};

use crate::policy::ResourceLimits;

/// How the names of our groups begin; the process that made it follows.
const PREFIX: &str = "deft-sandbox-";
/// Processes and threads where nobody says otherwise: enough for any build, too few to stop the machine.
const DEFAULT_PIDS: u64 = 4096;
/// What we can use.
const CONTROLLERS: [&str; 3] = ["pids", "memory", "cpu"];
/// Microseconds of the time in which a share of the processors is counted.
const CPU_PERIOD: u64 = 100_000;
/// The file of a group that takes in a process.
const PROCESSES: &str = "cgroup.procs";
/// How often, and how far apart, the removal of a group is tried.
const REMOVALS: usize = 50;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(10);

/// Names, in the environment of what is shut in, the group it is in: a name that the sandbox does not change.
pub const GROUP_VARIABLE: &str = "DEFT_GROUP";

/// The controllers that groups of ours would have.
pub(super) fn controllers() -> Vec<&'static str> {
    parent().map_or_else(Vec::new, |parent| given_on(&parent))
}

/// A group of ours, which this process is in. It is left and removed at the end.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) place: PathBuf,
    /// Where this process was before.
    before: PathBuf,
}

impl Group {
    /// Puts this process, and all it will start, into a group with these limits. Where there are no groups, nothing is
    /// done: whoever asked for a limit was refused before.
    pub(super) fn join(limits: ResourceLimits) -> io::Result<Option<Self>> {
        let (Some(parent), Some((_, before))) = (parent(), own_group()) else {
            return Ok(None);
        };
        remove_left_behind(&parent);
        let place = parent.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&place)?;
        let group = Self { place, before };
        group.limit(limits, &given_on(&parent))?;
        fs::write(group.place.join(PROCESSES), "0")?;
        Ok(Some(group))
    }

    fn limit(&self, limits: ResourceLimits, given: &[&str]) -> io::Result<()> {
        let set = |controller: &str, file: &str, value: Option<String>| match value {
            Some(value) if given.contains(&controller) => fs::write(self.place.join(file), value),
            _ => Ok(()),
        };
        let pids = limits.pids.unwrap_or(DEFAULT_PIDS);
        set("pids", "pids.max", Some(pids.to_string()))?;
        let memory = limits.memory.map(|bytes| bytes.to_string());
        set("memory", "memory.max", memory)?;
        let share = |hundredths: u64| format!("{} {CPU_PERIOD}", hundredths * CPU_PERIOD / 100);
        set("cpu", "cpu.max", limits.cpu.map(share))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let left = fs::write(self.before.join(PROCESSES), "0");
        // A process that is about to end still counts for a moment.
        for _ in 0..REMOVALS {
            if left.is_err() || fs::remove_dir(&self.place).is_ok() {
                return; // who cannot leave it has it removed by the next one
            }
            std::thread::sleep(BETWEEN_REMOVALS);
        }
    }
}

/// The nearest group above or at ours that gives controllers on and in which we may make another.
fn parent() -> Option<PathBuf> {
    let (mount, group) = own_group()?;
    let groups = group.ancestors().take_while(|group| group.starts_with(&mount));
    groups
        .filter(|group| !given_on(group).is_empty())
        .find(|group| {
            access(*group, Access::WRITE_OK).is_ok()
                && access(group.join(PROCESSES), Access::WRITE_OK).is_ok()
        })
        .map(Path::to_owned)
}

/// Where groups are, and which is ours.
fn own_group() -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    place_of(&mounts, &own)
}

fn given_on(group: &Path) -> Vec<&'static str> {
    let given = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    let given: Vec<&str> = given.split_whitespace().collect();
    CONTROLLERS
        .into_iter()
        .filter(|name| given.contains(name))
        .collect()
}

/// The same from the two files the kernel tells it in.
fn place_of(mounts: &str, own: &str) -> Option<(PathBuf, PathBuf)> {
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        (kind.split(' ').next() == Some("cgroup2")).then(|| place.split(' ').nth(4))?
    })?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some((mount.into(), Path::new(mount).join(group)))
}

/// Removes what sandboxes have left that could not tidy up, because they were killed.
pub fn remove_groups_left_behind() {
    if let Some(parent) = parent() {
        remove_left_behind(&parent);
    }
}

/// Removes the empty groups of processes that are gone.
fn remove_left_behind(parent: &Path) {
    for group in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = group.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(group.path()); // refused while somebody is in it
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_ours_are_found_where_the_kernel_says() {
        let mounts = "36 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let own = "0::/user.slice/deft.scope\n";
        let expected = (
            "/sys/fs/cgroup".into(),
            "/sys/fs/cgroup/user.slice/deft.scope".into(),
        );
        assert_eq!(place_of(mounts, own), Some(expected));
        assert_eq!(place_of("", own), None);
    }

    #[test]
    fn only_controllers_that_are_given_on_count() {
        let group = tempfile::tempdir().unwrap();
        assert!(given_on(group.path()).is_empty());
        fs::write(
            group.path().join("cgroup.subtree_control"),
            "cpuset memory pids\n",
        )
        .unwrap();
        assert_eq!(given_on(group.path()), ["pids", "memory"]);
    }
}
