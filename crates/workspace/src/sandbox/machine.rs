//! What a machine offers to shut a process in with.

use std::env;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};

use super::cgroup;
use super::landlock::{self, Abi};
use super::seccomp;

/// Sockets through which all of a machine can be had.
pub(super) const ENGINE_SOCKETS: [&str; 7] = [
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/var/lib/incus/unix.socket",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
];

/// The first two numbers of a version.
type Version = (u32, u32);
/// The first bubblewrap that binds over what is no plain file.
const HIDES_SOCKETS: Version = (0, 5);

/// What was found. Nothing of it is remembered between runs: kernels and packages change.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The version of Landlock; 0 where there is none.
    pub landlock: u8,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// The bubblewrap program, if it works here.
    pub bubblewrap: Result<PathBuf, Unavailable>,
    /// Whether it can hide a socket: older ones put something over plain files and directories only.
    pub hides_sockets: bool,
    /// The controllers of cgroup v2 that can be used for groups of our own.
    pub controllers: Vec<&'static str>,
    /// Sockets of container engines that this user may talk to.
    pub engine_sockets: Vec<PathBuf>,
}

/// Why something cannot be used, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// It is not installed.
    #[error("bwrap is not installed; install the package bubblewrap")]
    NotInstalled,
    /// It is there and fails.
    #[error(
        "bwrap fails here ({0}); allow unprivileged user namespaces (on Ubuntu: an AppArmor profile for bwrap)"
    )]
    Fails(String),
}

impl Machine {
    /// Looks, and tries what only a trial can tell.
    pub fn probe() -> Self {
        let (bubblewrap, hides_sockets) = match bubblewrap() {
            Ok((program, version)) => (Ok(program), version >= HIDES_SOCKETS),
            Err(reason) => (Err(reason), false),
        };
        let sockets = ENGINE_SOCKETS.iter().map(PathBuf::from).chain(users_podman());
        Self {
            landlock: landlock::supported().map_or(0, Abi::number),
            seccomp: seccomp::is_supported(),
            bubblewrap,
            hides_sockets,
            controllers: cgroup::controllers(),
            engine_sockets: sockets.filter(|path| is_open_socket(path)).collect(),
        }
    }
}

/// The program and its version.
fn bubblewrap() -> Result<(PathBuf, Version), Unavailable> {
    let program = find("bwrap").ok_or(Unavailable::NotInstalled)?;
    // The very namespaces and mounts that a sandbox needs: containers often forbid one of them.
    let trial = Command::new(&program)
        .args(["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"])
        .args([
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
        ])
        .args(["--", "/proc/self/exe", "--version"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Unavailable::Fails(error.to_string()))?;
    if trial.status.success() {
        let said = String::from_utf8_lossy(&trial.stdout);
        return Ok((program, version(&said)));
    }
    let said = String::from_utf8_lossy(&trial.stderr);
    let line = said.lines().next().unwrap_or("it says nothing").trim();
    Err(Unavailable::Fails(line.chars().take(200).collect()))
}

/// What it says of itself, as in `bubblewrap 0.8.0`. Who says something else is taken for an old one.
fn version(said: &str) -> Version {
    let numbers = said.split_whitespace().nth(1).unwrap_or_default().split('.');
    let mut numbers = numbers.map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The first program of this name on the search path.
fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| access(file, Access::EXEC_OK).is_ok())
}

fn users_podman() -> Option<PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR")?;
    Some(Path::new(&runtime).join("podman/podman.sock"))
}

fn is_open_socket(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.file_type().is_socket()) && access(path, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_of_bubblewrap_hide_no_sockets() {
        for (said, hides) in [
            ("bubblewrap 0.4.1\n", false),
            ("bubblewrap 0.5.0\n", true),
            ("bubblewrap 0.11.0\n", true),
            ("bubblewrap 1.0\n", true),
            ("something else\n", false),
            ("", false),
        ] {
            assert_eq!(version(said) >= HIDES_SOCKETS, hides, "{said}");
        }
    }
}
