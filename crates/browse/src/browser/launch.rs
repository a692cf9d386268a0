//! Starts Chromium and ends it.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deft_tools::ToolContext;
use rustix::process::{Pid, Signal, WaitOptions, geteuid, kill_process_group, waitpgid};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::problem::Problem;
use crate::proxy::Proxy;

/// How much of what Chromium complains about is kept.
const MAX_COMPLAINTS: usize = 4096;
/// How long Chromium gets to end by itself.
const END_LIMIT: Duration = Duration::from_secs(1);
/// How often, and how long each time, killed processes are waited for.
const REAP_ROUNDS: u32 = 200;
const REAP_PAUSE: Duration = Duration::from_millis(5);

/// Chromium's end of the protocol is its third and fourth descriptor. A shell puts our pipes there: nothing else than a
/// pipe, no port, lets others of this machine take the browser over.
const PLUMBING: &str = "exec 3<&0 4>&1 </dev/null >/dev/null; exec \"$@\"";

/// A Chromium that runs.
pub(super) struct Process {
    child: Child,
    /// What its pages get out through.
    pub(super) proxy: Proxy,
    /// Where files arrive.
    pub(super) arrivals: PathBuf,
    profile: PathBuf,
    complaints: Arc<Mutex<Vec<u8>>>,
    _listening: JoinSet<()>,
}

/// The pipes that the protocol is spoken over.
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl Process {
    pub(super) fn start(
        program: &Path,
        context: &ToolContext,
        proxy: Proxy,
    ) -> Result<(Self, Pipes), Problem> {
        let profile = context.private_dir.join("browser");
        let _ = std::fs::remove_dir_all(&profile); // what one that was killed left
        let arrivals = profile.join("arrivals");
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&arrivals)
            .map_err(Problem::io(format!("make {}", arrivals.display())))?;
        let failed = |reason: String| Problem::Start {
            program: program.display().to_string(),
            reason,
        };
        let mut child = Command::new("/bin/sh")
            .args(["-c", PLUMBING, "sh"])
            .arg(program)
            .args(flags(&profile, &proxy))
            .env_clear()
            .envs(context.env.iter().map(|(name, value)| (name, value)))
            .env("XDG_CONFIG_HOME", &profile)
            .env("XDG_CACHE_HOME", &profile)
            .current_dir(&profile)
            .process_group(0)
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(failed("its pipes are not connected".to_owned()));
        };
        let complaints = Arc::default();
        let mut listening = JoinSet::new();
        listening.spawn(listen(errors, Arc::clone(&complaints)));
        let process = Self {
            child,
            proxy,
            arrivals,
            profile,
            complaints,
            _listening: listening,
        };
        Ok((process, Pipes { input, output }))
    }

    /// What it last complained about, on one line.
    pub(super) fn complaints(&self) -> String {
        let kept = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Ends it with everything it has started, and removes what it kept. Whoever can has asked it to end before.
    pub(super) async fn end(mut self) {
        let group = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        // By itself it also removes what it has put into the system's temporary directory.
        let _ = timeout(END_LIMIT, self.child.wait()).await;
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL); // none of it may be left
            let _ = self.child.wait().await;
            reap(group).await;
        }
        let profile = self.profile.clone();
        let _ = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(profile)).await;
    }
}

/// Waits for the processes that Chromium had started, where they have become children of this one.
async fn reap(group: Pid) {
    for _ in 0..REAP_ROUNDS {
        match waitpgid(group, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => tokio::time::sleep(REAP_PAUSE).await,
            Err(_) => return, // there are none
        }
    }
}

/// Whether Chromium can have its own sandbox: it refuses to run as root with it.
pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

fn flags(profile: &Path, proxy: &Proxy) -> Vec<String> {
    let fixed = [
        "--headless=new",
        "--remote-debugging-pipe",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-sync",
        "--disable-dev-shm-usage", // containers have little of it, and pages crash
        "--disable-features=Translate,MediaRouter,OptimizationHints,DialMediaRouteProvider",
        "--disable-gpu",
        "--force-color-profile=srgb",
        "--metrics-recording-only",
        "--mute-audio",
        "--no-service-autorun",
        "--password-store=basic",
        "--window-size=1280,800",
        // Nothing passes by the proxy: this machine's own addresses go through it, and datagrams nowhere.
        "--proxy-bypass-list=<-loopback>",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
    ];
    let mut flags: Vec<String> = fixed.map(str::to_owned).into();
    flags.push(format!("--user-data-dir={}", profile.display()));
    flags.push(format!("--proxy-server=socks5://{}", proxy.address()));
    if is_root() {
        flags.push("--no-sandbox".to_owned());
    }
    flags.push("about:blank".to_owned());
    flags
}

/// Keeps the end of what Chromium writes about its troubles.
async fn listen(errors: ChildStderr, kept: Arc<Mutex<Vec<u8>>>) {
    let mut errors = BufReader::new(errors);
    let mut bytes = [0; 1024];
    while let Ok(read @ 1..) = errors.read(&mut bytes).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&bytes[..read]);
        let surplus = kept.len().saturating_sub(MAX_COMPLAINTS);
        kept.drain(..surplus);
    }
}
