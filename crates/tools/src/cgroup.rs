//! A control group for everything that a toolbox starts, where the system lets us make one. It cannot be left
//! by any trick, and the kernel kills all its members in one go, however fast they multiply.

use std::fs;
use std::path::{Path, PathBuf};

/// How the names of our groups begin; the process that made it follows.
const PREFIX: &str = "deft-";

/// A group of our own. Removed when it is dropped, if it is empty by then.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// Makes a group below this process's own. None where there is no cgroup v2, or it is not ours to divide.
    pub(crate) fn create(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let parent = group_of(&mounts, &own)?;
        remove_left_behind(&parent);
        let path = parent.join(format!("{PREFIX}{}-{name}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self { path };
        // Kernels before 5.14 cannot kill a group; the walk over the process tree does it there.
        group.path.join("cgroup.kill").exists().then_some(group)
    }

    /// Takes a process in; what it starts from now on is in too.
    pub(crate) fn add(&self, pid: u32) {
        if let Err(error) = fs::write(self.path.join("cgroup.procs"), pid.to_string()) {
            tracing::warn!(%error, "a shell could not be put into its control group");
        }
    }

    /// Kills every member. They count as members until they are gone, which is a little later.
    pub(crate) fn kill(&self) {
        if let Err(error) = fs::write(self.path.join("cgroup.kill"), "1") {
            tracing::warn!(%error, "a control group could not be killed");
        }
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // A member on its way out keeps it; whoever makes the next group removes it then.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Removes the empty groups of processes that are gone.
fn remove_left_behind(parent: &Path) {
    for group in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = group.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let owner = owner.and_then(|pid| pid.parse::<u32>().ok()); // others' groups have other names
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir(group.path()); // refused while somebody is in it
        }
    }
}

/// Where the group of this process is, from the two files the kernel tells it in.
fn group_of(mounts: &str, own: &str) -> Option<PathBuf> {
    // `36 25 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw`
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        (kind.split(' ').next() == Some("cgroup2")).then(|| place.split(' ').nth(4))?
    })?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_group_is_found_where_the_kernel_says() {
        let mounts = "35 24 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      36 24 0:30 / /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let own = "8:pids:/\n0::/user.slice/deft.scope\n";
        let expected = PathBuf::from("/sys/fs/cgroup/unified/user.slice/deft.scope");
        assert_eq!(group_of(mounts, own), Some(expected));
        assert_eq!(group_of(mounts, "8:pids:/\n"), None);
        assert_eq!(group_of("", own), None);
    }

    #[test]
    fn a_killed_group_has_no_members_left() {
        let Some(group) = ControlGroup::create("test") else {
            println!("skipped: no control group may be made here");
            return;
        };
        let script = "read go; setsid sleep 600 & sleep 600";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        group.add(child.id());
        drop(child.stdin.take());
        group.kill();
        child.wait().unwrap();
        while fs::remove_dir(&group.path).is_err() {
            std::thread::yield_now(); // members that are on their way out still count
        }
    }
}
