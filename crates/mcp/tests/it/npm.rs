//! The reference servers of the protocol, from npm.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The server that has everything.
pub(crate) const EVERYTHING: &str = "@modelcontextprotocol/server-everything/dist/index.js";
const PACKAGES: [&str; 2] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
];
/// An example of the SDK that those are made with.
pub(crate) const WITH_LOGIN: &str =
    "@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js";

/// A script of one of the packages. `None` where they cannot be had, which is said.
#[allow(clippy::print_stderr)]
pub(crate) fn script(path: &str) -> Option<String> {
    match installed() {
        Ok(modules) => Some(modules.join(path).display().to_string()),
        Err(reason) => {
            assert!(std::env::var_os("DEFT_NO_SKIPS").is_none(), "{reason}");
            eprintln!("skipped: no {}: {reason}", PACKAGES.join(", "));
            None
        }
    }
}

/// The modules, installed on the first use. Tests run side by side, so one installs and the others wait.
fn installed() -> Result<PathBuf, String> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-servers-2026.8.31");
    let marker = dir.join("installed");
    fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let lock = File::create(dir.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if !marker.exists() {
        let output = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--prefix"])
            .arg(&dir)
            .args(PACKAGES)
            .output()
            .map_err(|error| format!("npm: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        File::create(&marker).map_err(|error| error.to_string())?;
    }
    Ok(dir.join("node_modules"))
}

/// A server on a port; it ends with this value.
pub(crate) struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Listening {
    /// Starts a script that takes its port from a variable, and waits until it says that it listens.
    pub(crate) fn start(script: &str, args: &[&str], port: u16, variables: &[(&str, String)]) -> Self {
        let mut process = Command::new("node")
            .arg(script)
            .args(args)
            .envs(variables.iter().map(|(name, value)| (*name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (process.stdout.take().unwrap(), process.stderr.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        for stream in [
            Box::new(stdout) as Box<dyn std::io::Read + Send>,
            Box::new(stderr),
        ] {
            let sender = sender.clone();
            // It goes on writing: somebody must read, or it stops.
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        drop(sender);
        let here = format!("port {port}");
        assert!(
            lines.iter().any(|line| line.contains(&here)),
            "it ended before it listened"
        );
        Self(process)
    }
}

/// A port that nobody uses now.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
