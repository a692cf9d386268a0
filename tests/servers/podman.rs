//! A Podman of the tests' own that serves Docker's API: its data and its socket are apart from the system's.
//!
//! It ends with whoever started it, and so does its data, which remembers where its passing files were.

use std::fs;
use std::path::Path;

use super::dockerd::{Dockerd, find};

/// Its usual limits are above those of this process, and a root that lacks some of its capabilities cannot raise them.
const SETTINGS: &str = "[containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\n";

/// Starts it, or tells why this machine cannot.
pub(crate) fn start(data: &Path) -> Result<Dockerd, String> {
    for program in ["podman", "conmon", "setpriv", "tar", "ldd"] {
        if find(program).is_none() {
            return Err(format!("there is no `{program}`"));
        }
    }
    let started = Dockerd::run(data, |place, command| {
        let config = place.join("containers.conf");
        fs::write(&config, SETTINGS)?;
        command
            .env("CONTAINERS_CONF", &config)
            .args([
                "podman",
                "--storage-driver",
                "vfs",
                "--cgroup-manager",
                "cgroupfs",
            ])
            .args(["--events-backend", "file", "--root"])
            .arg(place.join("data"))
            .arg("--runroot")
            .arg(place.join("run"))
            .arg("--tmpdir")
            .arg(place.join("tmp"))
            .args(["system", "service", "--time", "0"])
            .arg(format!("unix://{}", place.join("socket").display()));
        Ok(())
    });
    started.map_err(|error| format!("podman does not run: {error}"))
}
