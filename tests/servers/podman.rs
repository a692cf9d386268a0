//! A Podman of the tests' own that serves Docker's API: its data and its socket are apart from the system's.
//!
//! It ends with whoever started it. Its data stays in the target directory, so that the image is made only once.

use std::fs;
use std::path::Path;

use super::dockerd::{Dockerd, find};

/// As root without all of its capabilities: the usual limits cannot be raised there.
const SETTINGS: &str = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\"]\n";

/// Starts it, or tells why this machine cannot.
pub(crate) fn start(data: &Path) -> Result<Dockerd, String> {
    for program in ["podman", "conmon", "setpriv", "tar", "ldd"] {
        if find(program).is_none() {
            return Err(format!("there is no `{program}`"));
        }
    }
    let started = Dockerd::run(data, |place, command| {
        let settings = place.join("containers.conf");
        fs::write(&settings, SETTINGS)?;
        command
            .env("CONTAINERS_CONF", &settings)
            .args([
                "podman",
                "--storage-driver",
                "vfs",
                "--cgroup-manager",
                "cgroupfs",
            ])
            .args(["--events-backend", "file", "--root"])
            .arg(data.join("data"))
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
