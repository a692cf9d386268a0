//! What a pod may do and have, and how that is said to the API.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

/// Where the workspace is in the pod.
pub(crate) const WORKSPACE: &str = "/workspace";
/// This program, in a place that only the pod has.
pub(crate) const PROGRAM: &str = "/.deft/deft";
/// The executor's socket and files.
pub(crate) const PRIVATE: &str = "/.deft/private";
const OURS: &str = "/.deft";
const HOME: &str = "/.deft/home";

/// The container with the executor, and the one that brings our program before that.
pub(crate) const EXECUTOR: &str = "executor";
pub(crate) const DELIVER: &str = "deliver";

/// Where the API has what we make.
pub(crate) const PODS: &str = "pods";
pub(crate) const CLAIMS: &str = "persistentvolumeclaims";
pub(crate) const POLICIES: &str = "/apis/networking.k8s.io/v1/*/networkpolicies";

/// The labels of everything that we make, and what they say.
pub(crate) const CONVERSATION: &str = "deft/conversation";
pub(crate) const OWNER: &str = "deft/owner";
pub(crate) const VERSION: &str = "deft/version";

/// The marks of a node that does not answer, and how long a pod stays on one. Clusters let it stay five minutes.
const LOST_NODE: [&str; 2] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"];
const LOST_NODE_SECONDS: u32 = 30;

/// How this program gets into a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// It is sent there over an exec. The image must have `sh`, `head` and `sleep`.
    #[default]
    Stream,
    /// It comes from an image that has it as `/deft`. The pod's own image may then be empty.
    Image(String),
}

/// What a pod can reach, where the cluster's network enforces policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// Everything. Nobody reaches the pod all the same.
    All,
}

/// A mark of nodes that the pod puts up with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The mark's name.
    pub key: String,
    /// Its value; any without.
    pub value: Option<String>,
}

/// What differs from one pod to another.
#[derive(Clone, Debug)]
pub struct Options {
    /// The variables that tools see beside the image's own. Who may read pods can read these.
    pub env: BTreeMap<String, String>,
    /// What it can reach.
    pub network: Network,
    /// The most memory, as in `4Gi`.
    pub memory: String,
    /// The most processors, as in `2` or `500m`; all there are without.
    pub cpu: Option<String>,
    /// The memory that is kept free for it: what the scheduler counts.
    pub request_memory: String,
    /// The processors that are kept free for it.
    pub request_cpu: String,
    /// The size of the volume, as in `10Gi`.
    pub storage: String,
    /// What kind of volume; the cluster's usual one without.
    pub storage_class: Option<String>,
    /// A claim that is there already, instead of one of ours.
    pub claim: Option<String>,
    /// The marks that a node must have.
    pub node_selector: BTreeMap<String, String>,
    /// The marks that a node may have.
    pub tolerations: Vec<Toleration>,
    /// A secret for the image's registry.
    pub pull_secret: Option<String>,
    /// `Always`, `IfNotPresent` or `Never`; the cluster's usual one without.
    pub pull_policy: Option<String>,
    /// The user that it runs as, who also owns the volume.
    pub user: u32,
    /// How long a pod lives at most. The files outlive it.
    pub lifetime: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            env: BTreeMap::new(),
            network: Network::None,
            memory: "4Gi".to_owned(),
            cpu: None,
            request_memory: "256Mi".to_owned(),
            request_cpu: "100m".to_owned(),
            storage: "10Gi".to_owned(),
            storage_class: None,
            claim: None,
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            pull_secret: None,
            pull_policy: None,
            user: 10001,
            lifetime: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// All that the API must know to make what a conversation needs.
pub(crate) struct Manifest<'a> {
    pub(crate) name: &'a str,
    pub(crate) image: &'a str,
    pub(crate) delivery: &'a Delivery,
    pub(crate) conversation: &'a str,
    pub(crate) owner: &'a str,
    pub(crate) version: &'a str,
    /// Arguments of our program.
    pub(crate) command: Vec<String>,
    pub(crate) options: &'a Options,
}

impl Manifest<'_> {
    fn metadata(&self) -> Value {
        json!({
            "name": self.name,
            "labels": {
                "app.kubernetes.io/managed-by": "deft",
                CONVERSATION: self.conversation,
                OWNER: self.owner,
            },
            "annotations": { VERSION: self.version },
        })
    }

    /// The claim of a volume for the files.
    pub(crate) fn claim(&self) -> Value {
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": self.metadata(),
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": self.options.storage}},
            },
        });
        if let Some(class) = &self.options.storage_class {
            claim["spec"]["storageClassName"] = class.as_str().into();
        }
        claim
    }

    /// Who may talk to the pod, and to whom it may.
    pub(crate) fn network_policy(&self) -> Value {
        let egress = match self.options.network {
            Network::None => json!([]),
            Network::All => json!([{}]),
        };
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": self.metadata(),
            "spec": {
                "podSelector": {"matchLabels": {CONVERSATION: self.conversation}},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [],
                "egress": egress,
            },
        })
    }

    pub(crate) fn pod(&self) -> Value {
        let options = self.options;
        let claim = options.claim.as_deref().unwrap_or(self.name);
        let tolerations = options
            .tolerations
            .iter()
            .map(|toleration| match &toleration.value {
                Some(value) => json!({"key": toleration.key, "operator": "Equal", "value": value}),
                None => json!({"key": toleration.key, "operator": "Exists"}),
            });
        let lost = LOST_NODE.map(|key| {
            json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": LOST_NODE_SECONDS,
            })
        });
        let pull_secrets = options.pull_secret.iter().map(|name| json!({"name": name}));
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": self.metadata(),
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 5,
                "activeDeadlineSeconds": options.lifetime.as_secs(),
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "nodeSelector": options.node_selector,
                "tolerations": tolerations.chain(lost).collect::<Vec<_>>(),
                "imagePullSecrets": pull_secrets.collect::<Vec<_>>(),
                "securityContext": {
                    "runAsUser": options.user, "runAsGroup": options.user, "fsGroup": options.user,
                    "fsGroupChangePolicy": "OnRootMismatch",
                    "runAsNonRoot": options.user != 0,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "volumes": [
                    {"name": "deft", "emptyDir": {}},
                    {"name": "files", "persistentVolumeClaim": {"claimName": claim}},
                ],
                "initContainers": [self.deliver()],
                "containers": [self.executor()],
            },
        })
    }

    /// The container that brings our program.
    fn deliver(&self) -> Value {
        let (image, command) = match self.delivery {
            Delivery::Stream => (
                self.image,
                json!(["sh", "-c", format!("until [ -x {PROGRAM} ]; do sleep 0.1; done")]),
            ),
            Delivery::Image(image) => (image.as_str(), json!(["/deft", "executor", "install", PROGRAM])),
        };
        let mounts = json!([{"name": "deft", "mountPath": OURS}]);
        self.container(DELIVER, image, &command, &mounts)
    }

    fn executor(&self) -> Value {
        let command: Vec<&str> = [PROGRAM]
            .into_iter()
            .chain(self.command.iter().map(String::as_str))
            .collect();
        let mounts = json!([
            {"name": "deft", "mountPath": OURS}, {"name": "files", "mountPath": WORKSPACE},
        ]);
        let mut container = self.container(EXECUTOR, self.image, &json!(command), &mounts);
        let home = [("HOME", HOME)].into_iter();
        let given = self.options.env.iter();
        let given = given.map(|(name, value)| (name.as_str(), value.as_str()));
        let env = home
            .chain(given)
            .map(|(name, value)| json!({"name": name, "value": value}));
        container["env"] = env.collect();
        container["workingDir"] = WORKSPACE.into();
        container
    }

    fn container(&self, name: &str, image: &str, command: &Value, mounts: &Value) -> Value {
        let options = self.options;
        let mut limits = json!({"memory": options.memory});
        if let Some(cpu) = &options.cpu {
            limits["cpu"] = cpu.as_str().into();
        }
        let mut container = json!({
            "name": name, "image": image, "command": command, "volumeMounts": mounts,
            "resources": {
                "limits": limits,
                "requests": {"memory": options.request_memory, "cpu": options.request_cpu},
            },
            "securityContext": {
                "allowPrivilegeEscalation": false, "privileged": false, "capabilities": {"drop": ["ALL"]},
            },
        });
        if let Some(policy) = &options.pull_policy {
            container["imagePullPolicy"] = policy.as_str().into();
        }
        container
    }
}

/// What is run in the pod to take our program from its input, which has so many bytes.
pub(crate) fn receive(bytes: usize) -> String {
    format!(
        "mkdir -p {HOME} && head -c {bytes} >{PROGRAM}.new && chmod 755 {PROGRAM}.new && mv {PROGRAM}.new {PROGRAM}"
    )
}

#[cfg(test)]
mod tests;
