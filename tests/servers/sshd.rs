//! An SSH server of the tests' own on loopback: its keys, its configuration and its users' home are apart from the
//! system's. It ends with whoever started it.

use std::fs::{self, File};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long the server may take to start.
const LIMIT: Duration = Duration::from_secs(30);
const PROGRAM: &str = "/usr/sbin/sshd";

/// A running server.
pub(crate) struct Sshd {
    process: Child,
    /// A short path, as sockets need.
    place: TempDir,
    pub(crate) port: u16,
}

impl Sshd {
    /// Starts it, or tells why this machine cannot.
    pub(crate) fn start() -> Result<Self, String> {
        if !Path::new(PROGRAM).exists() {
            return Err(format!("there is no {PROGRAM}"));
        }
        Self::try_start().map_err(|error| format!("sshd does not run: {error}"))
    }

    fn try_start() -> io::Result<Self> {
        let _ = fs::create_dir("/run/sshd"); // root's sshd wants it, others need not
        let place = tempfile::Builder::new().prefix("deft-sshd").tempdir()?;
        let path = |name: &str| place.path().join(name).display().to_string();
        fs::create_dir(path("home"))?;
        for key in ["host", "user", "stranger"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)])
                .status()?;
            if !made.success() {
                return Err(io::Error::other("ssh-keygen failed"));
            }
        }
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        fs::write(
            path("sshd_config"),
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
                 StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
                 SetEnv HOME={}\n",
                path("host"),
                path("user.pub"),
                path("home")
            ),
        )?;
        let host_key = fs::read_to_string(path("host.pub"))?;
        fs::write(path("known"), format!("[127.0.0.1]:{port} {host_key}"))?;
        let log = File::create(path("log"))?;
        let process = Command::new("setpriv")
            .args([
                "--pdeathsig",
                "TERM",
                PROGRAM,
                "-D",
                "-e",
                "-f",
                &path("sshd_config"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let mut server = Self { process, place, port };
        server.config("config", "known", "user")?;
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if server.process.try_wait()?.is_some() || begun.elapsed() > LIMIT {
                return Err(io::Error::other(fs::read_to_string(server.path("log"))?));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// A file or directory of it: `home` is the users', `config` what a client needs to come in.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Writes a client's configuration that knows these hosts and has this key.
    pub(crate) fn config(&self, name: &str, known: &str, key: &str) -> io::Result<PathBuf> {
        let path = self.path(name);
        let text = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nIdentityAgent none\nUserKnownHostsFile {}\nGlobalKnownHostsFile none\n",
            self.path(key).display(),
            self.path(known).display()
        );
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
