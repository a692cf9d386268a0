//! How much the programs of the workspace use, and how much room there is.

use std::fs;
use std::path::Path;

use deft_tools::descendants;
use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

/// What the kernel tells a container about its limit.
const MEMORY_LIMITS: [&str; 2] = [
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
];
/// How many of the kernel's ticks it tells programs for a second: on every processor the same.
const TICKS_PER_SECOND: u64 = 100;
/// A limit beyond it is none: the old groups say so by a number.
const NO_LIMIT: u64 = 1 << 60;

/// What is used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Programs that run, beside the executor.
    pub processes: u64,
    /// What they have in memory. What several share is counted for each.
    pub memory_bytes: u64,
    /// How much memory there may be, where the kernel was told a limit.
    pub memory_limit_bytes: Option<u64>,
    /// The time of processors that was used since the executor began.
    pub processor_ms: u64,
    /// The size of the disk that the workspace is on.
    pub disk_bytes: u64,
    /// What of it is free.
    pub disk_free_bytes: u64,
}

/// Looks at the processes and at the disk of the workspace. Waits for the disk.
pub(crate) fn figures(workspace: &Path) -> Figures {
    let running = descendants();
    let all = running.iter().map(u32::to_string).chain(["self".to_owned()]);
    let ticks: u64 = all.filter_map(|pid| ticks_of(&stat(&pid)?)).sum();
    let memory = running
        .iter()
        .filter_map(|pid| memory_of(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?));
    let disk = statvfs(workspace).ok();
    let bytes = |blocks: fn(&rustix::fs::StatVfs) -> u64| {
        disk.as_ref()
            .map_or(0, |disk| blocks(disk).saturating_mul(disk.f_frsize))
    };
    Figures {
        processes: running.len() as u64,
        memory_bytes: memory.sum(),
        memory_limit_bytes: MEMORY_LIMITS.iter().find_map(|file| limit(file)),
        processor_ms: ticks.saturating_mul(1000) / TICKS_PER_SECOND,
        disk_bytes: bytes(|disk| disk.f_blocks),
        disk_free_bytes: bytes(|disk| disk.f_bavail),
    }
}

fn stat(pid: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/stat")).ok()
}

/// The numbers behind the name, which may contain anything. The first is the third of the whole.
fn field(stat: &str, number: usize) -> Option<u64> {
    let rest = stat.get(stat.rfind(')')? + 2..)?;
    rest.split(' ').nth(number.checked_sub(3)?)?.trim().parse().ok()
}

/// Its own time and that of the children it has waited for, in user's and in kernel's work.
fn ticks_of(stat: &str) -> Option<u64> {
    (14..=17).map(|number| field(stat, number)).sum()
}

/// What is in memory, by the line `VmRSS: 123 kB`.
fn memory_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn limit(file: &str) -> Option<u64> {
    let limit = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    (limit < NO_LIMIT).then_some(limit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_kernels_line_is_read_whatever_a_program_is_called() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 100 0 0 0 5 6 7 8 20 0 1 0 300 1000000 250 184 1 1";
        assert_eq!(ticks_of(stat), Some(26));
        assert_eq!(memory_of("Name:\tx\nVmRSS:\t     250 kB\n"), Some(256_000));
        assert_eq!(ticks_of("nonsense"), None);
    }

    #[test]
    fn what_runs_here_is_counted() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = figures(Path::new("/"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.processes >= 1 && found.memory_bytes > 0, "{found:?}");
        assert!(
            found.disk_bytes >= found.disk_free_bytes && found.disk_bytes > 0,
            "{found:?}"
        );
    }
}
