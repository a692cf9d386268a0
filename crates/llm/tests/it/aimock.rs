//! An independent server that speaks the providers' wire formats: `aimock`, an npm package.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::NamedTempFile;

const PACKAGE: &str = "@copilotkit/aimock@1.43.0";

/// A running `aimock`; it ends with this value.
pub(crate) struct Aimock {
    process: Child,
    url: String,
    _fixtures: NamedTempFile,
}

impl Drop for Aimock {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl Aimock {
    /// Starts it with these fixtures on a free port. `None` where it cannot be had, which is said.
    #[allow(clippy::print_stderr)]
    pub(crate) fn start(fixtures: &Value) -> Option<Self> {
        let program = match installed() {
            Ok(program) => program,
            Err(reason) => {
                eprintln!("skipped: no {PACKAGE}: {reason}");
                return None;
            }
        };
        let mut file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
        write!(file, "{fixtures}").unwrap();
        let mut process = Command::new("node")
            .arg(program)
            .args(["--port", "0", "--strict", "--chunk-size", "7", "--fixtures"])
            .arg(file.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines
            .find_map(|line| Some(line.unwrap().split_once("listening on ")?.1.trim().to_owned()))
            .expect("aimock ended before it listened");
        // It goes on writing: somebody must read, or it stops.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self {
            process,
            url,
            _fixtures: file,
        })
    }

    /// Where it listens, without a path.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// The program, installed on the first use. Tests run side by side, so one installs and the others wait.
fn installed() -> Result<PathBuf, String> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aimock-1.43.0");
    let marker = dir.join("installed");
    fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let lock = File::create(dir.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if !marker.exists() {
        let output = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .arg(PACKAGE)
            .output()
            .map_err(|error| format!("npm: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        File::create(&marker).map_err(|error| error.to_string())?;
    }
    Ok(dir.join("node_modules/@copilotkit/aimock/dist/cli.js"))
}
