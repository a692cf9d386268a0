//! Pods as workspaces, in a real cluster. One test, because starting a cluster costs more than all that is tried in it.

use std::os::unix::fs::chown;
use std::path::Path;
use std::time::Duration;

use deft_k8s::{Cluster, Delivery, Options, PodWorkspace};
use deft_types::ConversationId;
use deft_workspace::Workspace;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use uuid::Uuid;

use super::conformance::{Kind, conforms, kill};
use super::dockerd::image_root;
use super::kubernetes_server::Kubernetes;
use super::{open, or_skip, output, processes, program};

const IMAGE: &str = "localhost/deft-test:1";
const OWNER: &str = "tests";

struct Pod(PodWorkspace);

/// Nothing else on this machine has our program there.
fn executors() -> Vec<u32> {
    processes("/.deft/deft executor serve")
}

impl Kind for Pod {
    fn workspace(&self) -> &dyn Workspace {
        &self.0
    }

    fn cut(&self) -> BoxFuture<'_, ()> {
        async {}.boxed() // dropping the stream closes the connection to the API
    }

    fn kill_executor(&self) {
        kill(&executors());
    }

    fn remove(&self) -> BoxFuture<'_, ()> {
        async { self.0.remove().await.unwrap() }.boxed()
    }

    fn is_alive(&self) -> bool {
        !executors().is_empty()
    }
}

fn pod(cluster: &Cluster, class: &str) -> PodWorkspace {
    PodWorkspace {
        cluster: cluster.clone(),
        program: program().to_owned(),
        delivery: Delivery::Stream,
        conversation: ConversationId(Uuid::new_v4()),
        owner: OWNER.to_owned(),
        image: IMAGE.to_owned(),
        options: Options {
            storage: "1Gi".to_owned(),
            storage_class: Some(class.to_owned()),
            pull_policy: Some("Never".to_owned()),
            memory: "512Mi".to_owned(),
            request_memory: "32Mi".to_owned(),
            request_cpu: "10m".to_owned(),
            ..Options::default()
        },
        linger: Duration::from_secs(60),
        quiet_limit: Duration::from_secs(30),
    }
}

/// A volume on a directory of this machine, which is the node.
fn volume(kubernetes: &Kubernetes, class: &str, files: &Path) {
    chown(files, Some(10001), Some(10001)).unwrap();
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": class},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": files},
        },
    });
    kubernetes
        .create("/api/v1/persistentvolumes", &volume.to_string())
        .unwrap();
}

#[tokio::test]
async fn a_pod_conforms_and_its_files_outlive_it() {
    let root = tempfile::tempdir().unwrap();
    let started = match image_root(root.path()) {
        Ok(()) => Kubernetes::start(&[(IMAGE, root.path())]),
        Err(error) => Err(error.to_string()),
    };
    let Some(kubernetes) = or_skip(started) else {
        return;
    };
    let cluster = Cluster::from_file(&kubernetes.kubeconfig(), None).unwrap();
    assert!(cluster.version().await.unwrap().starts_with("v1."));

    let files = tempfile::tempdir().unwrap();
    volume(&kubernetes, "first", files.path());
    conforms(&Pod(pod(&cluster, "first")), files.path()).await;
    it_is_made_anew_on_the_same_files(&kubernetes, &cluster).await;
    each_failure_has_its_own_words(&kubernetes, &cluster).await;
}

async fn it_is_made_anew_on_the_same_files(kubernetes: &Kubernetes, cluster: &Cluster) {
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, "second", files.path());
    let workspace = pod(cluster, "second");
    let client = open(&workspace).await;
    let limits = "grep -E 'Cap(Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '[:blank:]'";
    assert_eq!(
        output(&client, "1", limits).await,
        "CapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2"
    );
    let token = "ls /var/run/secrets 2>&1 | wc -l; id -u; echo kept > file";
    assert!(output(&client, "2", token).await.ends_with("\n10001"));
    drop(client);
    let orphans = cluster.collect_orphans(OWNER, |_| false).await.unwrap();
    assert_eq!(orphans, [workspace.conversation.to_string()]);
    assert_eq!(output(&open(&workspace).await, "3", "cat file").await, "kept");
    workspace.remove().await.unwrap();
}

async fn each_failure_has_its_own_words(kubernetes: &Kubernetes, cluster: &Cluster) {
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, "third", files.path());
    let mut unknown = pod(cluster, "third");
    unknown.image = "localhost/none:1".into();
    let missing = unknown.open().await.err().unwrap().to_string();
    assert!(
        missing.contains("no image 'localhost/none:1'") && missing.contains("?pull_secret="),
        "{missing}"
    );
    unknown.remove().await.unwrap();
    let elsewhere = pod(&cluster.clone().in_namespace("nowhere"), "fourth");
    let nowhere = elsewhere.open().await.err().unwrap().to_string();
    assert!(
        nowhere.contains("nowhere") && nowhere.contains("not found"),
        "{nowhere}"
    );
}
