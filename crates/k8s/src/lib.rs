//! Pods as workspaces, through the API of Kubernetes.
//!
//! The executor is this program, brought into a pod of any image by its init container, where it is the first process
//! of its container; we talk to it over the streams of an exec, so no port is opened and no network is needed. The
//! files are on a volume that outlives the pod. This crate knows nothing of agents, and no command-line client. Begin
//! reading at [`PodWorkspace`]; [`Cluster`] is where it runs, `manifest.rs` what is made there.

mod api;
mod cluster;
mod ending;
mod error;
mod exec;
mod kubeconfig;
mod manifest;
mod pod;
mod rights;
mod workspace;

pub use cluster::Cluster;
pub use error::K8sError;
pub use manifest::{Delivery, Network, Options, Toleration};
pub use workspace::PodWorkspace;
