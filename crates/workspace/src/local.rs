//! A directory of this machine, with the executor as a process of its own beside it.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use deft_executor::DIRECTORY_VARIABLE;
use deft_executor::daemon::{SOCKET, private_directory};
use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::io::Errno;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::Command;

use crate::egress::{self, EgressRequest, HostQuestions};
use crate::sandbox::{Launch, Plan};
use crate::{Stream, Terms, Workspace, WorkspaceError};

/// How long an executor may take until its socket is there.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How often to look whether one has ended.
const END_PAUSE: Duration = Duration::from_millis(2);

/// The only variables of our environment that an executor gets. Whatever may hold a secret is not here.
pub const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The part of a sandboxed executor's directory that can be seen from inside. What we write ourselves lies beside
/// it: a link that an agent put in its place would otherwise lead our writing anywhere.
const INSIDE: &str = "in";

/// What the words of bubblewrap begin with when it does not start.
const BUBBLEWRAP_SAYS: &str = "bwrap: ";

/// A directory of this machine.
#[derive(Clone, Debug)]
pub struct LocalWorkspace {
    /// This program: it has the `executor` command.
    pub program: PathBuf,
    /// The directory to work in.
    pub root: PathBuf,
    /// A private place for the executor's socket and log, one for each conversation.
    pub directory: PathBuf,
    /// What the executor is told.
    pub terms: Terms,
    /// How the executor is shut in; none to let it do what its user may.
    pub sandbox: Option<Plan>,
}

impl LocalWorkspace {
    async fn connect(&self) -> Result<Box<dyn Stream>, WorkspaceError> {
        if !self.root.is_dir() {
            return Err(WorkspaceError::Missing(self.root.clone()));
        }
        private_directory(&self.directory)?;
        private_directory(&self.executors_own())?;
        if let Some(stream) = self.running().await {
            return Ok(stream);
        }
        let log = self.log();
        let failed = |reason: String| WorkspaceError::Start {
            reason,
            log: log.clone(),
        };
        // Two of us must not both start one.
        let _lock = lock(&self.directory.join("lock"))
            .await
            .map_err(|error| failed(error.to_string()))?;
        if let Some(stream) = self.running().await {
            return Ok(stream);
        }
        let directory = self.directory.clone();
        let ended = tokio::task::spawn_blocking(move || end_left_behind(&directory)).await;
        ended.map_err(|error| failed(error.to_string()))?;
        let mut started = self.start(&log).await;
        // What was looked at may be gone when it is mounted, such as the socket of a service that ends in that moment.
        if started
            .as_ref()
            .is_err_and(|reason| reason.starts_with(BUBBLEWRAP_SAYS))
        {
            started = self.start(&log).await;
        }
        started.map_err(failed)?;
        self.running()
            .await
            .ok_or_else(|| failed("it ended as soon as it had started".to_owned()))
    }

    /// The directory that the executor writes in.
    fn executors_own(&self) -> PathBuf {
        match self.sandbox {
            Some(_) => self.directory.join(INSIDE),
            None => self.directory.clone(),
        }
    }

    /// What it writes to its standard error.
    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    async fn running(&self) -> Option<Box<dyn Stream>> {
        // A link could lead to the socket of something else, and be put there at any moment: what is connected to is what
        // was looked at.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = open(self.executors_own().join(SOCKET), flags, Mode::empty()).ok()?;
        if FileType::from_raw_mode(fstat(&socket).ok()?.st_mode) != FileType::Socket {
            return None;
        }
        let itself = format!("/proc/self/fd/{}", socket.as_raw_fd());
        let stream = UnixStream::connect(itself).await.ok()?;
        Some(Box::new(stream))
    }

    /// Starts the daemon and waits until it says that it listens.
    async fn start(&self, log: &Path) -> Result<(), String> {
        let stderr = File::create(log).map_err(|error| error.to_string())?;
        // Locked as long as one of its processes has it, whoever tidies up behind the sandbox included: see `ended`.
        let lock = async {
            while flock(&stderr, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
                tokio::time::sleep(END_PAUSE).await;
            }
        };
        let locked = tokio::time::timeout(START_TIMEOUT, lock).await;
        locked.map_err(|_| format!("another process keeps {} locked", log.display()))?;
        let environment = PASSED_ON
            .iter()
            .filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
        let plan = self.sandbox.as_ref().map(serde_json::to_string).transpose();
        let plan = plan.map_err(|error| error.to_string())?;
        let mut child = Command::new(&self.program)
            .args(["executor", "serve", "--directory"])
            .arg(self.executors_own())
            .args(plan.iter().flat_map(|plan| ["--plan", plan]))
            .arg("--workspace")
            .arg(&self.root)
            .args(self.terms.arguments())
            .env_clear()
            .envs(environment)
            .env(DIRECTORY_VARIABLE, self.executors_own())
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        let mut stdout = child.stdout.take().ok_or("its output is not connected")?;
        let mut ready = [0; 1];
        match tokio::time::timeout(START_TIMEOUT, stdout.read(&mut ready)).await {
            Ok(Ok(1)) => Ok(()),
            Ok(_) => Err(std::fs::read_to_string(log)
                .ok()
                .filter(|text| !text.is_empty())
                .map_or_else(
                    || "it ended before it was ready".to_owned(),
                    |text| text.trim().chars().take(500).collect(),
                )),
            Err(_) => {
                let _ = child.kill().await;
                Err(format!(
                    "it was not ready after {} seconds",
                    START_TIMEOUT.as_secs()
                ))
            }
        }
    }
}

impl Workspace for LocalWorkspace {
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Stream>, WorkspaceError>> {
        self.connect().boxed()
    }

    fn find(&self) -> BoxFuture<'_, Option<Box<dyn Stream>>> {
        self.running().boxed()
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        let wait = async {
            let Ok(log) = File::open(self.log()) else { return };
            while flock(&log, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
                tokio::time::sleep(END_PAUSE).await;
            }
        };
        wait.boxed()
    }

    fn requests(&self, after: u64) -> BoxFuture<'_, Vec<EgressRequest>> {
        let record = Launch::egress_log(&self.executors_own());
        let read = tokio::task::spawn_blocking(move || egress::requests_after(&record, after));
        read.map(Result::unwrap_or_default).boxed()
    }

    fn host_questions(&self) -> BoxFuture<'_, Option<HostQuestions>> {
        let socket = Launch::questions_socket(&self.executors_own());
        async move { HostQuestions::connect(&socket).await }.boxed()
    }
}

/// Ends what the last executor of a conversation's private directory may have left, which does not run any more. Waits
/// for the disk.
pub fn end_left_behind(directory: &Path) {
    deft_executor::end_left_behind(directory);
    deft_executor::end_left_behind(&directory.join(INSIDE));
}

/// Holds an exclusive lock on a file until it is dropped.
async fn lock(path: &Path) -> std::io::Result<File> {
    let file = File::create(path)?;
    let wait =
        tokio::task::spawn_blocking(move || flock(&file, FlockOperation::LockExclusive).map(|()| file));
    Ok(wait.await.map_err(std::io::Error::other)??)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    use super::*;

    #[tokio::test]
    async fn a_link_that_is_swapped_with_the_socket_never_leads_to_another_one() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let workspace = LocalWorkspace {
            program: PathBuf::new(),
            root: path(""),
            directory: path(""),
            terms: Terms::default(),
            sandbox: None,
        };
        let own = UnixListener::bind(path(SOCKET)).unwrap();
        let others = UnixListener::bind(path("others")).unwrap();
        for listener in [&own, &others] {
            listener.set_nonblocking(true).unwrap();
        }
        symlink("others", path("link")).unwrap();
        let has_ended = Arc::new(AtomicBool::new(false));
        let swapped = std::thread::spawn({
            let (ends, socket, link) = (Arc::clone(&has_ended), path(SOCKET), path("link"));
            move || {
                while !ends.load(Ordering::Relaxed) {
                    renameat_with(CWD, &socket, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        for _ in 0..100_000 {
            if workspace.find().await.is_some() {
                let _ = own.accept(); // or there would soon be no room for others
            }
        }
        has_ended.store(true, Ordering::Relaxed);
        swapped.join().unwrap();
        assert!(others.accept().is_err(), "it was led astray");
    }
}
