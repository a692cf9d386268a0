//! Pods as workspaces, in a real cluster. One test, because starting a cluster costs more than all that is tried in it.

use std::os::unix::fs::chown;
use std::path::Path;
use std::time::{Duration, SystemTime};

use deft_k8s::{Cluster, Delivery, Options, PodWorkspace};
use deft_types::ConversationId;
use deft_workspace::{Glance, Terms, Workspace};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use uuid::Uuid;

use super::conformance::{Kind, conforms, kill};
use super::dockerd::{IMAGE, image_root};
use super::kubernetes_server::Kubernetes;
use super::proxies::Proxy;
use super::{command_line, left, open, or_skip, output, processes, program};
use crate::commands::Home;

/// One that has nothing but our program.
const PROGRAM_IMAGE: &str = "localhost/deft-program:1";
const OWNER: &str = "tests";
/// How long the controllers may take to see that a node is no more.
const NODE_LIMIT: Duration = Duration::from_secs(240);

struct Pod<'a> {
    kubernetes: &'a Kubernetes,
    workspace: PodWorkspace,
}

/// Containers have our program in the same place, but are told nothing of a cluster.
fn executors() -> Vec<u32> {
    let mut found = processes("/.deft/deft executor serve");
    found.retain(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains("KUBERNETES_SERVICE_HOST=")
    });
    found
}

impl Kind for Pod<'_> {
    fn workspace(&self) -> &dyn Workspace {
        &self.workspace
    }

    fn cut(&self) -> BoxFuture<'_, ()> {
        async {}.boxed() // dropping the stream closes the connection to the API
    }

    fn kill_executor(&self) {
        kill(&executors());
    }

    fn remove(&self) -> BoxFuture<'_, ()> {
        async { self.workspace.remove().await.unwrap() }.boxed()
    }

    fn left(&self) -> Vec<String> {
        let mut left = left::named(&executors());
        let hex = self.workspace.conversation.hex();
        for what in ["pods", "persistentvolumeclaims"] {
            let path = format!("/api/v1/namespaces/default/{what}");
            let (_, all) = self.kubernetes.ask("GET", &path, None).unwrap();
            left.extend(all.contains(&hex).then(|| format!("one of the {what}")));
        }
        left
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
        terms: Terms {
            linger: Duration::from_secs(60),
            ..Terms::default()
        },
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
    let (root, bare) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::copy(program(), bare.path().join("deft")).unwrap();
    let started = match image_root(root.path()) {
        Ok(()) => Kubernetes::start(&[(IMAGE, root.path()), (PROGRAM_IMAGE, bare.path())]),
        Err(error) => Err(error.to_string()),
    };
    let Some(kubernetes) = or_skip(started) else {
        return;
    };
    let cluster = Cluster::from_file(&kubernetes.kubeconfig(), None).unwrap();
    assert!(cluster.version().await.unwrap().starts_with("v1."));

    let files = tempfile::tempdir().unwrap();
    volume(&kubernetes, "first", files.path());
    let first = Pod {
        kubernetes: &kubernetes,
        workspace: pod(&cluster, "first"),
    };
    conforms(&first, files.path()).await;
    it_is_made_anew_on_the_same_files(&kubernetes, &cluster).await;
    the_program_comes_from_an_image(&kubernetes, &cluster).await;
    a_task_runs_in_a_pod(&kubernetes, &cluster).await;
    a_pod_goes_on(&kubernetes);
    the_rights_of_the_manifest_are_enough_and_no_more(&kubernetes).await;
    it_is_reached_through_a_proxy(&kubernetes).await;
    orphans_are_collected_by_age(&kubernetes, &cluster).await;
    each_failure_has_its_own_words(&kubernetes, &cluster).await;
    a_pod_of_a_lost_node_is_made_anew(&kubernetes); // the last: what a node does when it comes back takes its time
}

async fn it_is_made_anew_on_the_same_files(kubernetes: &Kubernetes, cluster: &Cluster) {
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, "second", files.path());
    let mut workspace = pod(cluster, "second");
    workspace
        .options
        .env
        .insert("GRANTED".to_owned(), "yes".to_owned());
    let seen = workspace.glance().await.unwrap();
    assert!(matches!(seen, Glance::Nothing), "none is made to be read");
    let client = open(&workspace).await;
    assert!(matches!(workspace.glance().await.unwrap(), Glance::Opened(_)));
    let limits = "grep -E 'Cap(Eff|Bnd)|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '[:blank:]'";
    assert_eq!(
        output(&client, "1", limits).await,
        "CapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2"
    );
    let token = "ls /var/run/secrets/kubernetes.io 2>/dev/null; id -u; echo $GRANTED; echo kept > file";
    assert_eq!(output(&client, "2", token).await, "10001\nyes", "and no token");
    drop(client);
    workspace.stop().await.unwrap();
    assert!(workspace.find().await.is_none());
    assert_eq!(output(&open(&workspace).await, "3", "cat file").await, "kept");
    workspace.remove().await.unwrap();
}

/// The pod's own image then needs nothing but what the tools want.
async fn the_program_comes_from_an_image(kubernetes: &Kubernetes, cluster: &Cluster) {
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, "fifth", files.path());
    let mut workspace = pod(cluster, "fifth");
    workspace.delivery = Delivery::Image(PROGRAM_IMAGE.to_owned());
    workspace.program = "/no/such/program".into();
    let home = output(&open(&workspace).await, "1", "cd ~ && touch x && pwd").await;
    assert_eq!(home, "/.deft/home");
    workspace.remove().await.unwrap();
}

/// As people name it: small, and on a volume of this machine.
fn named(class: &str) -> serde_json::Value {
    json!({
        "kind": "k8s", "image": IMAGE, "class": class, "storage": "1Gi", "pull": "Never", "memory": "512Mi",
        "request_memory": "32Mi", "request_cpu": "10m",
    })
}

async fn a_task_runs_in_a_pod(kubernetes: &Kubernetes, cluster: &Cluster) {
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, "sixth", files.path());
    let config = kubernetes.kubeconfig().display().to_string();
    let name = named("sixth");
    let options = name
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| !["kind", "image"].contains(&key.as_str()));
    let options: Vec<_> = options
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap()))
        .collect();
    let name = format!("k8s:{IMAGE}?{}", options.join("&"));
    let variables = [("KUBECONFIG", config.as_str())];
    command_line::words_are_answered(&home, &name, &variables);
    assert!(executors().is_empty(), "a pod was made for nothing");
    command_line::a_task_runs(&home, &name, &variables, files.path());
    assert_eq!(
        std::fs::read_to_string(files.path().join("place")).unwrap(),
        "/workspace\n"
    );

    let mut left = pod(cluster, "sixth");
    let id = command_line::conversation(&home);
    left.conversation = ConversationId(Uuid::parse_str(&id).unwrap());
    left.remove().await.unwrap();
}

fn a_pod_goes_on(kubernetes: &Kubernetes) {
    let pods = "/api/v1/namespaces/default/pods";
    goes_on(kubernetes, "seventh", |hex| {
        assert_eq!(kubernetes.api("DELETE", &format!("{pods}/deft-{hex}")), 200);
    });
}

/// The controllers remove the pods of a node that is no more, which takes them a minute. It comes back empty.
fn a_pod_of_a_lost_node_is_made_anew(kubernetes: &Kubernetes) {
    goes_on(kubernetes, "eleventh", |hex| {
        assert_eq!(kubernetes.api("DELETE", "/api/v1/nodes/node1"), 200);
        let pod = format!("/api/v1/namespaces/default/pods/deft-{hex}");
        let (_, before) = kubernetes.ask("GET", &pod, None).unwrap();
        let uid = |pod: &str| {
            serde_json::from_str::<serde_json::Value>(pod).unwrap_or_default()["metadata"]["uid"].clone()
        };
        let begun = std::time::Instant::now();
        while kubernetes
            .ask("GET", &pod, None)
            .unwrap()
            .1
            .contains(uid(&before).as_str().unwrap())
        {
            assert!(begun.elapsed() < NODE_LIMIT, "the pod of a lost node stays");
            std::thread::sleep(Duration::from_millis(500));
        }
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": "node1", "labels": {"kubernetes.io/hostname": "node1"},
        }});
        kubernetes.create("/api/v1/nodes", &node.to_string()).unwrap();
    });
}

/// A cluster as somebody sees it who has no more than the rights that we ask for.
async fn the_rights_of_the_manifest_are_enough_and_no_more(kubernetes: &Kubernetes) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kubernetes-rbac.yaml");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "deft"}});
    kubernetes
        .create("/api/v1/namespaces", &namespace.to_string())
        .unwrap();
    for part in std::fs::read_to_string(manifest).unwrap().split("---\n") {
        let part: serde_json::Value = serde_saphyr::from_str(part).unwrap();
        let path = match part["kind"].as_str().unwrap() {
            "ServiceAccount" => "/api/v1/namespaces/deft/serviceaccounts",
            "Role" => "/apis/rbac.authorization.k8s.io/v1/namespaces/deft/roles",
            "RoleBinding" => "/apis/rbac.authorization.k8s.io/v1/namespaces/deft/rolebindings",
            other => panic!("nobody should need a {other}"),
        };
        kubernetes.create(path, &part.to_string()).unwrap();
    }
    let wanted = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let path = "/api/v1/namespaces/deft/serviceaccounts/deft/token";
    let (status, granted) = kubernetes.ask("POST", path, Some(&wanted.to_string())).unwrap();
    assert_eq!(status, 201, "{granted}");
    let granted: serde_json::Value = serde_json::from_str(&granted).unwrap();
    let token = granted["status"]["token"].as_str().unwrap();
    for (path, allowed) in [
        ("/api/v1/namespaces/deft/pods", true),
        ("/api/v1/namespaces/deft/secrets", false),
        ("/api/v1/namespaces/deft/configmaps", false),
        ("/api/v1/namespaces/deft/serviceaccounts", false),
        ("/api/v1/namespaces/default/pods", false),
        ("/api/v1/nodes", false),
        ("/api/v1/persistentvolumes", false),
    ] {
        let (status, answer) = kubernetes.ask_as(token, "GET", path, None).unwrap();
        assert_eq!(status, if allowed { 200 } else { 403 }, "{path}: {answer}");
    }

    let place = tempfile::tempdir().unwrap();
    let config = std::fs::read_to_string(kubernetes.kubeconfig()).unwrap();
    let admin = config
        .split("token: \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap();
    let path = place.path().join("kubeconfig");
    std::fs::write(&path, config.replace(admin, token)).unwrap();
    let elsewhere = Cluster::from_file(&path, None).unwrap();
    let lacking = elsewhere.check_rights().await.unwrap_err().to_string();
    assert!(
        lacking.contains("create pods, ")
            && lacking.contains("create pods/exec")
            && lacking.contains("rbac.yaml"),
        "{lacking}"
    );
    let cluster = elsewhere.in_namespace("deft");
    cluster.check_rights().await.unwrap();
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, "twelfth", files.path());
    let workspace = pod(&cluster, "twelfth");
    assert_eq!(output(&open(&workspace).await, "1", "echo hi").await, "hi");
    workspace.stop().await.unwrap();
    assert_eq!(output(&open(&workspace).await, "2", "echo again").await, "again");
    assert_eq!(
        cluster.conversations(OWNER).await.unwrap(),
        [workspace.conversation.to_string()]
    );
    workspace.remove().await.unwrap();
    let gone = async {
        while !cluster.conversations(OWNER).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(200)).await; // a claim goes after its pod
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
}

/// One that the environment names for all, and one that the kubeconfig names for its cluster.
async fn it_is_reached_through_a_proxy(kubernetes: &Kubernetes) {
    let proxy = Proxy::start("127.0.0.1:16443".parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("kubeconfig");
    let config = std::fs::read_to_string(kubernetes.kubeconfig()).unwrap();
    // The node's address, at which nobody listens.
    std::fs::write(&path, config.replace("127.0.0.1", "10.88.0.1")).unwrap();
    let home = Home::new();
    let name = format!("k8s:{IMAGE}");
    let doctor = |variables: &[(&str, &str)]| {
        let mut doctor = home.deft(&["doctor", "-w", &name]);
        let doctor = doctor.env("KUBECONFIG", &path).envs(variables.iter().copied());
        let output = doctor.output().unwrap();
        (output.status.success(), crate::commands::stdout(&output))
    };
    let (is_well, told) = doctor(&[]);
    assert!(!is_well && told.contains("cannot be reached"), "{told}");
    let (is_well, told) = doctor(&[("HTTPS_PROXY", &proxy.address)]);
    assert!(is_well, "{told}");
    assert!(proxy.asked().contains(&"10.88.0.1:16443".to_owned()));

    let named = format!("proxy-url: {:?}, certificate-authority", proxy.address);
    std::fs::write(&path, config.replace("certificate-authority", &named)).unwrap();
    let cluster = Cluster::from_file(&path, None).unwrap();
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, "thirteenth", files.path());
    let workspace = pod(&cluster, "thirteenth");
    assert_eq!(output(&open(&workspace).await, "1", "echo hi").await, "hi");
    workspace.remove().await.unwrap();
    let mut asked = proxy.asked();
    asked.dedup();
    assert_eq!(asked, ["127.0.0.1:16443"]);
}

/// A conversation in a pod goes on whatever becomes of it.
fn goes_on(kubernetes: &Kubernetes, class: &str, kill: impl FnOnce(&str)) {
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    volume(kubernetes, class, files.path());
    let config = kubernetes.kubeconfig().display().to_string();
    let case = super::killed::Case {
        home: &home,
        variables: &[("KUBECONFIG", &config)],
        workspace: named(class),
        files: files.path(),
    };
    let there = |kind: &str, hex: &str| kubernetes.api("GET", &format!("{kind}/deft-{hex}")) == 200;
    let pods = "/api/v1/namespaces/default/pods";
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
    super::killed::goes_on(&case, kill, |hex| {
        [pods, claims, policies].iter().any(|kind| there(kind, hex))
    });
    // A node that comes back ends what nobody wants any more when it notices.
    super::killed::wait_until("no executor is left", || executors().is_empty());
}

async fn orphans_are_collected_by_age(kubernetes: &Kubernetes, cluster: &Cluster) {
    let [known, forgotten, foreign] =
        [("eighth", OWNER), ("ninth", OWNER), ("tenth", "others")].map(|(class, owner)| {
            let files = tempfile::tempdir().unwrap();
            volume(kubernetes, class, files.path());
            let mut workspace = pod(cluster, class);
            workspace.owner = owner.into();
            (workspace, files)
        });
    for (workspace, _) in [&known, &forgotten, &foreign] {
        open(workspace).await;
    }
    forgotten.0.stop().await.unwrap(); // its volume is left
    let is_known = |id: &str| id == known.0.conversation.to_string();
    let day = Duration::from_secs(24 * 60 * 60);
    let now = SystemTime::now();
    let mut made = cluster.conversations(OWNER).await.unwrap();
    made.sort();
    let mut expected = [&known.0, &forgotten.0].map(|workspace| workspace.conversation.to_string());
    expected.sort();
    assert_eq!(made, expected);
    let collected = cluster.collect_orphans(OWNER, is_known, day, now).await.unwrap();
    assert!(collected.is_empty(), "they are too young: {collected:?}");
    let collected = cluster
        .collect_orphans(OWNER, is_known, day, now + 2 * day)
        .await
        .unwrap();
    assert_eq!(collected, [forgotten.0.conversation.to_string()]);
    for (workspace, _) in [&known, &foreign] {
        assert!(workspace.find().await.is_some());
        workspace.remove().await.unwrap();
    }
    assert!(cluster.conversations(OWNER).await.unwrap().is_empty());
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
