//! Finds and kills what was started here, wherever it hid.
//!
//! A process group or a session can be left by any program with `setsid`; being a descendant cannot, as long as
//! this process is the *subreaper* of its tree: orphans then become its children instead of init's. So a walk
//! over `/proc` finds everything.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper, waitid,
    waitpid,
};

/// Names, in the environment of all that a shell starts, the shell.
pub const SHELL_VARIABLE: &str = "DEFT_SHELL";

/// How often the tree is walked again for processes that were born during the last walk.
const KILL_ROUNDS: u32 = 250;
/// How often a process is looked at again that may be about to run another program: on a busy machine, or where that must
/// be read from a disk, it takes its time.
const EXEC_ROUNDS: u32 = 150;
/// The largest environment that systems usually let a program have.
const MAX_ENVIRONMENT: usize = 2 * 1024 * 1024;
/// How long killed processes get to go away between two walks.
const KILL_PAUSE: Duration = Duration::from_millis(2);

/// Makes this process the new parent of orphaned descendants. To be called once, early, by the process that
/// owns a [`crate::Toolbox`]. That process must start no sessions of its own: a child in another session is held
/// for an orphan, and killed when the toolbox is closed.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// All that was started here, by whomever in between. Waits for the disk.
pub fn descendants() -> Vec<u32> {
    Table::read().descendants_of(getpid().as_raw_pid().cast_unsigned())
}

/// Kills all descendants of a process, again and again until none is left, but not the process itself.
pub async fn kill_descendants_of(pid: u32) {
    kill_all(move |table| table.descendants_of(pid)).await;
}

/// Kills what has this variable in its environment, with all that it has started. Waits for the disk.
pub fn kill_marked(variable: &str, value: &str) {
    kill_until_gone(|table| {
        let alive = table.0.values().filter(|process| !process.ended);
        let marked = alive.filter(|process| variable_of(process.pid, variable).as_deref() == Some(value));
        marked
            .flat_map(|process| [vec![process.pid], table.descendants_of(process.pid)])
            .flatten()
            .collect()
    });
}

/// Whether a shell runs something beside itself. Waits for the disk.
pub fn shells_have_programs() -> bool {
    let mut shells = HashSet::new();
    let names = descendants().into_iter();
    let mut names = names.filter_map(|pid| variable_of(pid, SHELL_VARIABLE));
    names.any(|name| !shells.insert(name.split('/').next().unwrap_or_default().to_owned()))
}

/// Stops all that was started here and gives who was stopped. Each only when its parent stands still, or a shell would see
/// its command stop and take it for one that somebody has put aside. Waits for the disk.
pub fn stop_descendants() -> Vec<u32> {
    let me = getpid().as_raw_pid().cast_unsigned();
    let mut stopped = Vec::new();
    for _ in 0..KILL_ROUNDS {
        let table = Table::read();
        let mut moving = table.descendants_of(me);
        moving.retain(|pid| !table.is_stopped(*pid));
        if moving.is_empty() {
            break;
        }
        for pid in moving {
            let parent = table.0.get(&pid).map(|process| process.parent);
            let may_stop = parent.is_some_and(|parent| parent == me || table.is_stopped(parent));
            if may_stop && !stopped.contains(&pid) {
                let _ = pid_of(pid).map(|target| kill_process(target, Signal::STOP));
                stopped.push(pid);
            }
        }
        thread::sleep(KILL_PAUSE);
    }
    stopped
}

/// Lets those go on that were stopped, children first.
pub fn continue_processes(stopped: &[u32]) {
    for target in stopped.iter().rev().filter_map(|pid| pid_of(*pid)) {
        let _ = kill_process(target, Signal::CONT); // it may have been killed
    }
}

/// What one shell has started: itself and all below, and orphans that came to this process.
#[derive(Clone, Debug)]
pub struct Family {
    /// The value of [`SHELL_VARIABLE`]. A family `a` includes what says `a/b`.
    pub name: String,
    /// The shell, if it runs.
    pub shell: Option<u32>,
}

impl Family {
    /// Kills everything, the shell too.
    pub async fn kill(&self) {
        let family = self.clone();
        kill_all(move |table| {
            let mut members = family.members(table);
            members.extend(family.shell.filter(|shell| table.is_alive(*shell)));
            members
        })
        .await;
    }

    /// Kills what was started at or after a moment (see [`now`]); the shell stays.
    pub(crate) async fn kill_younger_than(&self, start: u64) {
        let family = self.clone();
        kill_all(move |table| {
            let mut members = family.members(table);
            members.retain(|pid| table.0.get(pid).is_some_and(|process| process.start >= start));
            members
        })
        .await;
    }

    /// Collects orphans that have ended. Costs one system call when there are none.
    pub(crate) async fn reap(&self) {
        let zombies = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if !matches!(waitid(WaitId::All, zombies), Ok(Some(_))) {
            return;
        }
        let family = self.clone();
        // It cannot panic, and if the runtime is going down nothing needs to be collected.
        let _ = tokio::task::spawn_blocking(move || family.reap_in(&Table::read())).await;
    }

    fn members(&self, table: &Table) -> Vec<u32> {
        self.reap_in(table);
        let mut members = self
            .shell
            .map_or_else(Vec::new, |shell| table.descendants_of(shell));
        for orphan in self.orphans(table).filter(|orphan| !orphan.ended) {
            members.push(orphan.pid);
            members.extend(table.descendants_of(orphan.pid));
        }
        members
    }

    fn reap_in(&self, table: &Table) {
        for orphan in self.orphans(table).filter(|orphan| orphan.ended) {
            // Another walk may have been quicker.
            let _ = waitpid(pid_of(orphan.pid), WaitOptions::NOHANG);
        }
    }

    /// Children of this process that it did not start. What a shell has started says whose it is; other children
    /// that this process starts itself stay in its session.
    fn orphans<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a Process> {
        let me = getpid().as_raw_pid().cast_unsigned();
        let session = table.0.get(&me).map(|process| process.session);
        table.0.values().filter(move |process| {
            process.parent == me
                && Some(process.pid) != self.shell
                && variable_of(process.pid, SHELL_VARIABLE)
                    .map_or(Some(process.session) != session, |name| self.has(&name))
        })
    }

    fn has(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The processes of a process group that sleep.
pub(crate) fn sleepers_in(group: u32) -> Vec<u32> {
    let table = Table::read();
    let members = table
        .0
        .values()
        .filter(|process| process.group == group && process.sleeps);
    members.map(|process| process.pid).collect()
}

/// The present, on the clock that says when processes started: hundredths of a second since boot.
pub(crate) fn now() -> u64 {
    fs::read_to_string("/proc/uptime")
        .ok()
        .and_then(|text| text.split(' ').next()?.replace('.', "").parse().ok())
        .unwrap_or(0)
}

async fn kill_all(select: impl Fn(&Table) -> Vec<u32> + Send + 'static) {
    // It cannot panic, and a runtime that is going down has no use for the outcome.
    let _ = tokio::task::spawn_blocking(move || kill_until_gone(select)).await;
}

fn kill_until_gone(select: impl Fn(&Table) -> Vec<u32>) {
    for _ in 0..KILL_ROUNDS {
        let targets = select(&Table::read());
        if targets.is_empty() {
            return;
        }
        for target in targets.into_iter().filter_map(pid_of) {
            // Gone already, or not ours to kill: the next walk tells.
            let _ = kill_process(target, Signal::KILL);
        }
        thread::sleep(KILL_PAUSE);
    }
    tracing::warn!("some processes could not be killed");
}

#[derive(Debug)]
struct Process {
    pid: u32,
    parent: u32,
    group: u32,
    session: u32,
    start: u64,
    sleeps: bool,
    stopped: bool,
    ended: bool,
}

/// All processes of the system at one moment.
struct Table(HashMap<u32, Process>);

impl Table {
    fn read() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        Self(
            entries
                .filter_map(|entry| {
                    let pid = entry.file_name().to_str()?.parse().ok()?;
                    let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
                    Some((pid, parse_stat(pid, &stat)?))
                })
                .collect(),
        )
    }

    fn is_alive(&self, pid: u32) -> bool {
        self.0.get(&pid).is_some_and(|process| !process.ended)
    }

    fn is_stopped(&self, pid: u32) -> bool {
        self.0.get(&pid).is_some_and(|process| process.stopped)
    }

    fn descendants_of(&self, root: u32) -> Vec<u32> {
        let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
        for process in self.0.values() {
            children.entry(process.parent).or_default().push(process);
        }
        let (mut found, mut open) = (Vec::new(), vec![root]);
        while let Some(parent) = open.pop() {
            for child in children.remove(&parent).into_iter().flatten() {
                open.push(child.pid);
                if !child.ended {
                    found.push(child.pid);
                }
            }
        }
        found
    }
}

/// Reads `pid (name) state parent group session …`; the name may contain anything.
fn parse_stat(pid: u32, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split(' ').collect();
    Some(Process {
        pid,
        sleeps: *fields.first()? == "S",
        stopped: *fields.first()? == "T",
        ended: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

fn variable_of(pid: u32, name: &str) -> Option<String> {
    let mut environment = environment_of(pid).ok()?;
    // Nothing to see is what it has none of, or a moment in which it becomes another program.
    for _ in 0..EXEC_ROUNDS {
        if !environment.is_empty() || !has_program(pid) {
            break;
        }
        if has_no_words(pid) {
            thread::sleep(KILL_PAUSE);
        }
        environment = environment_of(pid).ok()?;
    }
    environment.split(|byte| *byte == 0).find_map(|entry| {
        let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// In one piece: between two it may have become another program.
fn environment_of(pid: u32) -> io::Result<Vec<u8>> {
    let mut environment = vec![0; MAX_ENVIRONMENT];
    let count = File::open(format!("/proc/{pid}/environ"))?.read(&mut environment)?;
    environment.truncate(count);
    Ok(environment)
}

/// What the kernel runs itself has none, nor what has ended.
fn has_program(pid: u32) -> bool {
    fs::read_link(format!("/proc/{pid}/exe")).is_ok()
}

/// Between two programs a process has no command line either.
fn has_no_words(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.is_empty())
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(pid.cast_signed())
}
