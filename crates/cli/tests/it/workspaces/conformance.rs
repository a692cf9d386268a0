//! What holds for every kind of workspace.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use deft_docker::{Delivery, Docker, DockerWorkspace, Files, Options};
use deft_executor::Update;
use deft_ssh::{SshWorkspace, Target};
use deft_types::{Action, ConversationId, TerminalAction, text_of};
use deft_workspace::sandbox::{Machine, Plan, Unavailable};
use deft_workspace::{LocalWorkspace, Network, Policy, Terms, Workspace};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

use super::dockerd::{Dockerd, IMAGE};
use super::left;
use super::sshd::Sshd;
use super::{begin, ended, open, or_skip, output, processes, program, run, wait_until};

/// One kind of workspace, and what the tests do to it from outside.
pub(super) trait Kind {
    fn workspace(&self) -> &dyn Workspace;
    /// Breaks whatever carries the connection, without a word to the executor.
    fn cut(&self) -> BoxFuture<'_, ()>;
    fn kill_executor(&self);
    fn remove(&self) -> BoxFuture<'_, ()>;
    /// What there is of it on this machine, beside the files: processes, mounts, and whatever the kind has.
    fn left(&self) -> Vec<String>;
}

/// Runs all that must hold; the files are in `files` on this machine.
pub(super) async fn conforms(kind: &dyn Kind, files: &Path) {
    let owner = files.metadata().unwrap().uid();
    assert!(
        kind.workspace().find().await.is_none(),
        "nothing runs before it is opened"
    );

    let client = open(kind.workspace()).await;
    let observation = run(&client, "1", "echo hi; (exit 7)").await;
    assert_eq!(
        (text_of(&observation.content).as_str(), observation.exit_code),
        ("hi", Some(7))
    );

    assert_eq!(
        run(&client, "2", "echo made > made; mkdir sub").await.exit_code,
        Some(0)
    );
    for name in ["made", "sub"] {
        let made = files.join(name).metadata().unwrap();
        assert_eq!(
            made.uid(),
            owner,
            "{name} must belong to the owner of the workspace"
        );
    }
    let used = client.figures().await.unwrap();
    assert!(
        used.processes > 0 && used.memory_bytes > 0,
        "the shell runs: {used:?}"
    );
    assert!(
        used.disk_bytes > 0 && used.disk_free_bytes <= used.disk_bytes,
        "{used:?}"
    );
    assert!(!kind.left().is_empty());
    super::abilities::are_there(&client, files).await;
    super::attacks::none_succeeds(&client, files).await;
    super::stopping::leaves_nothing(&client, files).await;

    // A connection that breaks takes nothing with it.
    let running = begin(&client, "3", "touch begun; sleep 3; echo survived").await;
    wait_until("the command runs", || files.join("begun").exists()).await;
    kind.cut().await;
    drop((running, client));
    let client = super::Client::connect(kind.workspace().find().await.unwrap())
        .await
        .unwrap();
    let collected = ended(client.collect("3".into()).await).await;
    assert_eq!(text_of(&collected.content), "survived", "{collected:?}");
    client.acknowledge("3".into()).await;

    let client = what_runs_can_sleep(kind, client, files).await;

    // An executor that dies loses the call, and says so; the next one works.
    let before = client.hello().instance;
    let apart = format!("sleep 61{}", std::process::id());
    let command = format!("setsid {apart} & touch begun-again; sleep 60");
    let running = begin(&client, "4", &command).await;
    wait_until("the command runs", || files.join("begun-again").exists()).await;
    kind.kill_executor();
    assert_eq!(
        tokio::time::timeout(super::LIMIT, running.end()).await.unwrap(),
        Update::Lost
    );
    let client = open(kind.workspace()).await;
    assert_ne!(
        client.hello().instance,
        before,
        "the engine must see that it is another one"
    );
    assert_eq!(client.collect("4".into()).await.end().await, Update::Unknown);
    assert_eq!(output(&client, "5", "cat made").await, "made");
    wait_until("what the dead one has left is ended", || {
        processes(&apart).is_empty()
    })
    .await;

    // In the end nothing is left but the files.
    let command = format!("setsid {apart} & touch begun-at-last; sleep 60");
    begin(&client, "6", &command).await;
    wait_until("the command runs", || files.join("begun-at-last").exists()).await;
    drop(client);
    kind.kill_executor();
    kind.remove().await;
    let begun = Instant::now();
    let left = || [kind.left(), left::named(&processes(&apart))].concat();
    while !left().is_empty() {
        assert!(begun.elapsed() < super::LIMIT, "{:?}", left());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(kind.workspace().find().await.is_none());
    assert!(files.join("made").exists());
}

/// What was left running sleeps while nobody is there, and its shell does not notice; gives a new connection.
async fn what_runs_can_sleep(kind: &dyn Kind, client: super::Client, files: &Path) -> super::Client {
    let ticking = Action::from(TerminalAction {
        command:
            "sh -c 'while [ ${#i} -lt 60 ]; do i=x$i; sleep 0.05; echo $i > tick; done'; echo slept well"
                .into(),
        timeout: Some(1.0),
        ..TerminalAction::default()
    });
    let running = client.call("ticking".into(), "terminal".into(), ticking).await;
    assert_eq!(ended(running).await.exit_code, Some(-1), "it goes on");
    assert!(client.sleep().await.unwrap(), "something runs");
    let tick = || std::fs::read_to_string(files.join("tick")).unwrap();
    let before = tick();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(tick(), before, "it sleeps");
    drop(client);
    let client = open(kind.workspace()).await;
    let woken = run(&client, "woken", "").await;
    let (said, code) = (text_of(&woken.content), woken.exit_code);
    assert!(
        said.ends_with("slept well") && !said.contains("Stopped"),
        "{said}"
    );
    assert_eq!(code, Some(0));
    assert!(!client.sleep().await.unwrap(), "nothing runs but a shell");
    client
}

/// Kills them all. The end of one may be the end of the next before its turn comes, so a `kill` that fails is fine.
pub(super) fn kill(pids: &[u32]) {
    assert!(!pids.is_empty(), "there is nothing to kill");
    let pids = pids.iter().map(u32::to_string);
    Command::new("kill").arg("-9").args(pids).status().unwrap();
}

struct Local(LocalWorkspace);

impl Local {
    fn executors(&self) -> Vec<u32> {
        processes(&format!("serve --directory {}", self.0.directory.display()))
    }
}

impl Kind for Local {
    fn workspace(&self) -> &dyn Workspace {
        &self.0
    }

    fn cut(&self) -> BoxFuture<'_, ()> {
        async {}.boxed() // there is nothing between
    }

    fn kill_executor(&self) {
        kill(&self.executors());
    }

    fn remove(&self) -> BoxFuture<'_, ()> {
        async { open(&self.0).await.shutdown().await }.boxed()
    }

    fn left(&self) -> Vec<String> {
        let mut left = left::named(&self.executors());
        left.extend(left::mounts(&self.0.root.display().to_string()));
        left
    }
}

#[tokio::test]
async fn a_local_workspace_conforms() {
    let place = tempfile::tempdir().unwrap();
    let files = place.path().join("files");
    std::fs::create_dir(&files).unwrap();
    let workspace = LocalWorkspace {
        program: program().to_owned(),
        root: files.clone(),
        directory: place.path().join("executor"),
        terms: Terms {
            linger: Duration::from_secs(30),
            ..Terms::default()
        },
        sandbox: None,
    };
    conforms(&Local(workspace), &files).await;
}

#[tokio::test]
async fn a_sandbox_conforms() {
    let machine = Machine::probe();
    let sandboxes = machine.bubblewrap.as_ref().map(drop).map_err(ToString::to_string);
    if or_skip(sandboxes).is_some() {
        sandbox_conforms(&machine, Network::default()).await;
    }
}

#[tokio::test]
async fn a_sandbox_without_namespaces_conforms() {
    let machine = Machine {
        bubblewrap: Err(Unavailable::NotInstalled),
        engine_sockets: Vec::new(), // such a machine has none
        ..Machine::probe()
    };
    sandbox_conforms(&machine, Network::All).await; // off, no program could serve a port
}

async fn sandbox_conforms(machine: &Machine, network: Network) {
    // Not below /tmp, of which a sandbox has its own.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = place.path().canonicalize().unwrap();
    let files = place.join("files");
    std::fs::create_dir(&files).unwrap();
    let policy = Policy {
        network,
        ..Policy::for_user(None, &place.join("state"))
    };
    let workspace = LocalWorkspace {
        program: program().to_owned(),
        root: files.clone(),
        directory: place.join("executor"),
        terms: Terms {
            linger: Duration::from_secs(30),
            ..Terms::default()
        },
        sandbox: Some(Plan::new(policy, machine, &files).unwrap()),
    };
    conforms(&Local(workspace), &files).await;
}

struct Container<'a> {
    engine: &'a Dockerd,
    workspace: DockerWorkspace,
    /// As the engine calls it, once it was seen.
    id: OnceLock<String>,
}

impl Container<'_> {
    /// What the engine says of it, as long as it has it.
    fn described(&self) -> Option<Value> {
        let path = format!("/containers/{}/json", self.workspace.name());
        let (status, body) = self.engine.api("GET", &path, b"").unwrap();
        (status == 200).then(|| serde_json::from_str(&body).unwrap_or_default())
    }
}

impl Kind for Container<'_> {
    fn workspace(&self) -> &dyn Workspace {
        &self.workspace
    }

    fn cut(&self) -> BoxFuture<'_, ()> {
        async {}.boxed() // dropping the stream closes the connection to the engine
    }

    fn kill_executor(&self) {
        let path = format!("/containers/{}/kill", self.workspace.name());
        assert_eq!(self.engine.api("POST", &path, b"").unwrap().0, 204);
    }

    fn remove(&self) -> BoxFuture<'_, ()> {
        async { self.workspace.remove().await.unwrap() }.boxed()
    }

    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let id = self
            .described()
            .and_then(|container| container["Id"].as_str().map(str::to_owned));
        if let Some(id) = id {
            left.push(format!("container {}", self.id.get_or_init(|| id)));
        }
        let conversation = self.workspace.conversation.to_string();
        for path in ["/containers/json?all=true", "/volumes"] {
            let (_, body) = self.engine.api("GET", path, b"").unwrap();
            left.extend(body.contains(&conversation).then(|| format!("{path}: {body}")));
        }
        if let Some(words) = self.id.get() {
            left.extend(left::mounts(words));
            left.extend(left::control_groups(words));
        }
        left
    }
}

/// A container on the tests' engine, for a new conversation.
pub(super) fn container(engine: &Dockerd, files: Files) -> DockerWorkspace {
    DockerWorkspace {
        docker: Docker::at(engine.socket()),
        program: program().to_owned(),
        delivery: Delivery::Mount,
        conversation: ConversationId(Uuid::new_v4()),
        owner: "tests".to_owned(),
        image: IMAGE.to_owned(),
        files,
        reader: None,
        options: Options::default(),
        terms: Terms {
            linger: Duration::from_secs(60),
            ..Terms::default()
        },
        preparation: deft_workspace::Preparation::default(),
        layers: deft_docker::Layers::default(),
    }
}

/// A directory that belongs to somebody else, where we may give it away.
pub(super) fn somebodys_directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let _ = chown(directory.path(), Some(12345), Some(12345)); // only root can
    directory
}

pub(super) async fn container_conforms(engine: &Dockerd) {
    let files = somebodys_directory();
    let workspace = container(engine, Files::Directory(files.path().to_owned()));
    let container = Container {
        engine,
        workspace,
        id: OnceLock::new(),
    };
    conforms(&container, files.path()).await;
}

struct Ssh(SshWorkspace, PathBuf);

impl Ssh {
    fn executors(&self) -> Vec<u32> {
        processes(&format!("serve --directory {}", self.1.display()))
    }
}

impl Kind for Ssh {
    fn workspace(&self) -> &dyn Workspace {
        &self.0
    }

    fn cut(&self) -> BoxFuture<'_, ()> {
        async { self.0.disconnect().await.unwrap() }.boxed()
    }

    fn kill_executor(&self) {
        kill(&self.executors());
    }

    fn remove(&self) -> BoxFuture<'_, ()> {
        async { self.0.remove().await.unwrap() }.boxed()
    }

    fn left(&self) -> Vec<String> {
        let connections = format!("ControlPath={}", self.0.target.control_directory.display());
        let mut left = left::named(&self.executors());
        left.extend(left::named(&processes(&connections)));
        left.extend(self.1.exists().then(|| self.1.display().to_string()));
        left
    }
}

/// A directory of the tests' server, for a new conversation.
pub(super) fn over_ssh(server: &Sshd, files: &Path) -> SshWorkspace {
    SshWorkspace {
        target: Target {
            destination: "127.0.0.1".to_owned(),
            port: Some(server.port),
            config: Some(server.path("config")),
            control_directory: server.path("control"),
        },
        root: files.display().to_string(),
        program: program().to_owned(),
        conversation: ConversationId(Uuid::new_v4()),
        terms: Terms {
            linger: Duration::from_secs(60),
            ..Terms::default()
        },
    }
}

#[tokio::test]
async fn an_ssh_workspace_conforms() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let files = tempfile::tempdir().unwrap();
    let workspace = over_ssh(&server, files.path());
    let place = server
        .path("home")
        .join(".cache/deft/run")
        .join(workspace.conversation.hex());
    conforms(&Ssh(workspace, place), files.path()).await;
}
