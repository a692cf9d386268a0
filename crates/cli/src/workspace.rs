//! From a workspace's name to the workspace.

mod elsewhere;
mod executors;
mod kubernetes;
pub(crate) mod left;
mod pool;
mod reach;
mod remote;
pub(crate) mod unused;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use deft_engine::Mode;
use deft_executor::Client;
use deft_types::ConversationId;
use deft_workspace::egress::forges;
use deft_workspace::sandbox::{Gap, Machine, Plan, remove_groups_left_behind};
use deft_workspace::{
    Access, LocalWorkspace, Network, Policy, ResourceLimits, Terms, Workspace, WorkspaceError, WorkspaceName,
    end_left_behind, remove_tree,
};

pub(crate) use self::elsewhere::engine as container_engine;
pub(crate) use self::pool::Pool;
pub(crate) use self::reach::{cluster, engine, reach};
use crate::output::one_sentence;
use crate::settings::{NetworkMode, Settings, WebAddresses};

/// This program, also when its file was replaced by an update.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Where executors have their own directories, in the data directory.
const EXECUTORS: &str = "executors";
/// Where it is noted in which directories agents could begin a repository, in the data directory.
const BEGUN: &str = "begun";
/// A Unix socket's path has at most 108 bytes with its end mark.
const MAX_SOCKET_PATH: usize = 107;
/// What a sandboxed executor's socket has before its name.
const INSIDE: usize = "in/".len();
const MEGABYTE: u64 = 1024 * 1024;
/// How long an executor may take to end all that it started.
const END_LIMIT: Duration = Duration::from_secs(10);

/// A workspace that can be opened, and what to know about it.
pub(crate) struct Opened {
    pub(crate) workspace: Arc<dyn Workspace>,
    pub(crate) root: PathBuf,
    /// The executor's own directory.
    pub(crate) directory: PathBuf,
    pub(crate) gaps: Vec<Gap>,
}

/// As it is kept with a conversation: a plain path where that means the same.
pub(crate) fn kept(name: &WorkspaceName) -> String {
    match name {
        WorkspaceName::Sandbox(path) => path.display().to_string(),
        other => other.to_string(),
    }
}

/// The same with its directory as one absolute path without links.
pub(crate) fn resolve(name: WorkspaceName) -> anyhow::Result<WorkspaceName> {
    let directory = |path: &Path| {
        let found = path.canonicalize().ok().filter(|path| path.is_dir());
        let found = found.with_context(|| {
            format!(
                "the workspace {} does not exist or is not a directory; create it or name another one{}",
                path.display(),
                kinds(path)
            )
        })?;
        anyhow::ensure!(
            found.to_str().is_some(),
            "the name of the workspace {} is not UTF-8, so a conversation cannot keep it; rename it or name another",
            found.display()
        );
        Ok(found)
    };
    match name {
        WorkspaceName::Local(path) => directory(&path).map(WorkspaceName::Local),
        WorkspaceName::Sandbox(path) => directory(&path).map(WorkspaceName::Sandbox),
        WorkspaceName::Docker(image) => elsewhere::resolve(image).map(WorkspaceName::Docker),
        name @ WorkspaceName::Ssh(_) => Ok(name),
        WorkspaceName::Kubernetes(image) => {
            kubernetes::checked(&image).map(|_| WorkspaceName::Kubernetes(image))
        }
        WorkspaceName::Remote(url) => remote::checked(&url).map(|_| WorkspaceName::Remote(url)),
    }
}

/// What a path may have been meant for that looks like a kind of workspace.
fn kinds(path: &Path) -> &'static str {
    let name = path.to_string_lossy();
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric());
    match name.split_once(':') {
        Some((kind, _)) if is_word(kind) => {
            " (kinds of workspaces are local:, sandbox:, docker:, k8s:, ssh: and remote:)"
        }
        _ => "",
    }
}

/// The workspace of a conversation.
pub(crate) fn open(kept: &str, settings: &Settings, id: ConversationId) -> anyhow::Result<Opened> {
    open_in(Mode::Act, kept, settings, id)
}

/// The same for an agent that works, or only plans: then nothing of it can be changed but the plan.
pub(crate) fn open_in(
    mode: Mode,
    kept: &str,
    settings: &Settings,
    id: ConversationId,
) -> anyhow::Result<Opened> {
    let name: WorkspaceName = kept.parse()?;
    let directory = executor_directory(&settings.data_dir.value, id, mode)?;
    if mode == Mode::Plan && !matches!(name, WorkspaceName::Sandbox(_)) {
        anyhow::bail!(
            "only a sandbox can see to it that an agent who plans changes nothing, and {name} has none; \
             work in a directory of this machine by its plain path"
        );
    }
    let root = name.root();
    let opened = |workspace: Arc<dyn Workspace>| Opened {
        workspace,
        root: root.clone(),
        directory: directory.clone(),
        gaps: Vec::new(),
    };
    let sandbox = match name {
        WorkspaceName::Local(_) => None,
        WorkspaceName::Sandbox(_) => {
            let mut policy = Policy {
                workspace: match mode {
                    Mode::Act => Access::Change,
                    Mode::Plan => Access::Plan,
                },
                ..policy(settings)?
            };
            // Noted whatever the network is now: it may be another one next time.
            let notes = settings.data_dir.value.join(BEGUN);
            let forges = forges(&root, &notes)
                .with_context(|| format!("cannot note in {} what an agent begins", notes.display()))?;
            if let Network::AllowList { hosts } = &mut policy.network {
                hosts.extend(forges);
            }
            Some(Plan::new(policy, &Machine::probe(), &root)?)
        }
        WorkspaceName::Docker(image) => {
            return Ok(opened(Arc::new(elsewhere::docker(&image, settings, id)?)));
        }
        WorkspaceName::Kubernetes(image) => {
            kubernetes::remember(&image, settings)?;
            return Ok(opened(Arc::new(kubernetes::open(&image, settings, id)?)));
        }
        WorkspaceName::Ssh(place) => {
            return Ok(opened(Arc::new(elsewhere::ssh(&place, settings, id, &directory))));
        }
        WorkspaceName::Remote(url) => return Ok(opened(Arc::new(remote::open(&url, settings, id)?))),
    };
    if !root.is_dir() {
        return Err(WorkspaceError::Missing(root).into());
    }
    let gaps = sandbox.as_ref().map_or_else(Vec::new, |plan| plan.gaps.clone());
    Ok(Opened {
        workspace: Arc::new(local(&root, &directory, settings, sandbox)),
        root,
        directory,
        gaps,
    })
}

fn terms(settings: &Settings) -> Terms {
    Terms {
        linger: settings.executor_linger.value,
        quiet_limit: settings.terminal_no_change_timeout.value,
        web_addresses: settings.web_addresses.value.map(WebAddresses::name),
    }
}

fn local(root: &Path, directory: &Path, settings: &Settings, sandbox: Option<Plan>) -> LocalWorkspace {
    LocalWorkspace {
        program: OWN_PROGRAM.into(),
        root: root.to_owned(),
        directory: directory.to_owned(),
        terms: terms(settings),
        sandbox,
    }
}

/// Reads a directory and can do nothing else. None, where this machine cannot shut it in.
fn reader(root: &Path, settings: &Settings, id: ConversationId) -> Option<LocalWorkspace> {
    let policy = Policy {
        workspace: Access::Look,
        writable: Vec::new(),
        network: Network::Off,
        ..policy(settings).ok()?
    };
    let directory = executor_directory(&settings.data_dir.value, id, Mode::Plan).ok()?;
    let machine = Machine {
        engine_sockets: Vec::new(), // it runs no command that could talk to one
        ..Machine::probe()
    };
    let plan = Plan::new(policy, &machine, root).ok()?;
    Some(local(root, &directory, settings, Some(plan)))
}

/// What a sandbox around a directory leaves open on this machine, or why there can be none.
pub(crate) fn gaps(settings: &Settings, root: &Path) -> Vec<String> {
    let plan = policy(settings).and_then(|policy| Ok(Plan::new(policy, &Machine::probe(), root)?));
    match plan {
        Ok(plan) => plan.gaps.iter().map(ToString::to_string).collect(),
        Err(error) => vec![one_sentence(&error)],
    }
}

/// Ends the executor of a workspace, and waits until nothing of it is left among the files.
pub(crate) async fn end(workspace: &dyn Workspace, client: &Client) {
    let end = async {
        client.shutdown().await;
        workspace.ended().await;
    };
    let _ = tokio::time::timeout(END_LIMIT, end).await; // what hangs ends when nobody has talked to it for a while
}

/// Removes what is kept for the executor of a conversation, which must have ended.
pub(crate) fn remove(settings: &Settings, id: ConversationId) -> anyhow::Result<()> {
    for mode in [Mode::Act, Mode::Plan] {
        let directory = executor_directory(&settings.data_dir.value, id, mode)?;
        end_left_behind(&directory);
        remove_tree(&directory).with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    remove_groups_left_behind();
    Ok(())
}

/// What the settings allow.
pub(crate) fn policy(settings: &Settings) -> anyhow::Result<Policy> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let hosts = settings.sandbox_allow.value.clone().unwrap_or_default().0;
    let writable = settings.sandbox_write.value.clone().unwrap_or_default().0;
    let writable = writable.iter().map(|path| {
        let missing = || format!("{} (setting sandbox_write) cannot be used", path.display());
        path.canonicalize().with_context(missing)
    });
    Ok(Policy {
        writable: writable.collect::<anyhow::Result<_>>()?,
        network: match settings.sandbox_network.value {
            NetworkMode::Off => Network::Off,
            NetworkMode::AllowList => Network::AllowList { hosts },
            NetworkMode::All => Network::All,
        },
        limits: ResourceLimits {
            pids: settings.sandbox_pids.value,
            memory: settings
                .sandbox_memory
                .value
                .map(|megabytes| megabytes.saturating_mul(MEGABYTE)),
            cpu: settings.sandbox_cpu.value,
        },
        minimum: settings.sandbox_minimum.value,
        ..Policy::for_user(home.as_deref(), &settings.data_dir.value)
    })
}

/// Where a conversation's executor has its socket: in the data directory, unless that makes the socket's path
/// longer than the system allows.
pub(crate) fn executor_directory(data_dir: &Path, id: ConversationId, mode: Mode) -> anyhow::Result<PathBuf> {
    let hex = match mode {
        Mode::Act => id.hex(),
        Mode::Plan => format!("{}-plan", id.hex()), // one that can change more must not be taken for it
    };
    let directory = data_dir.join(EXECUTORS).join(&hex);
    let socket = directory.as_os_str().len() + 1 + INSIDE + deft_executor::daemon::SOCKET.len();
    if socket <= MAX_SOCKET_PATH {
        return Ok(directory);
    }
    let user = rustix::process::geteuid().as_raw();
    let ours = std::env::temp_dir().join(format!("deft-{user}"));
    deft_executor::daemon::private_directory(&ours)?; // others can write beside it
    Ok(ours.join(hex))
}
