//! A policy for a machine: what will be enforced, by which means, and what they leave open.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Machine, Tier, Unavailable};
use crate::policy::{Network, Policy};

/// The first version of Landlock that keeps files from being cut short; with bubblewrap, mounts do that.
const LANDLOCK_ALONE: u8 = 3;
/// The first version that keeps signals and abstract sockets in.
const LANDLOCK_SCOPES: u8 = 6;
/// The first version that knows who may talk to sockets in the file system.
const LANDLOCK_SOCKETS: u8 = 9;

/// How a policy is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What is enforced: the policy that was asked for, or a stricter one.
    pub policy: Policy,
    /// By which means.
    pub tier: Tier,
    /// The version of Landlock to use.
    pub landlock: u8,
    /// The bubblewrap program.
    pub bubblewrap: Option<PathBuf>,
    /// Whether it can hide sockets.
    pub hides_sockets: bool,
    /// What is left open, or stricter than asked for.
    pub gaps: Vec<Gap>,
}

/// What a person should know about a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Gap {
    /// The network is off, though some hosts would be allowed.
    #[error("the network is off: an allow-list needs bubblewrap (or set sandbox_network to all)")]
    NoAllowList,
    /// Protected paths are as writable as the rest of the workspace.
    #[error(
        "git hooks and agents' settings in the workspace can be changed: read-only places need bubblewrap"
    )]
    Protected,
    /// Only the private directory for temporary files can be written, and names of hidden files and the arguments of
    /// programs can be listed.
    #[error(
        "/tmp is shared and read-only (TMPDIR names a private place), and names of hidden files and what your other \
         processes were started with can be seen"
    )]
    SharedView,
    /// Landlock knows no right to change these.
    #[error(
        "permissions, owners and times of your files can be changed outside of the workspace too, though not what is in \
         them: bubblewrap prevents that"
    )]
    Permissions,
    /// They are devices of the same kind as those that shells inside need.
    #[error(
        "your other terminals can be read and written, with what you type there: bubblewrap prevents that"
    )]
    Terminals,
    /// Processes outside can be sent signals.
    #[error("your other processes can be sent signals: a newer kernel (6.12) or bubblewrap prevents that")]
    Signals,
    /// Services of this machine that listen on a socket in the file system can be talked to.
    #[error(
        "services of this machine that listen on socket files can be talked to: bubblewrap prevents that"
    )]
    Sockets,
    /// The same for those that do not lie in `/run` or `/tmp`.
    #[error(
        "services of this machine that listen on socket files outside of /run and /tmp can be talked to: \
         bubblewrap 0.5 or newer prevents that"
    )]
    SocketsElsewhere,
    /// The same for those in no file system: with the machine's network comes their space of names.
    #[error(
        "services of this machine that listen on abstract sockets, as X servers do, can be talked to while \
         sandbox_network is all: a newer kernel (6.12) prevents that"
    )]
    AbstractSockets,
}

/// Why a policy cannot be enforced. It is then not run at all.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The kernel has not what it takes.
    #[error(
        "this machine cannot shut an agent in ({what}); `deft doctor` says more. \
         To work without a sandbox, pass --workspace local:PATH"
    )]
    Machine {
        /// What is missing.
        what: String,
    },
    /// More was asked for than this machine has.
    #[error("the sandbox must have namespaces (setting sandbox_minimum), but {0}")]
    Tier(Unavailable),
    /// A limit cannot be kept.
    #[error(
        "the limit of {what} cannot be enforced: no cgroup v2 with the controller {controller} is delegated to \
         you; remove the setting, or start Deft by: systemd-run --user --scope -p Delegate=yes deft …"
    )]
    Limit {
        /// What it limits.
        what: &'static str,
        /// What is missing.
        controller: &'static str,
    },
    /// The sandbox could be left through a container engine.
    #[error(
        "{} lets anybody who can talk to it take over this machine, and hiding it needs bubblewrap: {reason}. \
         To work without a sandbox, pass --workspace local:PATH", socket.display()
    )]
    EngineSocket {
        /// The socket.
        socket: PathBuf,
        /// Why it cannot be hidden.
        reason: Unavailable,
    },
    /// Something to hide lies where everything can be read.
    #[error(
        "{} lies in {} and cannot be hidden there without bubblewrap: {reason}; \
         or work in a directory below it", hidden.display(), root.display()
    )]
    HiddenInside {
        /// What is to be hidden.
        hidden: PathBuf,
        /// What it lies in.
        root: PathBuf,
        /// Why it cannot be hidden.
        reason: Unavailable,
    },
}

impl Plan {
    /// Plans for a workspace's directory, or says which rule cannot be enforced.
    pub fn new(mut policy: Policy, machine: &Machine, root: &Path) -> Result<Self, PolicyError> {
        let lacking = |what: String| Err(PolicyError::Machine { what });
        if machine.landlock == 0 {
            return lacking("its kernel has no Landlock, or it is switched off".to_owned());
        }
        if !machine.seccomp {
            return lacking("its kernel cannot filter system calls".to_owned());
        }
        check_limits(&policy, machine)?;
        // The same place by any name.
        policy.hidden = policy
            .hidden
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        let (tier, gaps) = match &machine.bubblewrap {
            Ok(_) => (Tier::Namespaces, gaps_of_namespaces(&policy, machine)),
            Err(reason) if policy.minimum == Tier::Namespaces => {
                return Err(PolicyError::Tier(reason.clone()));
            }
            Err(reason) if machine.landlock < LANDLOCK_ALONE => {
                return lacking(format!(
                    "its Landlock has version {}, and {LANDLOCK_ALONE} is needed where {reason}",
                    machine.landlock
                ));
            }
            Err(reason) => {
                check_alone(&policy, machine, root, reason)?;
                let gaps = gaps_of_landlock(&policy, machine.landlock);
                if matches!(policy.network, Network::AllowList { .. }) {
                    policy.network = Network::Off;
                }
                (Tier::Landlock, gaps)
            }
        };
        Ok(Self {
            policy,
            tier,
            landlock: machine.landlock,
            bubblewrap: machine.bubblewrap.clone().ok(),
            hides_sockets: machine.hides_sockets,
            gaps,
        })
    }
}

fn check_limits(policy: &Policy, machine: &Machine) -> Result<(), PolicyError> {
    let limits = policy.limits;
    for (limit, what, controller) in [
        (limits.pids, "processes", "pids"),
        (limits.memory, "memory", "memory"),
        (limits.cpu, "processor time", "cpu"),
    ] {
        if limit.is_some() && !machine.controllers.contains(&controller) {
            return Err(PolicyError::Limit { what, controller });
        }
    }
    Ok(())
}

/// What Landlock and seccomp cannot do at all.
fn check_alone(
    policy: &Policy,
    machine: &Machine,
    root: &Path,
    reason: &Unavailable,
) -> Result<(), PolicyError> {
    if machine.landlock < LANDLOCK_SOCKETS
        && let Some(socket) = machine.engine_sockets.first()
    {
        return Err(PolicyError::EngineSocket {
            socket: socket.clone(),
            reason: reason.clone(),
        });
    }
    for root in policy.writable.iter().map(PathBuf::as_path).chain([root]) {
        if let Some(hidden) = policy.hidden.iter().find(|hidden| hidden.starts_with(root)) {
            return Err(PolicyError::HiddenInside {
                hidden: hidden.clone(),
                root: root.to_owned(),
                reason: reason.clone(),
            });
        }
    }
    Ok(())
}

fn gaps_of_namespaces(policy: &Policy, machine: &Machine) -> Vec<Gap> {
    let mut gaps = Vec::new();
    if !machine.hides_sockets && machine.landlock < LANDLOCK_SOCKETS {
        gaps.push(Gap::SocketsElsewhere);
    }
    if policy.network == Network::All && machine.landlock < LANDLOCK_SCOPES {
        gaps.push(Gap::AbstractSockets);
    }
    gaps
}

fn gaps_of_landlock(policy: &Policy, landlock: u8) -> Vec<Gap> {
    let mut gaps = vec![Gap::SharedView, Gap::Permissions, Gap::Terminals];
    if !policy.protected.is_empty() {
        gaps.push(Gap::Protected);
    }
    if matches!(policy.network, Network::AllowList { .. }) {
        gaps.push(Gap::NoAllowList);
    }
    if landlock < LANDLOCK_SCOPES {
        gaps.push(Gap::Signals);
    }
    if landlock < LANDLOCK_SOCKETS {
        gaps.push(Gap::Sockets);
    }
    gaps
}
