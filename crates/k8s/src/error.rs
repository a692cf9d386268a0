//! Why a pod cannot be worked in.

use std::path::PathBuf;

use deft_workspace::WorkspaceError;

/// Why there is no talking to an executor in a pod. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum K8sError {
    /// Nobody said which cluster.
    #[error(
        "there is no cluster to use: set KUBECONFIG to a file that names one, or put it at ~/.kube/config; inside of a \
         cluster Deft uses its pod's own account"
    )]
    NoCluster,
    /// The file that names clusters cannot be used.
    #[error("{} cannot be used: {reason}; check it with `kubectl config view`", .path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
    /// Nothing answers.
    #[error("the Kubernetes API at {server} cannot be reached: {reason}; check the address and the network")]
    Unreachable {
        /// Its address.
        server: String,
        /// What was seen.
        reason: String,
    },
    /// The API does not know us.
    #[error(
        "the Kubernetes API at {0} does not know us: log in again, or renew the token of your kubeconfig"
    )]
    Unauthorized(String),
    /// We may not do this.
    #[error(
        "we may not {what} in the cluster: {message}; have somebody apply docs/kubernetes-rbac.yaml, or use another \
         namespace (?namespace=…)"
    )]
    Forbidden {
        /// What was to be done.
        what: &'static str,
        /// The API's reason.
        message: String,
    },
    /// There is no room left for us.
    #[error(
        "the namespace's quota is used up: {0}; ask for less (?memory=…&cpu=…), or remove what is not needed"
    )]
    Quota(String),
    /// The API would not do something.
    #[error("the Kubernetes API would not {what} (status {status}): {message}")]
    Refused {
        /// What was to be done.
        what: &'static str,
        /// Its answer.
        status: u16,
        /// Its reason.
        message: String,
    },
    /// An answer that cannot be read.
    #[error("the Kubernetes API was to {what}, but its answer cannot be used: {reason}")]
    Broken {
        /// What was to be done.
        what: &'static str,
        /// What was seen.
        reason: String,
    },
    /// No answer in time.
    #[error("the cluster did not {0} in time; look at it with `kubectl describe pod`, and try again")]
    Slow(&'static str),
    /// The image cannot be had.
    #[error(
        "the cluster has no image '{image}' and cannot pull it: {message}; check its name, or name a secret for its \
         registry (?pull_secret=…)"
    )]
    NoImage {
        /// The image.
        image: String,
        /// What the node said.
        message: String,
    },
    /// No node has room for the pod.
    #[error(
        "no node of the cluster takes the pod: {0}; ask for less (?memory=…&cpu=…), or check selector and tolerations"
    )]
    Unschedulable(String),
    /// The pod's container cannot be started.
    #[error("the pod's container cannot be started: {0}; see `kubectl describe pod`")]
    Start(String),
    /// The pod is gone for a reason that is worth knowing. It has been made anew.
    #[error(
        "the pod was lost ({reason}); what ran in it is lost, the files are kept, and it has been made anew{hint}"
    )]
    Lost {
        /// Why.
        reason: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// The API answers, and the pod's node does not.
    #[error(
        "the node of the pod does not answer: {0}; within minutes the cluster gives the pod up, and the next use makes \
         it anew elsewhere; see `kubectl get nodes`"
    )]
    NodeGone(String),
    /// The executor ended by itself before anybody could talk to it.
    #[error("the executor ended in its pod: {0}; check that the image is for this kind of processor")]
    Ended(String),
    /// The pod was made by another version of this program.
    #[error(
        "the pod {pod} was made by version {theirs} of this program, and this is {ours}; delete it (`kubectl delete pod \
         {pod}`) to get a new one: the files stay"
    )]
    Version {
        /// The pod's name.
        pod: String,
        /// Its version.
        theirs: String,
        /// Ours.
        ours: &'static str,
    },
    /// This program cannot be read in order to bring it there.
    #[error("{} cannot be brought into a pod: {reason}", .path.display())]
    Program {
        /// Where it should be.
        path: PathBuf,
        /// What was seen.
        reason: String,
    },
}

impl From<K8sError> for WorkspaceError {
    fn from(error: K8sError) -> Self {
        Self::Kind(Box::new(error))
    }
}
