//! What is particular to containers. One test, because starting an engine costs more than all that is tried with it.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use deft_docker::{Delivery, Docker, DockerWorkspace, Files, Gpus};
use deft_executor::Client;
use deft_workspace::{Glance, Workspace};

use super::conformance::{container, container_conforms, somebodys_directory};
use super::dockerd::Dockerd;
use super::{begin, left, open, or_skip, output, run, wait_until};

#[tokio::test]
async fn a_container_conforms_and_is_kept_within_its_limits() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dockerd");
    let Some(engine) = or_skip(Dockerd::start(&data)) else {
        return;
    };
    let docker = tidied(&engine).await;
    let data = data.display().to_string();
    let mounts = left::mounts(&data);

    container_conforms(&engine).await;
    super::command_line::a_task_runs_in_a_container(&engine).await;
    super::through_server::a_conversation_of_the_server_works_in_a_container(&engine).await;
    super::through_server::containers_are_ready_before_they_are_wanted(&engine).await;
    super::through_server::what_nobody_has_used_for_long_goes_with_its_volume(&engine).await;
    super::killed::a_container_goes_on(&engine);
    super::killed::a_container_out_of_memory_goes_on(&engine);
    it_can_do_nothing_but_its_work(&engine).await;
    x3_s2_it_leaves_nothing_that_acts_outside_and_cannot_look_into_the_executor(&engine).await;
    x1_a_link_that_replaces_what_is_kept_does_not_lead_out_of_the_directory(&engine).await;
    it_is_found_paused_and_stopped(&engine).await;
    a_volume_and_a_copied_program_do_as_well(&engine).await;
    an_image_that_is_not_here_is_pulled(&engine).await;
    super::images::images_are_built_once_and_pruned(&engine).await;
    each_failure_has_its_own_words(&engine).await;
    a_container_out_of_memory_is_told_once(&engine).await;
    orphans_are_collected_by_age(&engine).await;
    assert!(docker.containers("tests").await.unwrap().is_empty());
    assert_eq!(left::mounts(&data), mounts);
}

/// An engine that has our image, and nothing of what a run that was killed left behind.
pub(super) async fn tidied(engine: &Dockerd) -> Docker {
    engine.make_image().unwrap();
    let docker = Docker::at(engine.socket());
    let left = docker.collect_orphans("tests", |_| false, Duration::ZERO, SystemTime::now());
    left.await.unwrap();
    docker
}

pub(super) async fn it_can_do_nothing_but_its_work(engine: &Dockerd) {
    let files = somebodys_directory();
    let mut workspace = container(engine, Files::Directory(files.path().to_owned()));
    workspace
        .options
        .env
        .insert("GRANTED".to_owned(), "yes".to_owned());
    workspace.options.limits.processes = 200;
    let beside = tempfile::tempdir().unwrap();
    std::fs::write(beside.path().join("file"), "beside").unwrap();
    let _ = std::process::Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(beside.path())
        .status();
    workspace.options.mounts.push(deft_docker::Mount {
        source: beside.path().to_owned(),
        target: "/beside".to_owned(),
        read_only: true,
    });
    let client = open(&workspace).await;
    assert_eq!(output(&client, "1", "ls /sys/class/net").await, "lo");
    let status = output(
        &client,
        "2",
        "grep -E 'Cap(Eff|Bnd)|NoNewPrivs' /proc/self/status | tr -d '[:blank:]'",
    )
    .await;
    assert_eq!(
        status,
        "CapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1"
    );
    assert_eq!(
        output(&client, "3", "echo $GRANTED; touch ~/x && echo home").await,
        "yes\nhome"
    );
    assert_eq!(
        output(&client, "4", "echo ${CARGO_MANIFEST_DIR:-none}").await,
        "none"
    );
    assert_ne!(run(&client, "5", "echo x > /.deft/deft").await.exit_code, Some(0));
    assert_eq!(output(&client, "6", "cat /beside/file").await, "beside");
    assert_ne!(run(&client, "7", "touch /beside/new").await.exit_code, Some(0));
    // System calls are filtered, and the engine is out of reach.
    assert_eq!(
        output(
            &client,
            "8",
            "grep -w Seccomp /proc/self/status | tr -d '[:blank:]'"
        )
        .await,
        "Seccomp:2"
    );
    let sockets = "find / -xdev -name '*docker*.sock' -o -xdev -name '*podman*.sock' 2>/dev/null | wc -l";
    assert_eq!(output(&client, "9", sockets).await, "0");
    let body = engine
        .api("GET", &format!("/containers/{}/json", workspace.name()), b"")
        .unwrap()
        .1;
    assert!(
        body.contains("\"PidsLimit\":200") && body.contains("\"Memory\":4294967296"),
        "{body}"
    );
    super::stopping::ends_what_multiplies(&client, 200).await;
    drop(client);
    workspace.remove().await.unwrap();
}

pub(super) async fn x3_s2_it_leaves_nothing_that_acts_outside_and_cannot_look_into_the_executor(
    engine: &Dockerd,
) {
    let files = somebodys_directory();
    for directory in [".git/hooks", ".git/objects", ".git/refs", ".vscode"] {
        std::fs::create_dir_all(files.path().join(directory)).unwrap();
    }
    std::fs::write(files.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(files.path().join(".git/config"), "[core]\n").unwrap();
    std::fs::write(files.path().join(".vscode/tasks.json"), "{}").unwrap();
    let owned = std::process::Command::new("chown")
        .args(["-R", "12345:12345"])
        .arg(files.path())
        .status();
    assert!(owned.unwrap().success());
    let workspace = container(engine, Files::Directory(files.path().to_owned()));
    let client = open(&workspace).await;
    for (number, attack) in [
        "echo evil > .git/hooks/pre-commit",
        "echo evil >> .git/config",
        "echo ../ev > .git/commondir",
        "mv .git old",
        "rm -rf .git/hooks",
        "echo evil > .vscode/tasks.json",
        "dd if=/proc/1/mem bs=1 count=0",
        "cat /proc/1/environ",
    ]
    .into_iter()
    .enumerate()
    {
        let ran = run(&client, &format!("x{number}"), attack).await;
        assert_ne!(ran.exit_code, Some(0), "{attack}");
    }
    assert_eq!(
        output(&client, "fine", "touch .git/index.lock file && echo fine").await,
        "fine"
    );
    drop(client);
    workspace.remove().await.unwrap();
    let config = std::fs::read_to_string(files.path().join(".git/config"));
    assert_eq!(config.unwrap(), "[core]\n");
    let theirs = std::process::Command::new("find")
        .arg(files.path())
        .args(["!", "-user", "12345"])
        .output();
    let others = String::from_utf8(theirs.unwrap().stdout).unwrap();
    assert_eq!(others, "", "nothing of root's is left there");
}

/// As an agent in another container with the same files could leave it.
pub(super) async fn x1_a_link_that_replaces_what_is_kept_does_not_lead_out_of_the_directory(
    engine: &Dockerd,
) {
    let files = somebodys_directory();
    let outside = somebodys_directory();
    for place in [files.path().join("evil"), outside.path().to_owned()] {
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(".git"), "x").unwrap();
    }
    let workspace = container(engine, Files::Directory(files.path().to_owned()));
    drop(open(&workspace).await);
    workspace.stop().await.unwrap();
    std::fs::remove_dir_all(files.path().join("evil")).unwrap();
    std::os::unix::fs::symlink(outside.path(), files.path().join("evil")).unwrap();
    let refused = workspace.open().await.err().unwrap().to_string();
    assert!(
        refused.contains("/workspace/evil is not mounted from the workspace"),
        "{refused}"
    );
    std::fs::remove_file(files.path().join("evil")).unwrap();
    std::fs::create_dir(files.path().join("evil")).unwrap();
    std::fs::write(files.path().join("evil/.git"), "x").unwrap();
    assert_eq!(output(&open(&workspace).await, "1", "echo fine").await, "fine");

    // Or the directory itself, from a workspace around it.
    workspace.stop().await.unwrap();
    let aside = outside.path().join("aside");
    std::fs::rename(files.path(), &aside).unwrap();
    std::os::unix::fs::symlink(outside.path(), files.path()).unwrap();
    let refused = workspace.open().await.err().unwrap().to_string();
    assert!(refused.contains("has become a link"), "{refused}");
    workspace.remove().await.unwrap();
    std::fs::remove_file(files.path()).unwrap();
    std::fs::rename(&aside, files.path()).unwrap();
}

pub(super) async fn it_is_found_paused_and_stopped(engine: &Dockerd) {
    let files = somebodys_directory();
    let workspace = container(engine, Files::Directory(files.path().to_owned()));
    let client = open(&workspace).await;
    let instance = client.hello().instance;
    begin(&client, "1", "touch begun; sleep 1; echo done").await;
    wait_until("the command runs", || files.path().join("begun").exists()).await;
    drop(client);
    workspace.pause().await.unwrap();
    let state = async || {
        workspace.docker.containers("tests").await.unwrap()[0]
            .state
            .clone()
    };
    assert_eq!(state().await, "paused");

    // As after a restart of ours: nothing is known but the conversation.
    let again = container(engine, Files::Directory(files.path().to_owned()));
    let again = DockerWorkspace {
        conversation: workspace.conversation,
        ..again
    };
    let client = Client::connect(again.find().await.unwrap()).await.unwrap();
    assert_eq!(client.hello().instance, instance);
    assert_eq!(
        super::ended(client.collect("1".into()).await).await.exit_code,
        Some(0)
    );
    drop(client);

    workspace.pause().await.unwrap();
    workspace.stop().await.unwrap();
    assert_eq!(state().await, "exited");
    assert!(workspace.find().await.is_none());
    assert_eq!(output(&open(&workspace).await, "2", "ls").await, "begun");
    workspace.remove().await.unwrap();
}

pub(super) async fn a_volume_and_a_copied_program_do_as_well(engine: &Dockerd) {
    let mut workspace = container(engine, Files::OwnVolume("deft-test-files".to_owned()));
    workspace.delivery = Delivery::Copy;
    let seen = workspace.glance().await.unwrap();
    assert!(matches!(seen, Glance::Nothing), "none is made to be read");
    let client = open(&workspace).await;
    assert_eq!(output(&client, "1", "echo kept > file; cat file").await, "kept");
    drop(client);
    an_engine_that_does_not_see_our_program_gets_a_copy(engine).await;
    let volume = || engine.api("GET", "/volumes/deft-test-files", b"").unwrap().0;
    assert_eq!(volume(), 200);
    workspace.remove().await.unwrap();
    assert_eq!(volume(), 404);

    let workspace = container(engine, Files::Volume("deft-test-files".to_owned()));
    drop(open(&workspace).await);
    workspace.remove().await.unwrap();
    assert_eq!(volume(), 200, "a volume that the user has named stays");
    let (removed, why) = engine.api("DELETE", "/volumes/deft-test-files", b"").unwrap();
    assert_eq!(removed, 204, "{why}");
}

/// As it is with an engine of another machine, whose socket was brought here.
async fn an_engine_that_does_not_see_our_program_gets_a_copy(engine: &Dockerd) {
    let ours = std::fs::File::open(super::program()).unwrap();
    let ours = rustix::io::fcntl_dupfd_cloexec(&ours, 900).unwrap(); // under a number that the engine has not
    let mut workspace = container(engine, Files::Volume(String::from("deft-test-elsewhere")));
    workspace.program = format!("/proc/self/fd/{}", ours.as_raw_fd()).into();
    let client = open(&workspace).await;
    assert_eq!(output(&client, "1", "echo there").await, "there");
    drop(client);
    workspace.remove().await.unwrap();
}

async fn an_image_that_is_not_here_is_pulled(engine: &Dockerd) {
    let files = somebodys_directory();
    let mut workspace = container(engine, Files::Directory(files.path().to_owned()));
    workspace.image = format!("{}/small", super::registry::serve());
    let mut told = workspace.preparation.listen();
    // There is not even a shell in it, but that the executor does not need.
    let client = open(&workspace).await;
    assert_eq!(client.hello().workspace, "/workspace");
    drop(client);
    let told: Vec<String> = std::iter::from_fn(|| told.try_recv().ok()).collect();
    assert!(told.iter().any(|line| line.contains("Pull complete")), "{told:?}");
    workspace.remove().await.unwrap();
    let (removed, why) = engine
        .api("DELETE", &format!("/images/{}", workspace.image), b"")
        .unwrap();
    assert_eq!(removed, 200, "{why}");
    let mut missing = workspace;
    missing.image += ":none";
    let missing = missing.open().await.err().unwrap().to_string();
    assert!(
        missing.contains("there is no image") && missing.contains("docker pull"),
        "{missing}"
    );
}

async fn each_failure_has_its_own_words(engine: &Dockerd) {
    let files = somebodys_directory();
    let new = || container(engine, Files::Directory(files.path().to_owned()));
    let failure = async |workspace: &dyn Workspace| workspace.open().await.err().unwrap().to_string();

    let mut down = new();
    down.docker = Docker::at(files.path().join("none.sock"));
    let down = failure(&down).await;
    assert!(
        down.contains("nothing answers at") && down.contains("systemctl start docker"),
        "{down}"
    );

    let mut foreign = new();
    foreign.options.platform = Some("linux/s390x".to_owned());
    let foreign = failure(&foreign).await;
    assert!(foreign.contains("for another platform"), "{foreign}");

    // There are none on this machine. The engine was asked for them all the same, and says so.
    let mut with_gpus = new();
    with_gpus.options.gpus = Gpus::All;
    let refused = failure(&with_gpus).await;
    assert!(refused.contains("gpu"), "{refused}");
    let path = format!("/containers/{}/json", with_gpus.name());
    let made = engine.api("GET", &path, b"").unwrap().1;
    assert!(made.contains(r#""Capabilities":[["gpu"]]"#), "{made}");
    with_gpus.remove().await.unwrap();

    let mut missing = new();
    missing.image = "127.0.0.1:1/no/such:image".into();
    let missing = failure(&missing).await;
    assert!(
        missing.contains("127.0.0.1:1/no/such:image") && missing.contains("could not be pulled"),
        "{missing}"
    );

    let mut invalid = new();
    invalid.image = "No Such Image".into();
    let invalid = failure(&invalid).await;
    assert!(
        invalid.contains("No Such Image") || invalid.contains("invalid reference"),
        "{invalid}"
    );

    let nowhere = container(engine, Files::Directory(files.path().join("nowhere")));
    let nowhere = failure(&nowhere).await;
    assert!(nowhere.contains("does not exist"), "{nowhere}");

    // A program that cannot be an executor.
    let mut broken = new();
    broken.program = "/bin/true".into();
    let ended = failure(&broken).await;
    assert!(
        ended.contains("the executor ended in its container with exit code 0"),
        "{ended}"
    );
    broken.remove().await.unwrap();

    // As another version of this program would have made it.
    let old = new();
    let label = serde_json::json!({"deft.conversation": old.conversation, "deft.owner": "tests", "deft.version": "0.0.1"});
    let body = serde_json::json!({"Image": old.image, "Cmd": ["sleep", "1"], "Labels": label}).to_string();
    let path = format!("/containers/create?name={}", old.name());
    assert_eq!(engine.api("POST", &path, body.as_bytes()).unwrap().0, 201);
    let version = failure(&old).await;
    assert!(
        version.contains("version 0.0.1") && version.contains("docker rm -f"),
        "{version}"
    );
    old.remove().await.unwrap();
}

async fn a_container_out_of_memory_is_told_once(engine: &Dockerd) {
    let files = somebodys_directory();
    let mut workspace = container(engine, Files::Directory(files.path().to_owned()));
    workspace.options.limits.memory_bytes = 64 << 20;
    let client = open(&workspace).await;
    // Of itself the kernel takes the one that has most.
    let greedy = "(echo 1000 > /proc/self/oom_score_adj; exec perl -e '$x = \"x\" x 1000; $x .= $x while 1')";
    let killed = run(&client, "greedy", greedy).await;
    let told = deft_types::text_of(&killed.content);
    assert_eq!(killed.exit_code, Some(137), "{told}");
    assert!(told.contains("the memory of the workspace was used up"), "{told}");
    // The kernel is told to take the executor first, once its shell is there, which would be told the same. From inside
    // nobody can tell it that.
    begin(&client, "0", "true").await.end().await;
    let path = format!("/containers/{}/json", workspace.name());
    let described = engine.api("GET", &path, b"").unwrap().1;
    let pid = described
        .split("\"Pid\":")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    let first = format!("/proc/{}/oom_score_adj", pid.unwrap());
    std::fs::write(first, "1000").unwrap();
    let call = begin(&client, "1", "x=x; while :; do x=$x$x; done").await;
    assert_eq!(
        tokio::time::timeout(super::LIMIT, call.end()).await.unwrap(),
        deft_executor::Update::Lost
    );
    drop(client);
    let exited = || {
        let path = format!("/containers/{}/json", workspace.name());
        engine
            .api("GET", &path, b"")
            .unwrap()
            .1
            .contains("\"Status\":\"exited\"")
    };
    wait_until("the container has ended", exited).await;
    let told = workspace.open().await.err().unwrap().to_string();
    assert!(
        told.contains("used up its 64 MiB of memory") && told.contains("raise its memory limit"),
        "{told}"
    );
    assert_eq!(output(&open(&workspace).await, "2", "echo again").await, "again");
    workspace.remove().await.unwrap();
}

pub(super) async fn orphans_are_collected_by_age(engine: &Dockerd) {
    let files = somebodys_directory();
    let [known, forgotten, foreign] = ["tests", "tests", "others"].map(|owner| {
        let mut workspace = container(engine, Files::Directory(files.path().to_owned()));
        workspace.owner = owner.into();
        workspace
    });
    for workspace in [&known, &forgotten, &foreign] {
        open(workspace).await;
    }
    let is_known = |id: &str| id == known.conversation.to_string();
    let day = Duration::from_secs(24 * 60 * 60);
    let docker = &known.docker;
    let now = SystemTime::now();
    let collected = docker.collect_orphans("tests", is_known, day, now).await.unwrap();
    assert!(collected.is_empty(), "they are too young: {collected:?}");
    let collected = docker
        .collect_orphans("tests", is_known, day, now + 2 * day)
        .await
        .unwrap();
    assert_eq!(collected, [forgotten.conversation.to_string()]);
    assert!(foreign.find().await.is_some());
    for workspace in [&known, &foreign] {
        workspace.remove().await.unwrap();
    }
}
