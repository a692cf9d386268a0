//! A Docker engine of the tests' own: its data, its socket and its `containerd` are apart from the system's, and it
//! makes no network.
//!
//! It ends with whoever started it. Its data stays in the target directory, so that the image is made only once.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// An image with a shell and what belongs to it, taken from this machine. Another number for another content.
pub(crate) const IMAGE: &str = "localhost/deft-test:4";
const PROGRAMS: &[&str] = &[
    "bash", "cat", "chmod", "env", "git", "grep", "head", "id", "ls", "mkdir", "mkfifo", "mv", "perl", "rm",
    "setsid", "sleep", "stat", "stty", "tail", "touch", "tr", "wc",
];
/// How long the engine may take to start, and to end.
const LIMIT: Duration = Duration::from_secs(30);

/// A running engine.
pub(crate) struct Dockerd {
    process: Child,
    /// A short path, as sockets need.
    place: TempDir,
    _alone: File,
}

impl Dockerd {
    /// Starts it, or tells why this machine cannot.
    pub(crate) fn start(data: &Path) -> Result<Self, String> {
        for program in ["dockerd", "setpriv", "tar", "ldd"] {
            if find(program).is_none() {
                return Err(format!("there is no `{program}`"));
            }
        }
        Self::try_start(data).map_err(|error| format!("dockerd does not run: {error}"))
    }

    fn try_start(data: &Path) -> io::Result<Self> {
        Self::run(data, |place, command| {
            command
                .args([
                    "dockerd",
                    "--bridge=none",
                    "--iptables=false",
                    "--ip6tables=false",
                ])
                .args([
                    "--ip-forward=false",
                    "--ip-masq=false",
                    "--containerd-namespace=deft-test",
                ])
                .args(["--containerd-plugins-namespace=deft-test-plugins", "--data-root"])
                .arg(data.join("data"))
                .arg("--exec-root")
                .arg(place.join("exec"))
                .arg("--pidfile")
                .arg(place.join("pid"))
                .arg("--host")
                .arg(format!("unix://{}", place.join("socket").display()));
            Ok(())
        })
    }

    /// Starts a program that serves this API on `socket` in its place, and waits for it. `say` says which.
    pub(crate) fn run(
        data: &Path,
        say: impl FnOnce(&Path, &mut Command) -> io::Result<()>,
    ) -> io::Result<Self> {
        fs::create_dir_all(data)?;
        let alone = File::create(data.join("lock"))?;
        alone.lock()?; // another run of the tests may be at work
        let place = tempfile::Builder::new().prefix("deft-dockerd").tempdir()?;
        let log = File::create(place.path().join("log"))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]);
        say(place.path(), &mut command)?;
        let process = command
            .current_dir(place.path()) // Podman leaves a file where it was started
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut engine = Self {
            process,
            place,
            _alone: alone,
        };
        engine.wait_until_ready()?;
        Ok(engine)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.place.path().join("socket")
    }

    /// One request of the API, apart from the client that is tested: the status and the body.
    pub(crate) fn api(&self, method: &str, path: &str, body: &[u8]) -> io::Result<(u16, String)> {
        let mut stream = UnixStream::connect(self.socket())?;
        stream.set_read_timeout(Some(LIMIT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        )?;
        stream.write_all(body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let status = status.ok_or_else(|| io::Error::other("no answer"))?;
        Ok((status, body.to_owned()))
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        while self.api("GET", "/_ping", b"").map_or(0, |(status, _)| status) != 200 {
            if self.process.try_wait()?.is_some() || begun.elapsed() > LIMIT {
                let log = fs::read_to_string(self.place.path().join("log"))?;
                let last = log.lines().rev().take(3).collect::<Vec<_>>().join("; ");
                return Err(io::Error::other(last));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Makes the image, if it is not there.
    pub(crate) fn make_image(&self) -> io::Result<()> {
        if self.api("GET", &format!("/images/{IMAGE}/json"), b"")?.0 == 200 {
            return Ok(());
        }
        let root = tempfile::tempdir()?;
        image_root(root.path())?;
        let tar = Command::new("tar")
            .arg("-C")
            .arg(root.path())
            .args(["-cf", "-", "."])
            .output()?;
        let path = format!("/images/create?fromSrc=-&repo={IMAGE}"); // Podman does not read `tag`
        match self.api("POST", &path, &tar.stdout)? {
            (200, _) => Ok(()),
            (_, why) => Err(io::Error::other(why)),
        }
    }
}

impl Dockerd {
    /// What a test that failed has left; else Podman leaves its mounts for good.
    fn remove_containers(&self) {
        let Ok((200, list)) = self.api("GET", "/containers/json?all=true", b"") else {
            return;
        };
        for (_, rest) in list
            .match_indices("\"Id\":\"")
            .map(|(at, key)| list.split_at(at + key.len()))
        {
            let id = rest.split('"').next().unwrap_or_default();
            let _ = self.api("DELETE", &format!("/containers/{id}?force=true&v=true"), b"");
        }
    }
}

impl Drop for Dockerd {
    fn drop(&mut self) {
        self.remove_containers();
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let begun = Instant::now();
        while let Ok(None) = self.process.try_wait() {
            if begun.elapsed() > LIMIT {
                let _ = self.process.kill();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Puts into a directory what is in the image.
pub(crate) fn image_root(root: &Path) -> io::Result<()> {
    fs::set_permissions(root, fs::Permissions::from_mode(0o755))?;
    for directory in ["bin", "etc", "proc", "tmp"] {
        fs::create_dir(root.join(directory))?;
    }
    symlink("bash", root.join("bin/sh"))?;
    for name in PROGRAMS {
        let program = find(name).ok_or_else(|| io::Error::other(format!("there is no `{name}`")))?;
        fs::copy(&program, root.join("bin").join(name))?;
        let needed = Command::new("ldd").arg(&program).output()?;
        let needed = String::from_utf8_lossy(&needed.stdout).into_owned();
        for library in needed.split_whitespace().filter(|word| word.starts_with('/')) {
            let place = root.join(library.trim_start_matches('/'));
            fs::create_dir_all(place.parent().unwrap_or(root))?;
            fs::copy(library, place)?;
        }
    }
    Ok(())
}

/// Where a program is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
}
