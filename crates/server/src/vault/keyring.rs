//! The keyring of the user's desktop (GNOME Keyring, `KWallet` and the like), through the program `secret-tool`.
//!
//! A client of its own would need D-Bus and its own cryptography in every build, for the few who have a keyring at all.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use deft_types::Secret;

use super::VaultError;

const PROGRAM: &str = "secret-tool";
/// What our entries are found by, beside their own name.
const ATTRIBUTE: &str = "deft-vault";
/// A keyring that is locked may ask the user for its password.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Keeps a key under a name.
pub(super) fn put(name: &str, key: &Secret<String>) -> Result<(), VaultError> {
    ask(&["store", "--label=Deft", ATTRIBUTE, name], key.expose()).map(drop)
}

/// The key of a name.
pub(super) fn get(name: &str) -> Result<Secret<String>, VaultError> {
    let found = ask(&["lookup", ATTRIBUTE, name], "")?;
    Ok(Secret::new(found.trim().to_owned()))
}

/// Takes a key away.
pub(super) fn forget(name: &str) -> Result<(), VaultError> {
    ask(&["clear", ATTRIBUTE, name], "").map(drop)
}

fn ask(arguments: &[&str], input: &str) -> Result<String, VaultError> {
    let failed = |reason: String| VaultError::Keyring { reason };
    let io = |error: std::io::Error| failed(error.to_string());
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("`{PROGRAM}` cannot be started: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(io)?;
    }
    let begun = Instant::now();
    // What it writes is shorter than a pipe holds, so it never waits for us.
    let status = loop {
        match child.try_wait().map_err(io)? {
            Some(status) => break status,
            None if begun.elapsed() > PATIENCE => {
                let _ = child.kill(); // it may have ended just now
                let _ = child.wait();
                return Err(failed("it does not answer; it may be locked".to_owned()));
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    };
    let (mut said, mut complaint) = (String::new(), String::new());
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut said).map_err(io)?;
    }
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut complaint).map_err(io)?;
    }
    if status.success() {
        Ok(said)
    } else if complaint.trim().is_empty() {
        Err(failed("there is no such entry".to_owned()))
    } else {
        Err(failed(complaint.trim().to_owned()))
    }
}
