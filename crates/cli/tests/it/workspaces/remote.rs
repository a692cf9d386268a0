//! Workspaces that other servers keep: a real `deft serve`, spoken to both ways, and a service of hosted sandboxes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deft_remote::{AgentServer, Host, RemoteWorkspace, RuntimeApi, SandboxSpec, Way};
use deft_types::{ConversationId, Secret};
use deft_workspace::{Glance, Terms, Workspace};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use super::conformance::{Kind, conforms, kill};
use super::left;
use super::{command_line, end, open, output, processes, program, wait_until};
use crate::commands::{Home, lines, stderr, stdout};
use crate::serve::Served;

const KEY: &str = "k-of-the-test";

fn start(home: &Home) -> Served {
    Served::start(home, &[("SESSION_API_KEY", KEY)])
}

/// A directory that the server may use, and that a sandbox around the home sees.
fn files(home: &Home) -> PathBuf {
    let files = home.root.path().join("files");
    std::fs::create_dir(&files).unwrap();
    files
}

/// Where a server keeps what its executors need.
fn executors(home: &Home) -> PathBuf {
    home.root.path().join(".deft/executors")
}

fn workspace(host: Host, way: Way, files: &Path) -> RemoteWorkspace {
    RemoteWorkspace {
        host,
        way,
        directory: files.display().to_string(),
        program: program().to_owned(),
        conversation: ConversationId(Uuid::new_v4()),
        terms: Terms {
            linger: Duration::from_secs(60),
            ..Terms::default()
        },
    }
}

fn server(served: &Served) -> Host {
    let key = Some(Secret::new(KEY.to_owned()));
    Host::Server(AgentServer::new(served.address().parse().unwrap(), key, None).unwrap())
}

/// A workspace of a server on this machine, and where that keeps what is made for it.
struct Remote(RemoteWorkspace, PathBuf);

impl Remote {
    fn executors(&self) -> Vec<u32> {
        let hex = self.0.conversation.hex();
        let mut found = processes("executor serve --directory");
        let ours = processes(&hex);
        found.retain(|pid| ours.contains(pid));
        found
    }
}

impl Kind for Remote {
    fn workspace(&self) -> &dyn Workspace {
        &self.0
    }

    fn cut(&self) -> BoxFuture<'_, ()> {
        async {}.boxed() // dropping the stream closes the connection to the server
    }

    fn kill_executor(&self) {
        kill(&self.executors());
    }

    fn remove(&self) -> BoxFuture<'_, ()> {
        async { self.0.remove().await.unwrap() }.boxed()
    }

    fn left(&self) -> Vec<String> {
        let mut left = left::named(&self.executors());
        let kept = self.1.join(self.0.conversation.hex());
        left.extend(kept.exists().then(|| kept.display().to_string()));
        left
    }
}

#[tokio::test]
async fn a_workspace_of_another_deft_conforms_over_its_socket() {
    let home = Home::new();
    let served = start(&home);
    let files = files(&home);
    let workspace = workspace(server(&served), Way::Best, &files);
    conforms(&Remote(workspace, executors(&home)), &files).await;
}

#[tokio::test]
async fn a_workspace_of_a_foreign_server_conforms_through_its_commands() {
    let home = Home::new();
    let served = start(&home);
    let files = files(&home);
    let brought = home.root.path().join(".cache/deft");
    let workspace = workspace(server(&served), Way::Commands, &files);
    conforms(&Remote(workspace, brought.join("run")), &files).await;
    assert!(!brought.exists(), "nor our program");
    drop(served);
    end(&home.root.path().display().to_string());
}

/// A server that has no such socket refuses it, and hangs up as soon as anything else comes over that connection.
#[tokio::test]
async fn a_connection_over_which_a_socket_was_refused_is_not_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = String::new();
                while reader.read_line(&mut head).unwrap() > 2 {}
                let head = head.to_lowercase();
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "));
                let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                reader.read_exact(&mut body).unwrap();
                let answer = if head.contains("upgrade: websocket") {
                    "403 X\r\nContent-Length: 0"
                } else {
                    "507 X\r\nContent-Length: 0\r\nConnection: close"
                };
                write!(stream, "HTTP/1.1 {answer}\r\n\r\n").unwrap();
                let _ = reader.read(&mut [0]); // and then it is closed
            });
        }
    });
    let foreign = Host::Server(AgentServer::new(address.parse().unwrap(), None, None).unwrap());
    for _ in 0..5 {
        let workspace = workspace(foreign.clone(), Way::Best, Path::new("/"));
        let refused = workspace.open().await.err().unwrap().to_string();
        assert!(refused.contains("507"), "{refused}");
    }
}

#[tokio::test]
async fn a_task_runs_at_another_server() {
    let home = Home::new();
    let served = start(&home);
    let files = files(&home);
    let name = format!("remote:{}?dir={}", served.address(), files.display());
    command_line::a_task_runs(&home, &name, &[("DEFT_REMOTE_KEY", KEY)], &files);

    let mut doctor = home.deft(&["doctor", "-w", &name]);
    let refused = doctor.env("DEFT_REMOTE_KEY", "k-wrong").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(stdout(&refused).contains("refuses our key"), "{refused:?}");

    // A server that is gone keeps nobody from deleting what was done there.
    let id = command_line::conversation(&home);
    drop(served);
    let delete = |more: &[&str]| home.run(&[&["delete", &id], more].concat());
    let refused = delete(&[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("--force"), "{refused:?}");
    assert_eq!(lines(&home.run(&["list", "--json"])).len(), 1);
    let forced = delete(&["--force"]);
    assert!(forced.status.success(), "{forced:?}");
    assert!(stdout(&forced).contains("may be left there: "), "{forced:?}");
    assert!(lines(&home.run(&["list", "--json"])).is_empty());
    end(&id);
}

#[tokio::test]
async fn each_refusal_of_a_server_says_what_to_do() {
    let home = Home::new();
    let served = start(&home);
    let failure = async |host: Host, directory: &Path| {
        let workspace = workspace(host, Way::Best, directory);
        workspace.open().await.err().unwrap().to_string()
    };
    let missing = failure(server(&served), Path::new("/no/such/place")).await;
    assert!(
        missing.contains("cannot open the workspace") && missing.contains("/no/such/place"),
        "{missing}"
    );
    for wrong in [None, Some(Secret::new("k-wrong".to_owned()))] {
        let wrong = Host::Server(AgentServer::new(served.address().parse().unwrap(), wrong, None).unwrap());
        let denied = failure(wrong, &home.work()).await;
        assert!(
            denied.contains("refuses our key")
                && denied.contains("DEFT_REMOTE_KEY")
                && !denied.contains("k-wrong"),
            "{denied}"
        );
    }
    // The key is right, but where this server was started it may do nothing: neither in its home nor among temporary files.
    let elsewhere = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let elsewhere = Home { root: elsewhere };
    std::fs::create_dir(elsewhere.work()).unwrap();
    let somebody = Home::new();
    let their_home = somebody.root.path().display().to_string();
    let strict = Served::start(
        &elsewhere,
        &[
            ("SESSION_API_KEY", KEY),
            ("HOME", &their_home),
            ("TMPDIR", &their_home),
        ],
    );
    let strict = workspace(server(&strict), Way::Commands, &elsewhere.work());
    let refused = strict.open().await.err().unwrap().to_string();
    assert!(
        refused.contains("403") && refused.contains("directories that this server may use"),
        "{refused}"
    );
    let nobody = Host::Server(AgentServer::new("http://127.0.0.1:1".parse().unwrap(), None, None).unwrap());
    let unreachable = failure(nobody, &home.work()).await;
    assert!(
        unreachable.contains("http://127.0.0.1:1 cannot be reached") && unreachable.contains("refused"),
        "{unreachable}"
    );
}

#[tokio::test]
async fn a_disk_of_a_server_that_is_full_is_told_with_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        return super::skip("only root may make a small disk");
    }
    let home = Home::new();
    let cache = home.root.path().join(".cache");
    std::fs::create_dir_all(&cache).unwrap();
    let mut small = std::process::Command::new("mount");
    let small = small.args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&cache);
    assert!(small.status().unwrap().success());
    let served = start(&home);
    let workspace = workspace(server(&served), Way::Commands, &files(&home));
    let full = workspace.open().await.err().unwrap().to_string();
    drop(served);
    end(&home.root.path().display().to_string());
    let gone = std::process::Command::new("umount")
        .arg("-l")
        .arg(&cache)
        .status();
    assert!(gone.unwrap().success());
    assert!(
        full.contains("has no room left to take our program") && full.contains("make room on its disk"),
        "{full}"
    );
}

/// What a service of hosted sandboxes knows: the one sandbox it has, and what it was asked.
struct Service {
    url: String,
    state: Option<&'static str>,
    is_down: bool,
    asked: Vec<String>,
}

/// Serves sandboxes of this one server until the process ends; gives what is known of it, and where.
fn serve_sandboxes(served: &Served) -> (Arc<Mutex<Service>>, String) {
    let service = Arc::new(Mutex::new(Service {
        url: served.address(),
        state: None,
        is_down: false,
        asked: Vec::new(),
    }));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let known = Arc::clone(&service);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &known);
        }
    });
    (service, address)
}

fn answer(mut stream: TcpStream, service: &Mutex<Service>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length, mut key) = (String::new(), 0, false);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        key |= line == format!("x-api-key: {KEY}");
        length = line
            .strip_prefix("content-length: ")
            .map_or(length, |length| length.parse().unwrap());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let mut service = service.lock().unwrap();
    service
        .asked
        .push(path.split('/').nth(1).unwrap_or_default().to_owned());
    let known = json!({"runtime_id": "r1", "url": service.url, "session_api_key": KEY});
    let told = |state: &str| {
        let mut told = known.clone();
        told["status"] = state.into();
        told["pod_status"] = if state == "running" { "ready" } else { "pending" }.into();
        told
    };
    let (status, body) = match path {
        _ if !key => (401, json!({"detail": "no key"})),
        _ if service.is_down => (503, json!({"detail": "come back later"})),
        "/start" if body["image"] == "some/image:1" && body["session_id"].is_string() => {
            service.state = Some("running");
            (200, known)
        }
        "/pause" | "/resume" | "/stop" if body["runtime_id"] == "r1" => {
            service.state = match path {
                "/pause" => Some("paused"),
                "/resume" => Some("running"),
                _ => None,
            };
            (200, json!({}))
        }
        path if path.starts_with("/sessions/") => match service.state {
            Some(state) => (200, told(state)),
            None => (404, json!({"detail": "no such session"})),
        },
        _ => (400, json!({"detail": "not understood"})),
    };
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_hosted_sandbox_is_started_put_to_sleep_woken_and_ended() {
    let home = Home::new();
    let served = start(&home);
    let files = files(&home);
    let (service, address) = serve_sandboxes(&served);
    let asked = || std::mem::take(&mut service.lock().unwrap().asked);
    let key = Some(Secret::new(KEY.to_owned()));
    let api = RuntimeApi::new(address.parse().unwrap(), key, None).unwrap();
    let spec = SandboxSpec {
        image: "some/image:1".to_owned(),
        command: None,
        runtime_class: None,
        resource_factor: 1,
    };
    let workspace = workspace(Host::Sandbox(api, spec), Way::Best, &files);
    assert!(workspace.find().await.is_none());
    let seen = workspace.glance().await.unwrap();
    assert!(matches!(seen, Glance::Nothing), "none is started to be read");
    assert_eq!(asked(), ["sessions", "sessions"]);
    assert_eq!(output(&open(&workspace).await, "1", "echo hi").await, "hi");
    let begun = asked();
    assert_eq!(&begun[..2], ["sessions", "start"], "{begun:?}");
    workspace.pause().await.unwrap();
    assert!(
        workspace.find().await.is_none(),
        "what sleeps is not woken to look"
    );
    asked();
    assert_eq!(output(&open(&workspace).await, "2", "echo again").await, "again");
    let woken = asked();
    assert_eq!(&woken[..2], ["sessions", "resume"], "{woken:?}");

    let remote = Remote(workspace.clone(), executors(&home));
    open(&workspace).await.shutdown().await;
    wait_until("the executor is gone", || remote.executors().is_empty()).await;
    workspace.remove().await.unwrap();
    assert_eq!(asked().last().map(String::as_str), Some("stop"));
    assert!(service.lock().unwrap().state.is_none());
}

/// A hosted sandbox is paid for as long as it is there.
#[tokio::test]
async fn what_cannot_be_removed_with_its_conversation_is_removed_when_its_place_is_back() {
    let (home, other) = (Home::new(), Home::new());
    let served = start(&other);
    let files = files(&other);
    let (service, address) = serve_sandboxes(&served);
    let name = format!("remote:{address}?sandbox=some/image:1&dir={}", files.display());
    let variables = [("DEFT_REMOTE_KEY", KEY), ("SESSION_API_KEY", KEY)];
    command_line::a_task_runs(&home, &name, &variables, &files);
    let id = command_line::conversation(&home);
    let path = format!("/api/conversations/{id}");

    service.lock().unwrap().is_down = true;
    let ours = Served::start(&home, &variables);
    assert_eq!(ours.send("DELETE", &path, KEY, &json!({})).0, 200);
    assert_eq!(ours.send("GET", &path, KEY, &json!({})).0, 404);
    drop(ours);
    service.lock().unwrap().is_down = false;
    assert!(service.lock().unwrap().state.is_some());

    let notes = home.root.path().join(".deft/left");
    assert_eq!(std::fs::read_dir(&notes).unwrap().count(), 1);
    let _ours = Served::start(&home, &variables);
    wait_until("it is ended", || service.lock().unwrap().state.is_none()).await;
    wait_until("it is noted no more", || {
        std::fs::read_dir(&notes).unwrap().count() == 0
    })
    .await;
    end(&id);
}
