//! `deft doctor`: what this machine offers, and what to do about what it lacks.

mod machines;
mod places;
mod proxies;

use std::env;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use deft_workspace::sandbox::{Machine, Plan, Tier};
use rustix::fs::statvfs;
use serde::Serialize;

use crate::args::Doctor;
use crate::exit::Exit;
use crate::output::{Style, check_line};
use crate::settings::{Settings, Surroundings};
use crate::workspace;

/// Less free space than this is worth a warning.
const LITTLE_SPACE: u64 = 2 * 1024 * 1024 * 1024;
const GIGABYTE: u64 = 1024 * 1024 * 1024;

/// One thing that was looked at.
#[derive(Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) state: State,
    /// What was found, and what to do.
    pub(crate) text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Good,
    /// Something works less well, or not at all, that not everybody needs.
    Missing,
    /// Deft does not work like this.
    Bad,
}

pub(crate) async fn doctor(args: &Doctor) -> anyhow::Result<Exit> {
    let asked = args.workspace.as_ref();
    let args = &args.listing;
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let mut checks = checks(&settings, &surroundings.current_dir);
    checks.extend(proxies::checks().await);
    checks.extend(Box::pin(places::checks(asked, &settings)).await);
    checks.extend(Box::pin(machines::checks(&settings)).await);
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&checks)?)?;
    } else {
        let style = if out.is_terminal() {
            Style::coloured()
        } else {
            Style::default()
        };
        for check in &checks {
            write!(
                anstream::AutoStream::auto(&mut out),
                "{}",
                check_line(check, &style)
            )?;
        }
    }
    let is_bad = checks.iter().any(|check| check.state == State::Bad);
    Ok(if is_bad { Exit::Failed } else { Exit::Finished })
}

fn checks(settings: &Settings, here: &Path) -> Vec<Check> {
    let machine = Machine::probe();
    let mut checks = vec![
        landlock(&machine),
        check(
            "seccomp",
            machine.seccomp,
            "system calls are filtered",
            "the kernel cannot filter system calls",
        ),
        match &machine.bubblewrap {
            Ok(program) => good("bubblewrap", format!("{} works", program.display())),
            Err(reason) => missing("bubblewrap", reason.to_string()),
        },
        control_groups(&machine),
    ];
    checks.extend(sandbox(settings, &machine, here));
    checks.extend([
        program("bash", State::Bad, "the agent's terminal needs it: install bash"),
        program("git", State::Missing, "agents use it: install git"),
        program(
            "ssh",
            State::Missing,
            "needed for workspaces on other machines: install openssh-client",
        ),
        id_mapping(),
        space(&settings.data_dir.value),
    ]);
    checks
}

fn landlock(machine: &Machine) -> Check {
    match machine.landlock {
        0 => bad(
            "Landlock",
            "the kernel has none, or it is switched off: use Linux 6.2 or later, and see that landlock is in the lsm= list of the kernel's command line",
        ),
        version => good("Landlock", format!("version {version} or later")),
    }
}

fn control_groups(machine: &Machine) -> Check {
    if machine.controllers.is_empty() {
        missing(
            "cgroup v2",
            "not delegated, so that processes and memory of an agent are not limited: start Deft by systemd-run --user --scope -p Delegate=yes",
        )
    } else {
        good("cgroup v2", machine.controllers.join(", "))
    }
}

/// What the settings come to here.
fn sandbox(settings: &Settings, machine: &Machine, here: &Path) -> Vec<Check> {
    let plan = workspace::policy(settings).and_then(|policy| Ok(Plan::new(policy, machine, here)?));
    match plan {
        Ok(plan) => {
            let text = match plan.tier {
                Tier::Namespaces => "namespaces, Landlock and seccomp",
                Tier::Landlock => "Landlock and seccomp",
            };
            let gaps = plan.gaps.iter().map(|gap| missing("sandbox", gap.to_string()));
            std::iter::once(good("sandbox", text)).chain(gaps).collect()
        }
        Err(error) => vec![bad("sandbox", format!("{error:#}"))],
    }
}

fn program(name: &'static str, without: State, hint: &str) -> Check {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file());
    match found {
        Some(file) => good(name, file.display().to_string()),
        None => Check {
            name,
            state: without,
            text: format!("not found; {hint}"),
        },
    }
}

/// Whether an engine of this user's own, without root, can give the users of its containers ids.
fn id_mapping() -> Check {
    const NAME: &str = "uid mapping";
    let uid = rustix::process::getuid();
    if uid.is_root() {
        return good(NAME, "this is root, who needs none");
    }
    let user = env::var("USER").unwrap_or_default();
    let ranges = std::fs::read_to_string("/etc/subuid").unwrap_or_default();
    match mapped(&ranges, &user, uid.as_raw()) {
        Some(count) => good(
            NAME,
            format!("{count} ids for containers of an engine of your own"),
        ),
        None => missing(
            NAME,
            format!(
                "none in /etc/subuid, so that Docker and Podman need root here: \
                 sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}"
            ),
        ),
    }
}

/// How many ids a user may give on, by the lines `user:first:count`.
fn mapped(ranges: &str, user: &str, uid: u32) -> Option<u64> {
    let uid = uid.to_string();
    let counts = ranges.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let whose = fields.next()?;
        let is_theirs = whose == uid || !user.is_empty() && whose == user;
        is_theirs.then(|| fields.nth(1)?.trim().parse::<u64>().ok())?
    });
    Some(counts.sum()).filter(|count| *count > 0)
}

fn space(data_dir: &Path) -> Check {
    // It may not have been made yet.
    let existing = data_dir
        .ancestors()
        .find(|path| path.exists())
        .map_or_else(PathBuf::new, Path::to_owned);
    match statvfs(&existing) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let text = format!("{} GB free at {}", free / GIGABYTE, existing.display());
            if free < LITTLE_SPACE {
                missing(
                    "disk",
                    format!("{text}: that is little; make room, or set data_dir to another disk"),
                )
            } else {
                good("disk", text)
            }
        }
        Err(error) => missing("disk", format!("{}: {error}", existing.display())),
    }
}

fn check(name: &'static str, is_there: bool, found: &str, without: &str) -> Check {
    if is_there {
        good(name, found)
    } else {
        bad(name, without)
    }
}

fn good(name: &'static str, text: impl Into<String>) -> Check {
    Check {
        name,
        state: State::Good,
        text: text.into(),
    }
}

fn missing(name: &'static str, text: impl Into<String>) -> Check {
    Check {
        state: State::Missing,
        ..good(name, text)
    }
}

fn bad(name: &'static str, text: impl Into<String>) -> Check {
    Check {
        state: State::Bad,
        ..good(name, text)
    }
}

#[cfg(test)]
mod tests {
    use super::mapped;

    #[test]
    fn ids_are_found_by_name_and_by_number() {
        let ranges = "ann:100000:65536\n1001:200000:10\nbob:x\n";
        assert_eq!(mapped(ranges, "ann", 1000), Some(65536));
        assert_eq!(mapped(ranges, "", 1001), Some(10));
        assert_eq!(mapped(ranges, "bob", 1002), None);
        assert_eq!(mapped(ranges, "", 1002), None);
    }
}
