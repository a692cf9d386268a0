//! The system's `ssh`: how it is started, and what its complaints mean.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use deft_workspace::says_disk_is_full;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, Command};

use crate::error::SshError;
use crate::script;

/// How long a connection may take to be made, in seconds.
const CONNECT_SECONDS: u32 = 15;
/// How long the connection is kept for the next use after its last one, in seconds.
const PERSIST_SECONDS: u32 = 60;
/// The path of a socket has at most so many bytes, and `ssh` makes its own with 58 behind our directory.
const MAX_CONTROL_DIRECTORY: usize = 107 - 58;
/// Of what ssh says about errors, so much is read.
const MAX_COMPLAINT_BYTES: u64 = 8192;
/// And so much of that is told.
const MAX_REASON_CHARS: usize = 500;

/// What `ssh` may see of our environment, which its configuration could send on. No keys of ours are here.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
    "KRB5CCNAME",
];

/// A machine, as `ssh` finds it.
#[derive(Clone, Debug)]
pub struct Target {
    /// A name or address, or one from the user's configuration, with `user@` before it if need be.
    pub destination: String,
    /// The port, where it is not the configured one.
    pub port: Option<u16>,
    /// The configuration to use instead of the user's own.
    pub config: Option<PathBuf>,
    /// A directory of ours for the sockets over which connections are shared.
    pub control_directory: PathBuf,
}

impl Target {
    /// An `ssh` that runs a script on the other machine.
    pub(crate) fn run(&self, script: &str) -> Command {
        let mut command = self.ssh();
        command
            .arg("--")
            .arg(&self.destination)
            .arg(script::command(script));
        command
    }

    /// Ends the shared connection, if there is one.
    pub(crate) fn hang_up(&self) -> Command {
        let mut command = self.ssh();
        command.args(["-O", "exit", "--"]).arg(&self.destination);
        command
    }

    fn ssh(&self) -> Command {
        let mut command = Command::new("ssh");
        let environment = PASSED_ON
            .iter()
            .filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
        command
            .env_clear()
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .arg("-T");
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        if let Some(port) = self.port {
            command.arg("-p").arg(port.to_string());
        }
        // What stands here counts more than the user's configuration.
        let mut options = vec![
            "BatchMode=yes".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            format!("ConnectTimeout={CONNECT_SECONDS}"),
            "ServerAliveInterval=15".to_owned(),
            "ServerAliveCountMax=3".to_owned(),
            "ClearAllForwardings=yes".to_owned(),
            "ForwardAgent=no".to_owned(),
            "ForwardX11=no".to_owned(),
            "PermitLocalCommand=no".to_owned(),
            "RemoteCommand=none".to_owned(),
            "LogLevel=ERROR".to_owned(),
        ];
        match self.control_path() {
            Some(path) => options.extend([
                "ControlMaster=auto".to_owned(),
                format!("ControlPath={path}"),
                format!("ControlPersist={PERSIST_SECONDS}"),
            ]),
            None => options.push("ControlPath=none".to_owned()),
        }
        for option in options {
            command.arg("-o").arg(option);
        }
        command
    }

    /// Where connections are shared; nowhere if the socket's path would be too long.
    fn control_path(&self) -> Option<String> {
        let directory = self.control_directory.to_str()?;
        let fits = directory.len() <= MAX_CONTROL_DIRECTORY && !directory.contains(['%', '"', '\'', ' ']);
        fits.then(|| format!("{directory}/%C"))
    }

    /// What a person runs to see for themselves.
    fn by_hand(&self) -> String {
        let config = self.config.as_ref().map(|path| format!(" -F {}", path.display()));
        let port = self.port.map(|port| format!(" -p {port}"));
        format!(
            "ssh{}{} {}",
            config.unwrap_or_default(),
            port.unwrap_or_default(),
            self.destination
        )
    }

    /// Why `ssh`, or what it ran, failed.
    pub(crate) fn why(&self, what: &'static str, status: ExitStatus, complaint: &str) -> SshError {
        let host = self.destination.clone();
        let reason: String = complaint.trim().chars().take(MAX_REASON_CHARS).collect();
        let says = |text: &str| complaint.contains(text);
        match status.code() {
            Some(255) if says("REMOTE HOST IDENTIFICATION HAS CHANGED") => SshError::HostKeyChanged(host),
            Some(255) if says("Host key verification failed") => SshError::HostKeyUnknown {
                host,
                command: self.by_hand(),
            },
            Some(255) if says("Permission denied") => SshError::Denied { host, reason },
            Some(255) => SshError::Unreachable {
                host,
                reason,
                command: self.by_hand(),
            },
            Some(script::OTHER_PLATFORM) => SshError::Platform {
                host,
                theirs: reason,
                ours: script::platform(),
            },
            _ if says_disk_is_full(complaint) => SshError::NoSpace { host, what, reason },
            _ if reason.is_empty() => SshError::Failed {
                host,
                what,
                reason: status.to_string(),
            },
            _ => SshError::Failed { host, what, reason },
        }
    }

    pub(crate) fn slow(&self, what: &'static str) -> SshError {
        SshError::Slow {
            host: self.destination.clone(),
            what,
        }
    }

    /// Runs an `ssh` to its end, whose output is of no interest.
    pub(crate) async fn finish(
        &self,
        what: &'static str,
        mut ssh: Command,
        limit: Duration,
    ) -> Result<(), SshError> {
        let run = async {
            let mut ssh = ssh.stdout(Stdio::null()).spawn()?;
            let complaint = complaint(ssh.stderr.take()).await?;
            Ok((ssh.wait().await?, complaint))
        };
        let run = tokio::time::timeout(limit, run).await;
        let (status, complaint) = run.map_err(|_| self.slow(what))?.map_err(SshError::NoSsh)?;
        if status.success() {
            return Ok(());
        }
        Err(self.why(what, status, &complaint))
    }
}

/// What an `ssh` says about errors until it ends, or the beginning of that.
pub(crate) async fn complaint(errors: Option<ChildStderr>) -> io::Result<String> {
    let mut complaint = Vec::new();
    if let Some(errors) = errors {
        errors
            .take(MAX_COMPLAINT_BYTES)
            .read_to_end(&mut complaint)
            .await?;
    }
    Ok(String::from_utf8_lossy(&complaint).into_owned())
}
