//! What becomes of a command when the server dies that waits for it, and when the place dies where it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::conformance::kill;
use super::dockerd::{Dockerd, IMAGE};
use super::sshd::Sshd;
use super::{or_skip, processes};
use crate::commands::Home;
use crate::serve::Served;

const KEY: &str = "k-of-the-test";
/// How long anything may take: a pod is made anew on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// One kind of workspace as a client of the server names it.
pub(super) struct Case<'a> {
    pub(super) home: &'a Home,
    pub(super) variables: &'a [(&'a str, &'a str)],
    pub(super) workspace: Value,
    /// Where its files are on this machine.
    pub(super) files: &'a Path,
}

/// A conversation in which the server is killed during the first command and the place, by `kill`, during the second.
/// Both are given the conversation's id as it stands in paths; `is_left` says whether anything of it is there still.
pub(super) fn goes_on(case: &Case<'_>, kill: impl FnOnce(&str), is_left: impl Fn(&str) -> bool) {
    let commands = [
        "touch begun; sleep 5; echo survived; (exit 7)",
        "touch begun-again; sleep 60",
        "echo again",
    ];
    let steps = commands
        .map(|command| json!({"tool_calls": [{"name": "terminal", "arguments": {"command": command}}]}));
    let script = steps
        .into_iter()
        .chain([json!({"text": "Done."})])
        .collect::<Value>();
    let model = case.home.script(&script.to_string());
    let settings = case.home.root.path().join(".deft");
    fs::create_dir_all(&settings).unwrap();
    let tables = format!("[models.scripted]\nmodel = {model:?}\n");
    fs::write(settings.join("deft.toml"), tables).unwrap();
    let variables = [case.variables, &[("SESSION_API_KEY", KEY)]].concat();
    let start = || Served::start(case.home, &variables);

    let served = start();
    let message = json!({"role": "user", "content": [{"type": "text", "text": "Do it."}]});
    let body = json!({
        "agent": {"llm": {"model": "scripted"}, "tools": [{"name": "terminal"}]},
        "workspace": case.workspace, "initial_message": message,
    });
    let (status, begun) = served.post("/api/conversations", KEY, &body);
    assert_eq!(status, 201, "{begun}");
    let id = begun["id"].as_str().unwrap().to_owned();
    let (path, hex) = (format!("/api/conversations/{id}"), id.replace('-', ""));
    wait_until("the first command runs", || case.files.join("begun").exists());
    drop(served); // as by kill -9

    let served = start();
    let (status, told) = served.post(&format!("{path}/run"), KEY, &json!({}));
    assert_eq!(status, 200, "{told}");
    wait_until("the second command runs", || {
        case.files.join("begun-again").exists()
    });
    kill(&hex);
    let ask = |path: &str| served.send("GET", path, KEY, &json!({})).1;
    wait_until("the conversation is over", || {
        ask(&path)["execution_status"] == "finished"
    });

    let events = ask(&format!("{path}/events/search?limit=100"));
    let results: Vec<&Value> = events["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["tool_call_id"].is_string() && event["kind"] != "ActionEvent")
        .collect();
    let [survived, lost, again] = results[..] else {
        panic!("one result for each command: {events}");
    };
    let text = |event: &Value| event["observation"]["content"][0]["text"].clone();
    assert_eq!(
        (&survived["observation"]["exit_code"], text(survived)),
        (&json!(7), json!("survived"))
    );
    assert!(
        lost["error"]
            .as_str()
            .is_some_and(|error| error.contains("is gone")),
        "{lost}"
    );
    assert_eq!(text(again), "again");

    assert!(is_left(&hex));
    assert_eq!(served.send("DELETE", &path, KEY, &json!({})).0, 200);
    wait_until("nothing of it is left", || !is_left(&hex));
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "not within the limit: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The executors that serve a conversation on this machine.
fn executors(hex: &str) -> Vec<u32> {
    let ours = processes(hex);
    let mut executors = processes("executor serve --directory");
    executors.retain(|pid| ours.contains(pid));
    executors
}

#[test]
fn a_sandbox_goes_on() {
    let home = Home::new();
    let files = home.work();
    let case = Case {
        home: &home,
        variables: &[],
        workspace: json!({"working_dir": files}),
        files: &files,
    };
    let kept = |hex: &str| home.root.path().join(".deft/executors").join(hex).exists();
    goes_on(
        &case,
        |hex| kill(&executors(hex)),
        |hex| !processes(hex).is_empty() || kept(hex),
    );
}

pub(super) fn a_container_goes_on(engine: &Dockerd) {
    let home = Home::new();
    let files = home.work();
    let address = format!("unix://{}", engine.socket().display());
    let case = Case {
        home: &home,
        variables: &[("DOCKER_HOST", &address)],
        workspace: json!({"kind": "docker", "image": IMAGE, "dir": files}),
        files: &files,
    };
    let ask = |method: &str, hex: &str, what: &str| {
        engine
            .api(method, &format!("/containers/deft-{hex}/{what}"), b"")
            .unwrap()
            .0
    };
    goes_on(
        &case,
        |hex| assert_eq!(ask("POST", hex, "kill"), 204),
        |hex| ask("GET", hex, "json") == 200 || !executors(hex).is_empty(),
    );
}

/// A machine behind a server of the tests, and where it keeps our things.
fn machine(server: &Sshd, files: &Path) -> (String, Value, PathBuf) {
    let config = server.path("config").display().to_string();
    let workspace = json!({"kind": "ssh", "host": "127.0.0.1", "port": server.port, "path": files});
    (config, workspace, server.path("home").join(".cache/deft"))
}

#[test]
fn another_machine_goes_on() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let (config, workspace, kept) = machine(&server, files.path());
    let case = Case {
        home: &home,
        variables: &[("DEFT_SSH_CONFIG", &config)],
        workspace,
        files: files.path(),
    };
    goes_on(
        &case,
        |hex| kill(&executors(hex)),
        |hex| !processes(hex).is_empty() || kept.exists(),
    );
}

#[test]
fn another_server_goes_on() {
    let (home, other) = (Home::new(), Home::new());
    let served = Served::start(&other, &[("SESSION_API_KEY", KEY)]);
    let files = other.work();
    let case = Case {
        home: &home,
        variables: &[("DEFT_REMOTE_KEY", KEY)],
        workspace: json!({"kind": "remote", "url": served.address(), "dir": files}),
        files: &files,
    };
    goes_on(
        &case,
        |hex| kill(&executors(hex)),
        |hex| !executors(hex).is_empty(),
    );
}
