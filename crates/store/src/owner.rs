//! Who holds a lease, and whether they are still alive.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A process that may hold leases. Two made by one process are two different owners.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// For people.
    host: String,
    /// The boot of the host and the process namespace: only within one do process ids mean anything. None
    /// where the system does not tell.
    place: Option<String>,
    pid: u32,
    /// Tells a process from a later one with the same id.
    started: Option<u64>,
    token: Uuid,
}

impl Owner {
    /// This process.
    pub fn this_process() -> Self {
        let pid = std::process::id();
        Self {
            host: fs::read_to_string("/proc/sys/kernel/hostname")
                .map_or_else(|_| "this network".to_owned(), |name| name.trim().to_owned()),
            place: place().ok(),
            pid,
            started: process(pid).map(|(_, started)| started),
            token: Uuid::new_v4(),
        }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The name of its host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether its process has certainly ended, as seen by another process. False where that cannot be told
    /// from here: on another host, or in another container.
    pub(crate) fn is_gone(&self, seen_by: &Self) -> bool {
        if self.place.is_none() || self.place != seen_by.place {
            return false;
        }
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        if test_kill_process(pid) == Err(Errno::SRCH) {
            return true;
        }
        process(self.pid).is_some_and(|(state, started)| {
            let is_dead = matches!(state, 'Z' | 'X');
            is_dead || self.started.is_some_and(|ours| ours != started)
        })
    }
}

fn place() -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let namespace = fs::read_link("/proc/self/ns/pid")?;
    Ok(format!("{} {}", boot.trim(), namespace.display()))
}

/// The state of a process and when it started, in ticks since boot.
fn process(pid: u32) -> Option<(char, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold anything; the third is the state,
    // the twenty-second the start.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let started = fields.nth(18)?.parse().ok()?;
    Some((state, started))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_living_process_is_not_gone_and_its_successor_under_the_same_id_is_another() {
        let this = Owner::this_process();
        assert!(!this.is_gone(&Owner::this_process()));
        let predecessor = Owner {
            started: Some(1),
            ..this.clone()
        };
        assert!(predecessor.is_gone(&this));
    }

    #[test]
    fn an_ended_process_is_gone_even_before_it_is_reaped_but_only_seen_from_its_own_place() {
        let this = Owner::this_process();
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let owner = Owner {
            pid: child.id(),
            started: process(child.id()).map(|(_, started)| started),
            ..this.clone()
        };
        assert!(!owner.is_gone(&this));
        child.kill().unwrap();
        while !owner.is_gone(&this) {
            std::thread::yield_now(); // a zombie as soon as the kernel has delivered the signal
        }
        child.wait().unwrap();
        assert!(owner.is_gone(&this));
        let elsewhere = Owner {
            place: Some("another boot".to_owned()),
            ..this
        };
        assert!(!owner.is_gone(&elsewhere));
    }
}
