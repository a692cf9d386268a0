//! Conversations of `deft serve` that work elsewhere than in a directory of its machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use deft_docker::Docker;
use serde_json::{Value, json};

use super::abilities::SERVER;
use super::dockerd::{Dockerd, IMAGE};
use super::sshd::Sshd;
use super::{end, or_skip};
use crate::commands::Home;
use crate::serve::Served;

const KEY: &str = "k-of-the-test";
/// How long a pool may take to be full: one that could not be made is tried again after half a minute.
const POOL_LIMIT: Duration = Duration::from_secs(180);

fn begin(served: &Served, workspace: &Value) -> (u16, Value) {
    let agent = json!({"llm": {"model": "openai/none", "api_key": "k"}, "tools": []});
    let body = json!({"agent": agent, "workspace": workspace});
    served.post("/api/conversations", KEY, &body)
}

/// Begins a conversation there, and runs a command beside its agent. The files are in `files` on this machine and
/// under `root` for clients. The conversation's id.
fn works_in(served: &Served, workspace: &Value, files: &Path, root: &str) -> String {
    let (status, begun) = begin(served, workspace);
    assert_eq!(status, 201, "{begun}");
    assert_eq!(begun["workspace"]["working_dir"], root, "{begun}");
    let id = begun["id"].as_str().unwrap().to_owned();
    let run = format!("/api/conversations/{id}/bash/execute_bash_command");
    let (status, ran) = served.post(&run, KEY, &json!({"command": "echo made > made; pwd"}));
    assert_eq!((status, &ran["exit_code"]), (200, &json!(0)), "{ran}");
    assert_eq!(ran["stdout"].as_str().unwrap().trim(), root);
    assert_eq!(std::fs::read_to_string(files.join("made")).unwrap(), "made\n");
    std::fs::write(files.join("AGENTS.md"), "Run the tests.").unwrap();
    let project = json!({"project_dir": root, "conversation_id": id});
    let (status, found) = served.post("/api/skills", KEY, &project);
    assert_eq!(
        (status, &found["sources"]["project"]),
        (200, &json!(1)),
        "{found}"
    );
    id
}

/// Has a program serve there, and looks at it as a browser does.
fn shows_what_is_served(served: &Served, id: &str) {
    let conversation = format!("/api/conversations/{id}");
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let command = format!("exec perl -e '{SERVER}' {free}");
    let body = json!({"command": command, "timeout": 120});
    let (status, started) = served.post(&format!("{conversation}/bash/start_bash_command"), KEY, &body);
    assert_eq!(status, 200, "{started}");
    let begun = Instant::now();
    let url = loop {
        let (status, opened) = served.post(&format!("{conversation}/ports/{free}"), KEY, &json!({}));
        if status == 200 {
            break opened["url"].as_str().unwrap().to_owned();
        }
        let search = format!("{conversation}/bash/bash_events/search");
        let said = || served.send("GET", &search, KEY, &json!({}));
        assert!(begun.elapsed() < super::LIMIT, "{opened} {:?}", said());
        std::thread::sleep(Duration::from_millis(100));
    };
    let host = url.split('/').nth(2).unwrap();
    let ask = |path: &str, cookie: &str| {
        let mut stream =
            TcpStream::connect(("127.0.0.1", host.rsplit(':').next().unwrap().parse().unwrap())).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let entered = ask(url.split_once(host).unwrap().1, "");
    let cookie = entered
        .split("deft_preview=")
        .nth(1)
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let shown = ask("/", &format!("deft_preview={cookie}"));
    assert!(shown.ends_with("\r\n\r\nserved"), "{shown}");
    assert!(ask("/", "").starts_with("HTTP/1.1 401"));
}

pub(super) async fn a_conversation_of_the_server_works_in_a_container(engine: &Dockerd) {
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let address = format!("unix://{}", engine.socket().display());
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY), ("DOCKER_HOST", &address)]);
    let typed = json!({"kind": "docker", "image": IMAGE, "dir": files.path(), "pids": 300});
    let id = works_in(&served, &typed, files.path(), "/workspace");
    shows_what_is_served(&served, &id);

    let (status, refused) = begin(&served, &json!("docker:x?no=1"));
    assert!(
        status == 422 && refused.to_string().contains("no option `no`"),
        "{refused}"
    );
    let (status, refused) = begin(&served, &json!({"kind": "local", "path": "/"}));
    assert!(
        status == 422 && refused.to_string().contains("sandbox"),
        "{refused}"
    );

    let data_dir = home.root.path().join(".deft").display().to_string();
    let docker = Docker::at(engine.socket());
    assert_eq!(docker.containers(&data_dir).await.unwrap().len(), 1);
    let path = format!("/api/conversations/{id}");
    assert_eq!(served.send("DELETE", &path, KEY, &json!({})).0, 200);
    let left = docker.containers(&data_dir).await.unwrap();
    assert!(left.is_empty(), "the container goes with its conversation");
    assert!(
        files.path().join("made").exists(),
        "a directory of the user's stays"
    );
}

pub(super) async fn containers_are_ready_before_they_are_wanted(engine: &Dockerd) {
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let address = format!("unix://{}", engine.socket().display());
    let name = format!("docker:{IMAGE}?dir={}", files.path().display());
    let variables = [
        ("SESSION_API_KEY", KEY),
        ("DOCKER_HOST", &address),
        ("DEFT_WORKSPACE", &name),
        ("DEFT_WORKSPACE_POOL", "2"),
    ];
    let docker = Docker::at(engine.socket());
    let data_dir = home.root.path().join(".deft").display().to_string();
    let made = async || {
        let containers = docker.containers(&data_dir).await.unwrap();
        let running = containers.iter().filter(|container| container.state == "running");
        running
            .map(|container| container.conversation().to_owned())
            .collect::<Vec<_>>()
    };
    let until = async |count: usize| {
        let begun = Instant::now();
        while made().await.len() != count {
            assert!(begun.elapsed() < POOL_LIMIT, "never {count}: {:?}", made().await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        made().await
    };
    drop({
        let served = Served::start(&home, &variables);
        until(2).await;
        served // killed: the next server removes what it left
    });
    let left = made().await;
    let served = Served::start(&home, &variables);
    let begun = Instant::now();
    while made().await.iter().any(|id| left.contains(id)) || made().await.len() != 2 {
        assert!(begun.elapsed() < super::LIMIT, "what was left stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let ready = made().await;
    let typed = json!({"kind": "docker", "image": IMAGE, "dir": files.path()});
    let first = works_in(&served, &typed, files.path(), "/workspace");
    assert!(ready.contains(&first), "{first} is none of {ready:?}");
    until(3).await;
    let second = works_in(&served, &typed, files.path(), "/workspace");
    assert_ne!(first, second);
    until(4).await;
    let other = json!({"kind": "docker", "image": IMAGE, "dir": files.path(), "pids": 99});
    let other = works_in(&served, &other, files.path(), "/workspace");
    assert_eq!(until(5).await.iter().filter(|id| **id == other).count(), 1);

    assert_eq!(served.terminate(), Some(0));
    let mut left = made().await;
    left.sort();
    let mut taken = [first, second, other];
    taken.sort();
    assert_eq!(left, taken, "those that nobody took go with the server");
    let now = SystemTime::now() + Duration::from_secs(60);
    let collected = docker.collect_orphans(&data_dir, |_| false, Duration::ZERO, now);
    assert_eq!(collected.await.unwrap().len(), 3);
}

/// Lets all that has happened in a store have happened two days before.
fn two_days_ago(store: &Path) {
    let change = "import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as store:
    store.execute('UPDATE conversations SET updated_at = updated_at - 172800000000')";
    let changed = std::process::Command::new("python3")
        .args(["-c", change])
        .arg(store)
        .status();
    assert!(changed.unwrap().success());
}

pub(super) async fn what_nobody_has_used_for_long_goes_with_its_volume(engine: &Dockerd) {
    let home = Home::new();
    let address = format!("unix://{}", engine.socket().display());
    let variables = [
        ("SESSION_API_KEY", KEY),
        ("DOCKER_HOST", &address),
        ("DEFT_EXECUTOR_LINGER", "1"),
    ];
    let served = Served::start(&home, &variables);
    let typed = json!({"kind": "docker", "image": IMAGE, "volume": ""});
    let (status, begun) = begin(&served, &typed);
    assert_eq!(status, 201, "{begun}");
    let path = format!("/api/conversations/{}", begun["id"].as_str().unwrap());
    let run = format!("{path}/bash/execute_bash_command");
    let (_, ran) = served.post(&run, KEY, &json!({"command": "echo made > made"}));
    assert_eq!(ran["exit_code"], 0, "{ran}");
    assert_eq!(served.terminate(), Some(0));

    let docker = Docker::at(engine.socket());
    let data_dir = home.root.path().join(".deft").display().to_string();
    let volumes = || {
        let (_, listed) = engine.api("GET", "/volumes", b"").unwrap();
        listed.matches(begun["id"].as_str().unwrap()).count()
    };
    let state = async || {
        let containers = docker.containers(&data_dir).await.unwrap();
        containers.first().map(|container| container.state.clone())
    };
    let since = Instant::now();
    while state().await.as_deref() != Some("exited") {
        assert!(since.elapsed() < super::LIMIT, "its executor never ends");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(volumes() > 0, "the volume says whose it is");
    two_days_ago(&home.root.path().join(".deft/deft.db"));

    let variables = [variables.as_slice(), &[("DEFT_WORKSPACE_MAX_AGE", "1")]].concat();
    let served = Served::start(&home, &variables);
    let since = Instant::now();
    while state().await.is_some() || volumes() > 0 {
        assert!(since.elapsed() < super::LIMIT, "it stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let kept = served.ask(&path, KEY);
    assert!(kept.starts_with("HTTP/1.1 200"), "the conversation stays: {kept}");
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn a_conversation_of_the_server_works_on_another_machine() {
    let Some(machine) = or_skip(Sshd::start()) else {
        return;
    };
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let config = machine.path("config").display().to_string();
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY), ("DEFT_SSH_CONFIG", &config)]);
    let path = files.path().display().to_string();
    let typed = json!({"kind": "ssh", "host": "127.0.0.1", "port": machine.port, "path": path});
    let id = works_in(&served, &typed, files.path(), &path);
    shows_what_is_served(&served, &id);
    end(&format!("run/{}", id.replace('-', "")));
}

#[test]
fn a_directory_may_be_the_name_of_a_workspace_and_why_that_cannot_be_reached_is_told() {
    let home = Home::new();
    let nowhere = ("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY), nowhere]);
    let name = format!("docker:none?dir={}", home.work().display());
    let (status, begun) = begin(&served, &json!({"working_dir": name, "kind": "LocalWorkspace"}));
    assert_eq!(status, 201, "{begun}");
    assert_eq!(begun["workspace"]["working_dir"], "/workspace", "{begun}");
    let id = begun["id"].as_str().unwrap();
    let run = format!("/api/conversations/{id}/bash/execute_bash_command");
    let (status, told) = served.post(&run, KEY, &json!({"command": "true"}));
    let words = told["detail"].as_str().unwrap_or_default();
    assert_eq!(status, 502, "{told}");
    assert!(
        words.contains("nothing answers at") && words.contains("systemctl start docker"),
        "{told}"
    );
    let (status, told) = begin(
        &served,
        &json!({"working_dir": "ssh:nobody", "kind": "LocalWorkspace"}),
    );
    assert_eq!(status, 422, "{told}");
}

#[test]
fn what_is_set_is_offered_and_only_that_gives_up_the_sandbox() {
    let home = Home::new();
    let work = home.work();
    let typed = json!({"kind": "local", "path": work});
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY)]);
    let (status, refused) = begin(&served, &typed);
    assert_eq!(status, 422, "{refused}");
    assert!(refused.to_string().contains("local:PATH"), "{refused}");
    drop(served);

    let name = format!("local:{}", work.display());
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY), ("DEFT_WORKSPACE", &name)]);
    let offer = served.send("GET", "/api/app", KEY, &json!({})).1;
    assert_eq!(offer["folder"], name, "{offer}");
    let id = works_in(&served, &typed, &work, &work.display().to_string());
    end(&id.replace('-', ""));
}
