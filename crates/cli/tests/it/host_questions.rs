//! Hosts that no rule names: asked for where somebody attends, refused elsewhere.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use deft_workspace::sandbox::Tier;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::commands::Home;
use crate::sandbox::tiers;
use crate::serve::Served;

const KEY: &str = "key-of-the-test";
const LIMIT: Duration = Duration::from_secs(120);
/// Says what came of a request.
const ASK: &str = "import sys, urllib.request, urllib.error
try:
    print(urllib.request.urlopen(sys.argv[1]).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
";

/// A model that has these hosts asked for, one after the other.
fn script(home: &Home, hosts: &[&str]) -> String {
    fs::write(home.work().join("ask.py"), ASK).unwrap();
    let calls = hosts.iter().map(|host| {
        format!(
            "- tool_calls: [{{name: terminal, arguments: {{command: 'python3 ask.py http://{host}/'}}}}]\n"
        )
    });
    let finish = "- tool_calls: [{name: finish, arguments: {message: done}}]\n".to_owned();
    home.script(&calls.chain([finish]).collect::<String>())
}

/// A conversation that asks for hosts, not begun yet.
fn conversation(served: &Served, home: &Home, hosts: &[&str]) -> String {
    begin(served, home, &script(home, hosts))
}

fn begin(served: &Served, home: &Home, model: &str) -> String {
    let body = json!({
        "agent": {"llm": {"model": model}, "tools": [{"name": "terminal"}, {"name": "task"}]},
        "workspace": {"working_dir": home.work()},
    });
    let (status, begun) = served.post("/api/conversations", KEY, &body);
    assert_eq!(status, 201, "{begun}");
    begun["id"].as_str().unwrap().to_owned()
}

fn run(served: &Served, id: &str) {
    let body = json!({"role": "user", "content": [{"type": "text", "text": "Go."}], "run": true});
    let (status, answer) = served.post(&format!("/api/conversations/{id}/events"), KEY, &body);
    assert_eq!(status, 200, "{answer}");
}

/// What the calls of a conversation have answered, once it has finished.
async fn answers(served: &Served, id: &str) -> Vec<String> {
    let finished = async {
        while !served
            .ask(&format!("/api/conversations/{id}"), KEY)
            .contains(r#""execution_status":"finished""#)
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LIMIT, finished)
        .await
        .expect("it never ends");
    let path = format!("/api/conversations/{id}/events/search?limit=100");
    let answer = served.ask(&path, KEY);
    let found: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let all = found["items"].as_array().unwrap().iter();
    let of_terminal =
        all.filter(|event| event["tool_name"] == "terminal" && event["observation"].is_object());
    of_terminal
        .map(|event| event["observation"].to_string())
        .collect()
}

/// Somebody who is shown questions.
struct Attendant(futures::stream::BoxStream<'static, Value>);

impl Attendant {
    async fn come(served: &Served, id: &str) -> Self {
        let address = served.address().replace("http://", "ws://");
        let url = format!("{address}/sockets/session/{id}?attends=true&session_api_key={KEY}");
        let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        let frames = socket.filter_map(|message| async {
            match message {
                Ok(Message::Text(text)) => serde_json::from_str(&text).ok(),
                _ => None,
            }
        });
        let mut attendant = Self(frames.boxed());
        assert_eq!(attendant.questions().await, json!([]));
        attendant
    }

    /// The next list of questions.
    async fn questions(&mut self) -> Value {
        let next = async {
            loop {
                let frame = self.0.next().await.expect("the socket was closed");
                if frame["type"] == "host_questions" {
                    return frame["questions"].clone();
                }
            }
        };
        tokio::time::timeout(LIMIT, next).await.expect("nobody asks")
    }

    /// Waits for a question and answers it.
    async fn answer(&mut self, served: &Served, id: &str, host: &str, answer: &str) {
        assert_eq!(self.questions().await, json!([{"host": host, "port": 80}]));
        let path = format!("/api/conversations/{id}/host_questions");
        let body = json!({"host": host, "port": 80, "answer": answer});
        let (status, left) = served.post(&path, KEY, &body);
        assert_eq!((status, left), (200, json!({"questions": []})));
        assert_eq!(self.questions().await, json!([]));
        assert_eq!(served.post(&path, KEY, &body).0, 404, "it is answered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_asked_for_where_somebody_attends_and_refused_elsewhere() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let home = Home::new();
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY)]);

    let alone = conversation(&served, &home, &["a.example"]);
    run(&served, &alone);
    let refused = answers(&served, &alone).await;
    assert!(
        refused[0].contains("403") && refused[0].contains("sandbox_allow"),
        "{refused:?}"
    );

    let hosts = [
        "192.168.1.1",
        "a.example",
        "a.example",
        "b.example",
        "b.example",
        "c.example",
    ];
    let attended = conversation(&served, &home, &hosts);
    let mut attendant = Attendant::come(&served, &attended).await;
    run(&served, &attended);
    attendant.answer(&served, &attended, "a.example", "deny").await;
    attendant
        .answer(&served, &attended, "b.example", "conversation")
        .await;
    attendant.answer(&served, &attended, "c.example", "project").await;
    let came = answers(&served, &attended).await;
    for (number, words) in [
        (0, "403"), // of a private network, and so not asked for
        (1, "user has refused a.example"),
        (2, "user has refused a.example"), // and not asked again
        (3, "502"),                        // let through: there is just no such host
        (4, "502"),
        (5, "502"),
    ] {
        assert!(came[number].contains(words), "{number}: {came:?}");
    }
    drop(attendant);

    let later = conversation(&served, &home, &["b.example", "c.example"]);
    run(&served, &later);
    let came = answers(&served, &later).await;
    assert!(came[0].contains("403"), "another conversation: {came:?}");
    assert!(came[1].contains("502"), "the same project: {came:?}");

    // Also one that was loaded before it was allowed knows of it.
    let allowed = format!("/api/conversations/{alone}/allowed_hosts");
    assert!(
        served
            .ask(&allowed, KEY)
            .contains(r#"{"rule":"c.example:80","scope":"project"}"#)
    );
    let of_host = format!("{allowed}?host=c.example:80");
    let take_back = || served.send("DELETE", &of_host, KEY, &Value::Null);
    assert_eq!(take_back(), (200, json!({"rules": []})));
    assert_eq!(take_back().0, 404, "it is gone");
    let last = conversation(&served, &home, &["c.example"]);
    run(&served, &last);
    let came = answers(&served, &last).await;
    assert!(came[0].contains("403"), "taken back: {came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_an_agent_with_a_task_wants_is_asked_for_above() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let home = Home::new();
    fs::write(home.work().join("ask.py"), ASK).unwrap();
    let below = home.root.path().join("below.yaml");
    let asks = "- tool_calls: [{name: terminal, arguments: {command: 'python3 ask.py http://a.example/ >> seen'}}]\n";
    fs::write(&below, format!("{asks}{asks}- text: done\n")).unwrap();
    let model = format!("script:{}", below.display());
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY), ("DEFT_AGENTS_MODEL", &model)]);
    let gives = "- tool_calls: [{name: task, arguments: {prompt: Look., subagent_type: general-purpose}}]\n";
    let id = begin(&served, &home, &home.script(&format!("{gives}- text: done\n")));
    let mut attendant = Attendant::come(&served, &id).await;
    run(&served, &id);
    attendant.answer(&served, &id, "a.example", "conversation").await;
    assert_eq!(
        answers(&served, &id).await,
        Vec::<String>::new(),
        "the other has run them"
    );
    let seen = fs::read_to_string(home.work().join("seen")).unwrap();
    assert_eq!(
        seen.matches("502").count(),
        2,
        "asked once, allowed twice: {seen}"
    );
}

/// A network of its own in which a public address is this machine's.
const PLACE: &str = "ip link set lo up && ip addr add 93.184.216.34/32 dev lo || exit 77
python3 -m http.server 80 --bind 93.184.216.34 --directory site >/dev/null 2>&1 &
until (: >/dev/tcp/93.184.216.34/80) 2>/dev/null; do sleep 0.1; done
script -qec \"$1\" /dev/null; code=$?; kill $!; exit $code";

#[test]
fn somebody_at_a_terminal_is_asked_and_what_they_allow_is_reached() {
    if !tiers().contains(&Tier::Namespaces) {
        return;
    }
    let home = Home::new();
    fs::create_dir(home.work().join("site")).unwrap();
    fs::write(home.work().join("site/index.html"), "WELCOME").unwrap();
    let model = script(&home, &["93.184.216.34"]);
    let deft = format!("{} run -t ask --model {model}", env!("CARGO_BIN_EXE_deft"));
    let apart = if rustix::process::geteuid().is_root() {
        "-n"
    } else {
        "-rn"
    };
    let mut asked = home.deft(&[]);
    let mut asked = std::process::Command::new("unshare")
        .args([apart, "bash", "-c", PLACE, "bash", &deft])
        .env_clear()
        .envs(
            asked
                .env("TERM", "dumb")
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(home.work())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = asked.stdin.take().unwrap();
    let mut stdout = asked.stdout.take().unwrap();
    let (mut shown, mut piece) = (String::new(), [0; 1024]);
    while let Ok(length @ 1..) = stdout.read(&mut piece) {
        let before = shown.contains("wants to reach 93.184.216.34:80");
        shown.push_str(&String::from_utf8_lossy(&piece[..length]));
        if !before && shown.contains("wants to reach 93.184.216.34:80") {
            stdin.write_all(b"o\n").unwrap();
        }
    }
    let code = asked.wait().unwrap().code();
    if code == Some(77) {
        return crate::workspaces::skip("a network of its own cannot be set up here");
    }
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("WELCOME"), "{shown}");
}
