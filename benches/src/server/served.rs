//! Servers that are measured: `deft serve`, and the one whose protocol it speaks.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::wire::{Connection, KEY};
use crate::machine::kibibytes;

/// How long the other server may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// A server, which is ended when dropped.
pub(super) struct Served {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Served {
    /// Starts `deft serve`, and waits until it says that it is ready.
    pub(super) fn deft(deft: &Path, data: &Path, home: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(deft)
            .args(["serve", "--port", "0", "--data-dir"])
            .arg(data)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("SESSION_API_KEY", KEY)
            .current_dir(home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let out = child.stdout.as_mut().context("its output is not connected")?;
        BufReader::new(out).read_line(&mut line)?;
        let host = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = host
            .with_context(|| format!("`deft serve` is not ready: {line}"))?
            .parse()?;
        Ok(Self { child, address })
    }

    /// Starts the other server, which this Python has, and waits until it answers.
    pub(super) async fn reference(python: &Path, home: &Path) -> anyhow::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = Command::new(python)
            .args(["-m", "openhands.agent_server", "--host", "127.0.0.1", "--port"])
            .arg(address.port().to_string())
            .env("OH_SESSION_API_KEYS_0", KEY)
            .env("OH_ENABLE_VSCODE", "0")
            // Or else it fetches a table of prices first.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .current_dir(home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let served = Self { child, address };
        let begun = Instant::now();
        while begun.elapsed() < START_LIMIT {
            if let Ok(mut connection) = Connection::open(address).await
                && connection
                    .ask("GET", "/ready", None)
                    .await
                    .is_ok_and(|(status, _)| status == 200)
            {
                return Ok(served);
            }
            tokio::time::sleep(POLL).await;
        }
        bail!("the reference server does not start")
    }

    /// The memory it has now, in megabytes.
    pub(super) fn memory(&self) -> anyhow::Result<f64> {
        let file = format!("/proc/{}/status", self.child.id());
        let kibibytes = kibibytes(&file, "VmRSS").context("the memory of the server cannot be read")?;
        #[allow(clippy::cast_precision_loss)] // no machine has that much
        Ok(kibibytes as f64 * 1024.0 / 1e6)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}
