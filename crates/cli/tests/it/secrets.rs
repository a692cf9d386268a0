//! `deft secrets`: another key for what the server keeps, in a file or in a real keyring.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::commands::{Home, stderr, stdout};
use crate::serve::Served;
use crate::workspaces::or_skip;

/// A session bus with an unlocked keyring on it, which ends with the test.
struct Keyring {
    bus: Child,
    daemon: Child,
    address: String,
    _home: tempfile::TempDir,
}

impl Keyring {
    /// None: this machine has no programs for that.
    fn start() -> Option<Self> {
        let is_here = |program: &str| {
            let found = Command::new("sh")
                .args(["-c", &format!("command -v {program}")])
                .output();
            found.is_ok_and(|found| found.status.success())
        };
        let missing = ["dbus-daemon", "gnome-keyring-daemon", "secret-tool"]
            .into_iter()
            .find(|program| !is_here(program));
        or_skip(missing.map_or(Ok(()), |program| Err(format!("{program} is missing"))))?;
        let home = tempfile::tempdir().unwrap();
        let mut bus = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.as_mut().unwrap())
            .read_line(&mut address)
            .unwrap();
        let address = address.trim().to_owned();
        let mut daemon = Command::new("gnome-keyring-daemon")
            .args(["--foreground", "--unlock", "--components=secrets"])
            .env("DBUS_SESSION_BUS_ADDRESS", &address)
            .env("HOME", home.path())
            .env("XDG_RUNTIME_DIR", home.path())
            .env("XDG_DATA_HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        daemon.stdin.take().unwrap().write_all(b"password").unwrap();
        Some(Self {
            bus,
            daemon,
            address,
            _home: home,
        })
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        for child in [&mut self.daemon, &mut self.bus] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn the_key_moves_into_the_keyring_and_back_while_the_server_runs() {
    let Some(keyring) = Keyring::start() else {
        return;
    };
    let home = Home::new();
    let bus = ("DBUS_SESSION_BUS_ADDRESS", keyring.address.as_str());
    let start = || Served::start(&home, &[("SESSION_API_KEY", "k-one"), bus]);
    let rotate = |to: &str| {
        let output = home
            .deft(&["secrets", "rotate-key", "--to", to])
            .env(bus.0, bus.1)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stdout(&output).contains("sealed with the new key"),
            "{}",
            stdout(&output)
        );
    };
    let file = home.root.path().join(".deft/vault-key");
    let served = start();
    let put = |served: &Served, value: &str| {
        let body = json!({"name": "TOKEN", "value": value});
        let (status, answer) = served.send("PUT", "/api/settings/secrets", "k-one", &body);
        assert_eq!(status, 200, "{answer}");
    };
    let shown = |served: &Served| served.ask("/api/settings/secrets/TOKEN", "k-one");
    put(&served, "value-1");
    rotate("keyring");
    let pointer = std::fs::read_to_string(&file).unwrap();
    assert!(pointer.starts_with("keyring:"), "{pointer}");
    assert!(shown(&served).ends_with("value-1"));
    put(&served, "value-2");
    assert_eq!(served.terminate(), Some(0));

    let served = start();
    assert!(shown(&served).ends_with("value-2"), "{}", shown(&served));
    rotate("file");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("keyring:"));
    assert!(shown(&served).ends_with("value-2"));
    let entry = pointer.trim().strip_prefix("keyring:").unwrap();
    let left = Command::new("secret-tool")
        .args(["lookup", "deft-vault", entry])
        .env(bus.0, bus.1)
        .output()
        .unwrap();
    assert!(left.stdout.is_empty(), "the key before is still there");
}
