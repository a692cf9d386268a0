//! Whether the kernel has ended something here for want of memory.

use std::fs;
use std::path::Path;

use deft_workspace::sandbox::GROUP_VARIABLE;

/// What a control group says of that, in the second version and in the first one.
const EVENTS: &str = "memory.events";
const CONTROL: &str = "/sys/fs/cgroup/memory/memory.oom_control";
const GROUPS: &str = "/sys/fs/cgroup";

/// How often that has happened in our control group; none where nobody tells.
pub(crate) fn times() -> Option<u64> {
    let ours = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let ours = ours.lines().find_map(|line| line.strip_prefix("0::/"));
    // A sandbox says which is its own; inside of a container that stands at the top.
    let named = std::env::var(GROUP_VARIABLE).ok();
    let told = [named.as_deref(), ours, Some("")]
        .into_iter()
        .flatten()
        .find_map(|group| fs::read_to_string(Path::new(GROUPS).join(group).join(EVENTS)).ok())
        .or_else(|| fs::read_to_string(CONTROL).ok())?;
    count(&told)
}

fn count(told: &str) -> Option<u64> {
    let mut lines = told.lines();
    lines.find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn both_versions_of_control_groups_are_read() {
        let second = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n";
        assert_eq!(count(second), Some(2));
        assert_eq!(count("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"), Some(5));
        assert_eq!(count("oom_kill_disable 0\nunder_oom 0\n"), None);
    }
}
