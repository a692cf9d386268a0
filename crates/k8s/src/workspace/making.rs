//! How a pod is made and furnished, and how those that nobody wants any more are removed.

use tokio::io::AsyncWriteExt;

use super::{OUR_VERSION, PodWorkspace};
use crate::api::Ask;
use crate::cluster::Cluster;
use crate::error::K8sError;
use crate::manifest::{DELIVER, Manifest, OWNER, PRIVATE, WORKSPACE, receive};
use crate::pod::Pod;

/// How long our program may take into the pod.
const UPLOAD_LIMIT: std::time::Duration = std::time::Duration::from_secs(600);
/// Pods that are listed at most.
const MAX_LISTED: &str = "1000";

impl PodWorkspace {
    /// Makes what is missing: the claim, the policy, the pod.
    pub(super) async fn make(&self) -> Result<(), K8sError> {
        let (name, conversation) = (self.name(), self.conversation.to_string());
        let manifest = Manifest {
            name: &name,
            image: &self.image,
            delivery: &self.delivery,
            conversation: &conversation,
            owner: &self.owner,
            version: OUR_VERSION,
            command: self.serve(),
            options: &self.options,
        };
        let cluster = &self.cluster;
        if self.options.claim.is_none() {
            let claims = "persistentvolumeclaims";
            cluster.make("claim a volume", claims, manifest.claim()).await?;
        }
        // Before the pod, so that it is never without.
        let policies = "/apis/networking.k8s.io/v1/*/networkpolicies";
        cluster
            .make("create a network policy", policies, manifest.network_policy())
            .await?;
        cluster.make("create a pod", "pods", manifest.pod()).await
    }

    fn serve(&self) -> Vec<String> {
        let arguments = [
            "executor",
            "serve",
            "--directory",
            PRIVATE,
            "--workspace",
            WORKSPACE,
            "--linger",
            &self.linger.as_secs().to_string(),
            "--quiet-limit",
            &self.quiet_limit.as_secs().to_string(),
        ];
        arguments.map(str::to_owned).to_vec()
    }

    /// Sends our program to the container that waits for it.
    pub(super) async fn bring(&self) -> Result<(), K8sError> {
        let path = self.program.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
        let read = read.map_err(std::io::Error::other).and_then(|read| read);
        let program = read.map_err(|error| K8sError::Program {
            path: self.program.clone(),
            reason: error.to_string(),
        })?;
        let what = "take our program into a pod";
        let script = receive(program.len());
        let command = ["sh", "-c", &script];
        let mut exec = self.cluster.exec(what, &self.name(), DELIVER, &command).await?;
        let bring = async {
            if exec.write_all(&program).await.is_ok() {
                let _ = exec.flush().await; // how it ended says more
            }
            exec.ended().await
        };
        let ended = tokio::time::timeout(UPLOAD_LIMIT, bring).await;
        let ended = ended.map_err(|_| K8sError::Slow(what))?;
        if ended.is_success {
            return Ok(());
        }
        Err(K8sError::Broken {
            what,
            reason: ended.complaint,
        })
    }
}

impl Cluster {
    /// Removes pods of this installation whose conversation nobody knows any more, and tells which those were. Their
    /// files stay: a volume is deleted with its conversation alone.
    pub async fn collect_orphans(
        &self,
        owner: &str,
        is_known: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, K8sError> {
        let what = "list pods";
        let selector = format!("{OWNER}={owner}");
        let query = [("labelSelector", selector.as_str()), ("limit", MAX_LISTED)];
        let mut found = self.ask(Ask::get(what, "pods").query(&query)).await?;
        let pods: Vec<Pod> =
            serde_json::from_value(found["items"].take()).map_err(|error| K8sError::Broken {
                what,
                reason: error.to_string(),
            })?;
        let mut removed = Vec::new();
        for pod in pods.iter().filter(|pod| !is_known(pod.conversation())) {
            match self
                .ask(Ask::delete("end a pod", format!("pods/{}", pod.name())))
                .await
            {
                Err(K8sError::Refused { status: 404, .. }) => {}
                deleted => drop(deleted?),
            }
            removed.push(pod.conversation().to_owned());
        }
        Ok(removed)
    }
}
