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

impl Case<'_> {
    /// A server with a model that runs these commands, one after the other.
    pub(super) fn serve(&self, commands: &[&str]) -> Served {
        let step =
            |command: &&str| json!({"tool_calls": [{"name": "terminal", "arguments": {"command": command}}]});
        let steps = commands.iter().map(step);
        let script = steps.chain([json!({"text": "Done."})]).collect::<Value>();
        let model = self.home.script(&script.to_string());
        let settings = self.home.root.path().join(".deft");
        fs::create_dir_all(&settings).unwrap();
        let tables = format!("[models.scripted]\nmodel = {model:?}\n");
        fs::write(settings.join("deft.toml"), tables).unwrap();
        let variables = [self.variables, &[("SESSION_API_KEY", KEY)]].concat();
        Served::start(self.home, &variables)
    }

    /// A conversation that goes to work; its id.
    pub(super) fn begin(&self, served: &Served) -> String {
        let agent = json!({"llm": {"model": "scripted"}, "tools": [{"name": "terminal"}]});
        self.begin_with(served, &agent)
    }

    pub(super) fn begin_with(&self, served: &Served, agent: &Value) -> String {
        let message = json!({"role": "user", "content": [{"type": "text", "text": "Do it."}]});
        let body = json!({"agent": agent, "workspace": self.workspace, "initial_message": message});
        let (status, begun) = served.post("/api/conversations", KEY, &body);
        assert_eq!(status, 201, "{begun}");
        begun["id"].as_str().unwrap().to_owned()
    }
}

pub(super) fn ask(served: &Served, path: &str) -> Value {
    served.send("GET", path, KEY, &json!({})).1
}

fn run_again(served: &Served, path: &str) {
    let (status, told) = served.post(&format!("{path}/run"), KEY, &json!({}));
    assert_eq!(status, 200, "{told}");
}

/// The results of its commands, in their order.
fn results(served: &Served, path: &str) -> Vec<Value> {
    let events = ask(served, &format!("{path}/events/search?limit=100"));
    let all = events["items"].as_array().unwrap().iter();
    all.filter(|event| event["tool_call_id"].is_string() && event["kind"] != "ActionEvent")
        .cloned()
        .collect()
}

fn text(event: &Value) -> Value {
    event["observation"]["content"][0]["text"].clone()
}

/// Waits until it does not go on by itself, and tells why, if something is wrong.
fn error(served: &Served, path: &str) -> String {
    wait_until("it is told what is wrong", || {
        ask(served, path)["execution_status"] == "error"
    });
    let events = ask(served, &format!("{path}/events/search?limit=100"));
    events["items"].to_string()
}

/// A conversation in which the server is killed during the first command and the place, by `kill`, during the second.
/// Both are given the conversation's id as it stands in paths; `is_left` says whether anything of it is there still.
pub(super) fn goes_on(case: &Case<'_>, kill: impl FnOnce(&str), is_left: impl Fn(&str) -> bool) {
    let commands = [
        "touch begun; sleep 5; echo survived; (exit 7)",
        "touch begun-again; while sleep 1; do echo waiting; done",
        "echo again",
    ];
    let served = case.serve(&commands);
    let id = case.begin(&served);
    let (path, hex) = (format!("/api/conversations/{id}"), id.replace('-', ""));
    wait_until("the first command runs", || case.files.join("begun").exists());
    drop(served); // as by kill -9

    let served = case.serve(&commands);
    run_again(&served, &path);
    wait_until("the second command runs", || {
        case.files.join("begun-again").exists()
    });
    kill(&hex);
    wait_until_finished(&served, &path);

    let results = results(&served, &path);
    let [survived, lost, again] = &results[..] else {
        panic!("one result for each command: {results:?}");
    };
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

pub(super) fn wait_until_finished(served: &Served, path: &str) {
    let begun = Instant::now();
    loop {
        let status = ask(served, path)["execution_status"].clone();
        if status == "finished" {
            return;
        }
        if status == "error" || begun.elapsed() > LIMIT {
            let events = ask(
                served,
                &format!("{path}/events/search?limit=100&sort_order=TIMESTAMP_DESC"),
            );
            panic!("it does not finish, it is {status}: {events}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
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
    a_directory_goes_on(&home, json!({"working_dir": files}), &[]);
}

#[test]
fn a_directory_without_a_sandbox_goes_on() {
    let home = Home::new();
    let files = home.work();
    let given_up = format!("local:{}", files.display());
    let workspace = json!({"kind": "local", "path": files});
    a_directory_goes_on(&home, workspace, &[("DEFT_WORKSPACE", &given_up)]);
}

fn a_directory_goes_on(home: &Home, workspace: Value, variables: &[(&str, &str)]) {
    let case = Case {
        home,
        variables,
        workspace,
        files: &home.work(),
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

/// The kernel takes the executor when something else in its container wants more memory than there is.
pub(super) fn a_container_out_of_memory_goes_on(engine: &Dockerd) {
    let home = Home::new();
    let files = home.work();
    let address = format!("unix://{}", engine.socket().display());
    let case = Case {
        home: &home,
        variables: &[("DOCKER_HOST", &address)],
        workspace: json!({"kind": "docker", "image": IMAGE, "dir": files, "memory": 128}),
        files: &files,
    };
    let greedy = "touch begun; until [ -e now ]; do sleep 0.1; done; x=x; while :; do x=$x$x; done";
    let served = case.serve(&[greedy, "echo again"]);
    let id = case.begin(&served);
    let (path, hex) = (format!("/api/conversations/{id}"), id.replace('-', ""));
    wait_until("the command runs", || files.join("begun").exists());
    let container = format!("/containers/deft-{hex}");
    let described = engine.api("GET", &format!("{container}/json"), b"").unwrap().1;
    let pid = described
        .split("\"Pid\":")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    fs::write(format!("/proc/{}/oom_score_adj", pid.unwrap()), "1000").unwrap();
    fs::write(files.join("now"), "").unwrap();

    let told = error(&served, &path);
    assert!(told.contains("used up its 128 MiB of memory"), "{told}");
    run_again(&served, &path);
    wait_until_finished(&served, &path);
    let results = results(&served, &path);
    let [lost, again] = &results[..] else {
        panic!("one result for each command: {results:?}");
    };
    assert!(
        lost["error"]
            .as_str()
            .is_some_and(|error| error.contains("is gone")),
        "{lost}"
    );
    assert_eq!(text(again), "again");
    assert_eq!(served.send("DELETE", &path, KEY, &json!({})).0, 200);
}

/// A machine behind a server of the tests, and where it keeps our things.
pub(super) fn machine(server: &Sshd, files: &Path) -> (String, Value, PathBuf) {
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

/// The processes of a server: the one that listens, and those of its connections.
fn of_sshd(server: &Sshd) -> Vec<u32> {
    let mut all = processes(&format!("-f {}", server.path("sshd_config").display()));
    let mut next = 0;
    while let Some(parent) = all.get(next).copied() {
        let children =
            fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        let is_sshd = |pid: &u32| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sshd")
        };
        all.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .filter(is_sshd),
        );
        next += 1;
    }
    all
}

#[test]
fn a_command_outlives_the_sshd_through_which_it_was_begun() {
    let Some(sshd) = or_skip(Sshd::start()) else {
        return;
    };
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let (config, workspace, _) = machine(&sshd, files.path());
    let case = Case {
        home: &home,
        variables: &[("DEFT_SSH_CONFIG", &config)],
        workspace,
        files: files.path(),
    };
    let waits = "touch begun; echo x >> ran; until [ -e now ]; do sleep 0.1; done; echo through";
    let served = case.serve(&[waits, "echo again"]);
    let id = case.begin(&served);
    let path = format!("/api/conversations/{id}");
    wait_until("the command runs", || files.path().join("begun").exists());
    kill(&of_sshd(&sshd));
    let told = error(&served, &path);
    assert!(told.contains("cannot be reached"), "{told}");

    let mut again = std::process::Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "/usr/sbin/sshd", "-D", "-e", "-f"])
        .arg(sshd.path("sshd_config"))
        .stderr(fs::File::create(sshd.path("second-log")).unwrap())
        .spawn()
        .unwrap();
    wait_until("the machine can be reached again", || {
        std::net::TcpStream::connect(("127.0.0.1", sshd.port)).is_ok()
    });
    fs::write(files.path().join("now"), "").unwrap();
    run_again(&served, &path);
    wait_until_finished(&served, &path);
    let results = results(&served, &path);
    let [through, last] = &results[..] else {
        panic!("one result for each command: {results:?}");
    };
    assert_eq!((text(through), text(last)), (json!("through"), json!("again")));
    assert_eq!(
        fs::read_to_string(files.path().join("ran")).unwrap(),
        "x\n",
        "it ran once"
    );
    assert_eq!(served.send("DELETE", &path, KEY, &json!({})).0, 200);
    let _ = again.kill();
    let _ = again.wait();
}

#[test]
fn another_server_goes_on() {
    a_server_goes_on(json!({"kind": "remote"}), ".deft/executors");
}

#[test]
fn a_server_that_only_runs_commands_goes_on() {
    a_server_goes_on(json!({"kind": "remote", "via": "commands"}), ".cache/deft/run");
}

/// A server of its own keeps the files, and what is made for an executor in `kept` of its home.
fn a_server_goes_on(mut workspace: Value, kept: &str) {
    let (home, other) = (Home::new(), Home::new());
    let served = Served::start(&other, &[("SESSION_API_KEY", KEY)]);
    let files = other.work();
    workspace["url"] = served.address().into();
    workspace["dir"] = json!(files);
    let case = Case {
        home: &home,
        variables: &[("DEFT_REMOTE_KEY", KEY)],
        workspace,
        files: &files,
    };
    let kept = other.root.path().join(kept);
    goes_on(
        &case,
        |hex| kill(&executors(hex)),
        |hex| !executors(hex).is_empty() || kept.join(hex).exists(),
    );
}
