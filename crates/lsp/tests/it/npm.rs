//! Language servers from the npm registry, installed on the first use.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory with the programs of a package. `None` where it cannot be had, which is said.
#[allow(clippy::print_stderr)]
pub(super) fn programs(name: &str, packages: &[&str]) -> Option<PathBuf> {
    match installed(name, packages) {
        Ok(directory) => Some(directory),
        Err(reason) => {
            eprintln!("skipped: no {name}: {reason}");
            None
        }
    }
}

/// Tests run side by side, so one installs and the others wait.
fn installed(name: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let marker = dir.join("installed");
    fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let lock = File::create(dir.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if !marker.exists() {
        let output = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .args(packages)
            .output()
            .map_err(|error| format!("npm: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        File::create(&marker).map_err(|error| error.to_string())?;
    }
    Ok(dir.join("node_modules/.bin"))
}
