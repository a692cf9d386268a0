//! How a pod is made and furnished.

use tokio::io::AsyncWriteExt;

use super::{OUR_VERSION, PodWorkspace};
use crate::error::K8sError;
use crate::manifest::{CLAIMS, DELIVER, Manifest, PODS, POLICIES, PRIVATE, WORKSPACE, receive};

/// How long our program may take into the pod.
const UPLOAD_LIMIT: std::time::Duration = std::time::Duration::from_secs(600);

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
            cluster.make("claim a volume", CLAIMS, manifest.claim()).await?;
        }
        // Before the pod, so that it is never without.
        cluster
            .make("create a network policy", POLICIES, manifest.network_policy())
            .await?;
        cluster.make("create a pod", PODS, manifest.pod()).await
    }

    fn serve(&self) -> Vec<String> {
        let place = [
            "executor",
            "serve",
            "--directory",
            PRIVATE,
            "--workspace",
            WORKSPACE,
        ];
        let mut arguments = place.map(str::to_owned).to_vec();
        arguments.extend(self.terms.arguments());
        arguments
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
        let mut exec = self.exec(what, DELIVER, &command).await?;
        let bring = async {
            if exec.stream.write_all(&program).await.is_ok() {
                let _ = exec.stream.flush().await; // how it ended says more
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
