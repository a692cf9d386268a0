//! Carrying out a plan: from the process that is started to the one that is shut in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::bubblewrap::{self, View};
use super::cgroup::{GROUP_VARIABLE, Group};
use super::{Plan, Seen, Tier, capabilities, landlock, seccomp};
use crate::egress::{self, Egress, EgressError};
use crate::policy::{Access, Network, PLAN_AT_THE_TOP, PLANS};
use crate::protected::{self, Guard, StandIns};

/// Where programs keep what they fetch: the variable that says so, the usual place in a home, ours.
const CACHES: [(&str, &str, &str); 6] = [
    ("XDG_CACHE_HOME", ".cache", "cache"),
    ("CARGO_HOME", ".cargo", "cargo"),
    ("GOPATH", "go", "go"),
    ("GRADLE_USER_HOME", ".gradle", "gradle"),
    ("PYTHONUSERBASE", ".local", "python"),
    ("npm_config_cache", ".npm", "npm"),
];

/// The least number under which this program is handed over, above those that scripts use themselves.
const HANDED_OVER: i32 = 200;

/// A plan with its places.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What is to be enforced.
    pub plan: Plan,
    /// The workspace's directory.
    pub root: PathBuf,
    /// The executor's own directory, in which it may write too.
    pub directory: PathBuf,
    /// What is to be found mounted inside.
    pub seen: Vec<Seen>,
}

/// Why a process could not be shut in. It does not run then.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The kernel refused.
    #[error("the sandbox cannot be set up ({what}: {error}); `deft doctor` shows what this machine can do")]
    Setup {
        /// What was to be done.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
    /// No proxy, no network.
    #[error(transparent)]
    Egress(#[from] EgressError),
}

fn setup(what: &'static str) -> impl Fn(io::Error) -> LaunchError {
    move |error| LaunchError::Setup { what, error }
}

/// Makes a directory if it is missing. What else a repository may hold under that name is not opened to anybody.
fn make_real_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ if path.symlink_metadata()?.is_dir() => Ok(()),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// A sandbox about to be run, and what is taken away when it has ended.
#[derive(Debug)]
pub struct Outside {
    command: Command,
    _stand_ins: Option<StandIns>,
    _group: Option<Group>,
}

impl Outside {
    fn new(mut command: Command, inside: &str, stand_ins: Option<StandIns>, group: Option<Group>) -> Self {
        command.args(std::env::args_os().skip(1)).arg(inside);
        if let Some(group) = &group {
            command.env(GROUP_VARIABLE, &group.place);
        }
        Self {
            command,
            _stand_ins: stand_ins,
            _group: group,
        }
    }
}

/// This program, handed over open: its file may lie where nothing can be seen from inside, or be replaced by now.
fn this_program() -> io::Result<PathBuf> {
    let this = fcntl_dupfd_cloexec(File::open("/proc/self/exe")?, HANDED_OVER)?;
    fcntl_setfd(&this, FdFlags::empty())?;
    Ok(PathBuf::from(format!("/proc/self/fd/{}", this.into_raw_fd())))
}

impl Launch {
    /// The directory for temporary files. Beside what can be changed inside, or a link in its place would lead the next
    /// sandbox's `/tmp` anywhere.
    pub(super) fn temporary(&self) -> PathBuf {
        beside(&self.directory, ".tmp")
    }

    /// What is done outside: by the process that was started, before it has a second thread. Gives what runs this
    /// program again inside, with one more argument; none if this process itself is to be shut in.
    pub fn prepare(&self, inside: &str) -> Result<Option<Outside>, LaunchError> {
        // Ctrl-C and the end of a terminal are the client's business.
        let _ = rustix::process::setsid();
        // Whoever only waits keeps no directory busy.
        std::env::set_current_dir("/").map_err(setup("leave the directory"))?;
        let group = Group::join(self.plan.policy.limits).map_err(setup("limit what it uses"))?;
        let temporary = self.temporary();
        fs::create_dir_all(&temporary)
            .and_then(|()| fs::set_permissions(&temporary, Permissions::from_mode(0o1777)))
            .map_err(setup("make a directory for temporary files"))?;
        if self.plan.policy.workspace == Access::Plan
            && let Err(error) = make_real_directory(&self.root.join(PLANS))
            // Where its user can only look, the agent tells its plan and writes none.
            && !matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
        {
            return Err(setup("make a directory for the plan")(error));
        }
        match (self.plan.tier, &self.plan.bubblewrap) {
            (Tier::Namespaces, Some(program)) => {
                let stand_ins = StandIns::put(&self.root, self.guards())
                    .map_err(setup("keep what is protected from being made"))?;
                let view = View::new(self, stand_ins.guards());
                let seen = self.see(&view).map_err(setup("look at what is mounted"))?;
                let mut command = Command::new(program);
                command
                    .args(bubblewrap::options(self, view))
                    .arg("--")
                    .arg(this_program().map_err(setup("find this program"))?);
                let mut outside = Outside::new(command, inside, Some(stand_ins), group);
                for seen in seen {
                    outside.command.arg("--seen").arg(seen);
                }
                Ok(Some(outside))
            }
            (Tier::Namespaces, None) => Err(setup("make namespaces")(io::ErrorKind::NotFound.into())),
            // Somebody must be left to remove the group.
            (Tier::Landlock, _) if group.is_some() => {
                let command = Command::new(this_program().map_err(setup("find this program"))?);
                Ok(Some(Outside::new(command, inside, None, group)))
            }
            (Tier::Landlock, _) => Ok(None),
        }
    }

    /// What of the workspace is mounted, as the process inside is told of it.
    fn see(&self, view: &View) -> io::Result<Vec<String>> {
        let mounted = view.mounted_of(&self.root);
        let seen = mounted.map(|(path, read_only)| Seen::at(path, &self.root, read_only));
        seen.map(|seen| Ok(serde_json::to_string(&seen?)?)).collect()
    }

    /// What of the workspace is kept as it is.
    fn guards(&self) -> BTreeMap<PathBuf, Guard> {
        match self.plan.policy.workspace {
            Access::Change => protected::guards(&self.plan.policy, &self.root),
            Access::Plan | Access::Look => BTreeMap::new(), // nothing of it can be changed anyway
        }
    }

    /// Runs what was prepared, beside a proxy for what it may reach, and tidies up after it.
    pub fn run(&self, outside: Outside) -> Result<(), LaunchError> {
        let Outside {
            mut command,
            _stand_ins,
            _group,
        } = outside;
        let Network::AllowList { hosts } = &self.plan.policy.network else {
            let ended = command.status().map_err(setup("start the sandbox"));
            return ended.map(drop);
        };
        let egress = Egress::new(hosts, Self::egress_log(&self.directory));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(setup("start a runtime"))?;
        runtime.block_on(async {
            let proxy = egress.bind(&self.egress_socket(), &Self::questions_socket(&self.directory))?;
            // From this thread, whose end would be that of the sandbox.
            let mut child = tokio::process::Command::from(command)
                .spawn()
                .map_err(setup("start bubblewrap"))?;
            tokio::select! {
                () = proxy.serve() => Ok(()),
                ended = child.wait() => ended.map(drop).map_err(setup("wait for bubblewrap")),
            }
        })
    }

    /// What is done inside: restricts this process, before it has a second thread, and all that it will start.
    pub fn restrict_self(&self) -> Result<(), LaunchError> {
        for seen in &self.seen {
            seen.check(&self.root).map_err(setup("find what was mounted"))?;
        }
        std::env::set_current_dir(&self.root).map_err(setup("go to the workspace"))?;
        capabilities::drop_most().map_err(|error| setup("give up capabilities")(error.into()))?;
        // What it starts runs as the same user and shall not look into it.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| setup("keep its memory private")(error.into()))?;
        landlock::restrict(&self.plan, &self.writable()).map_err(setup("Landlock"))?;
        seccomp::restrict(&self.plan).map_err(setup("filter system calls"))
    }

    /// Everything that can be written.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let mut writable = self.plan.policy.writable.clone();
        writable.extend(self.changeable());
        writable.push(self.directory.clone());
        match self.plan.tier {
            Tier::Namespaces => writable.extend(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from)),
            Tier::Landlock => writable.push(self.temporary()),
        }
        writable
    }

    /// What of the workspace can be changed: all of it, or only the plan.
    pub(super) fn changeable(&self) -> Vec<PathBuf> {
        match self.plan.policy.workspace {
            Access::Change => vec![self.root.clone()],
            Access::Look => Vec::new(),
            Access::Plan => {
                // A link could lead anywhere.
                let is = |path: &PathBuf, kind: fn(&Metadata) -> bool| {
                    path.symlink_metadata().is_ok_and(|data| kind(&data))
                };
                let directory = Some(self.root.join(PLANS)).filter(|path| is(path, Metadata::is_dir));
                let file = Some(self.root.join(PLAN_AT_THE_TOP)).filter(|path| is(path, Metadata::is_file));
                directory.into_iter().chain(file).collect()
            }
        }
    }

    /// The environment for what is shut in: places for temporary and fetched files that can be written.
    pub fn environment(&self, given: Vec<(String, String)>) -> Vec<(String, String)> {
        let home = given.iter().find(|(name, _)| name == "HOME");
        let home = home.map_or_else(|| PathBuf::from("/"), |(_, home)| PathBuf::from(home));
        let is_writable = |path: &Path| {
            self.plan
                .policy
                .writable
                .iter()
                .any(|root| path.starts_with(root))
        };
        let mut changed = Vec::new();
        for (variable, usual, ours) in CACHES {
            let set = given.iter().find(|(name, _)| name == variable);
            let place = set.map_or_else(|| home.join(usual), |(_, place)| PathBuf::from(place));
            if !is_writable(&place) {
                changed.push((variable, self.directory.join(ours)));
            }
        }
        let temporary = match self.plan.tier {
            Tier::Namespaces => PathBuf::from("/tmp"),
            Tier::Landlock => self.temporary(),
        };
        changed.push(("TMPDIR", temporary));
        let mut all = given;
        all.retain(|(name, _)| !changed.iter().any(|(changed, _)| name == changed));
        all.extend(
            changed
                .into_iter()
                .map(|(name, place)| (name.to_owned(), place.display().to_string())),
        );
        all
    }

    /// Inside: opens the way out where there is one, and says how programs find it.
    pub async fn way_out(&self) -> Result<Option<egress::Forwarder>, LaunchError> {
        match self.plan.policy.network {
            Network::AllowList { .. } => Ok(Some(egress::Forwarder::bind(self.egress_socket()).await?)),
            Network::Off | Network::All => Ok(None),
        }
    }

    fn egress_socket(&self) -> PathBuf {
        self.directory.join("egress")
    }

    pub(crate) fn egress_log(directory: &Path) -> PathBuf {
        beside(directory, ".egress.jsonl")
    }

    pub(crate) fn questions_socket(directory: &Path) -> PathBuf {
        beside(directory, ".asks")
    }
}

/// A path beside a directory, which cannot be replaced from inside.
fn beside(directory: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = directory.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
