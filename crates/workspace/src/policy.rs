//! What an executor and all it starts may do: one value, which each kind of workspace compiles to its own means.

mod homes;
mod places;

use std::path::{Path, PathBuf};

use rustix::fs::{Access as Rights, access};
use serde::{Deserialize, Serialize};

use crate::egress::HostRule;
use crate::protected::hooks_everywhere;
use crate::sandbox::Tier;

/// What is allowed. Beside what it says, the workspace's directory and a private one for temporary files can be
/// read and written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Directories that can be read.
    #[serde(default = "everything")]
    pub readable: Vec<PathBuf>,
    /// More directories that can be read and written.
    #[serde(default)]
    pub writable: Vec<PathBuf>,
    /// What cannot be read though it lies in a readable directory.
    #[serde(default)]
    pub hidden: Vec<PathBuf>,
    /// Paths in the workspace that cannot be changed: whatever stands there acts outside of it later. Absolute ones only
    /// count where they are there.
    #[serde(default = "Policy::protected_paths")]
    pub protected: Vec<PathBuf>,
    /// What can be done to the workspace itself.
    #[serde(default)]
    pub workspace: Access,
    /// What can be reached over the network.
    #[serde(default)]
    pub network: Network,
    /// How much may be used.
    #[serde(default)]
    pub limits: ResourceLimits,
    /// The weakest means of enforcement that will do. What they leave open is told.
    #[serde(default)]
    pub minimum: Tier,
}

/// What can be done to a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// It can be changed.
    #[default]
    Change,
    /// It can be looked at; only the plan of what to change can be written.
    Plan,
    /// It can be looked at, and nothing is put there.
    Look,
}

/// Where plans lie in a workspace, and the file of an older plan at its top.
pub(crate) const PLANS: &str = ".agents_tmp";
pub(crate) const PLAN_AT_THE_TOP: &str = "PLAN.md";

/// What can be reached over the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Network {
    /// Nothing.
    Off,
    /// Well-known package registries, and these, by HTTP and HTTPS.
    AllowList {
        /// More hosts: those of the settings, and [the repository's own forge](crate::egress::forges).
        #[serde(default)]
        hosts: Vec<HostRule>,
    },
    /// Whatever this machine can reach.
    All,
}

impl Default for Network {
    fn default() -> Self {
        Self::AllowList { hosts: Vec::new() }
    }
}

/// How much all processes of a workspace may use together. What is named here must be enforceable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceLimits {
    /// Processes and threads.
    #[serde(default)]
    pub pids: Option<u64>,
    /// Bytes of memory.
    #[serde(default)]
    pub memory: Option<u64>,
    /// Hundredths of a processor: 150 is one and a half.
    #[serde(default)]
    pub cpu: Option<u64>,
}

impl Policy {
    /// The default for a user: all of the machine can be read but for keys, credentials, browsers' profiles and
    /// our own state.
    pub fn for_user(home: Option<&Path>, state: &Path) -> Self {
        let mut homes = homes::of_user();
        homes.extend(home.map(Path::to_owned));
        let of_home = homes.iter().flat_map(|home| Self::secrets_of_home(home));
        let started = homes
            .iter()
            .flat_map(|home| places::STARTED_IN_A_HOME.iter().map(|path| home.join(path)));
        let named = places::NAME_SECRETS.iter().filter_map(std::env::var_os);
        let named = named.flat_map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>());
        let named = named.filter(|path| path.is_absolute() && path.parent().is_some());
        // A mount for each that nobody could read anyway would only take time.
        let of_machine = places::SECRETS_OF_THE_MACHINE.iter().map(PathBuf::from);
        let of_machine = of_machine.filter(|path| access(path, Rights::READ_OK).is_ok());
        let hidden = of_machine.chain(named);
        let hooks = home.map(hooks_everywhere).unwrap_or_default();
        Self {
            readable: everything(),
            writable: Vec::new(),
            hidden: of_home.chain(hidden).chain([state.to_owned()]).collect(),
            protected: Self::protected_paths()
                .into_iter()
                .chain(hooks)
                .chain(started)
                .collect(),
            workspace: Access::default(),
            network: Network::default(),
            limits: ResourceLimits::default(),
            minimum: Tier::default(),
        }
    }

    /// What nobody is to see of a home directory.
    pub fn secrets_of_home(home: &Path) -> impl Iterator<Item = PathBuf> {
        places::SECRETS_OF_A_HOME.iter().map(|path| home.join(path))
    }

    /// The paths of a workspace that are protected where nobody says otherwise.
    fn protected_paths() -> Vec<PathBuf> {
        places::PROTECTED.iter().map(PathBuf::from).collect()
    }
}

fn everything() -> Vec<PathBuf> {
    vec![PathBuf::from("/")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_leaves_out_is_the_default() {
        let policy: Policy = serde_json::from_str("{}").unwrap();
        assert_eq!(policy.readable, [PathBuf::from("/")]);
        assert!(policy.protected.contains(&PathBuf::from(".vscode")));
        assert_eq!(policy.network, Network::AllowList { hosts: Vec::new() });
        assert!(serde_json::from_str::<Policy>(r#"{"netwrok": "off"}"#).is_err());
    }

    #[test]
    fn a_policy_survives_json() {
        let mut policy = Policy::for_user(Some(Path::new("/home/me")), Path::new("/home/me/.deft"));
        policy.network = Network::AllowList {
            hosts: vec!["*.example.com".parse().unwrap(), "10.0.0.5:8081".parse().unwrap()],
        };
        policy.limits.pids = Some(100);
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
        assert!(policy.hidden.contains(&PathBuf::from("/home/me/.ssh")));
        assert!(policy.hidden.contains(&PathBuf::from("/home/me/.deft")));
    }
}
