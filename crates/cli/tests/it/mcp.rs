//! `deft mcp`, with a server that does what its arguments say, and one that wants a login.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::commands::{Home, stderr, stdout};
use super::serve::Served;

#[path = "../../../mcp/tests/it/npm.rs"]
pub(crate) mod npm;

fn unruly() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/it/unruly.mjs")
}

/// The same in the workspace, where a sandbox shows it wherever this repository lies.
fn own_copy(home: &Home) -> PathBuf {
    let script = home.work().join("unruly.mjs");
    fs::copy(unruly(), &script).unwrap();
    script
}

/// Sets servers up as the user's own.
fn set_up(home: &Home, servers: &Value) -> String {
    let file = home.root.path().join("mcp.json");
    fs::write(&file, json!({"mcpServers": servers}).to_string()).unwrap();
    file.display().to_string()
}

fn mcp(home: &Home, file: &str, args: &[&str]) -> Output {
    let args: Vec<_> = ["mcp"].iter().chain(args).copied().collect();
    home.deft(&args).env("DEFT_MCP_CONFIG", file).output().unwrap()
}

/// A server that wants a login, and its address.
fn with_login() -> Option<(npm::Listening, String)> {
    let script = npm::script(npm::WITH_LOGIN)?;
    let (port, login_port) = (npm::free_port(), npm::free_port());
    let ports = [
        ("MCP_PORT", port.to_string()),
        ("MCP_AUTH_PORT", login_port.to_string()),
    ];
    let server = npm::Listening::start(&script, &["--oauth"], port, &ports);
    Some((server, format!("http://localhost:{port}/mcp")))
}

#[test]
fn servers_are_listed_without_being_started_and_without_their_secrets() {
    let home = Home::new();
    let empty = home.deft(&["mcp", "list"]).output().unwrap();
    assert!(
        stdout(&empty).contains("No MCP server is set up"),
        "{}",
        stderr(&empty)
    );

    let own = home.root.path().join(".deft");
    fs::create_dir_all(&own).unwrap();
    let toml =
        "[mcpServers.files]\ncommand = \"touch\"\nargs = [\"started\"]\nenv = { TOKEN = \"open-sesame\" }\n";
    fs::write(own.join("deft.toml"), toml).unwrap();
    let far =
        json!({"far": {"url": "https://me:open-sesame@example.com/mcp?key=open-sesame", "type": "sse"}});
    let listed = mcp(&home, &set_up(&home, &far), &["list"]);
    let shown = stdout(&listed);
    assert!(
        shown.contains("files  touch started"),
        "{shown}{}",
        stderr(&listed)
    );
    assert!(shown.contains("far  https://example.com/mcp (sse)"), "{shown}");
    assert!(!shown.contains("sesame"), "{shown}");
    assert!(!home.root.path().join("work/started").exists());
}

#[test]
fn a_project_may_not_name_servers() {
    let home = Home::new();
    for text in [
        "[mcpServers.x]\ncommand = \"touch\"\nargs = [\"started\"]\n",
        "mcp_config = \"x.json\"\n",
    ] {
        fs::write(home.root.path().join("work/deft.toml"), text).unwrap();
        let output = home.deft(&["mcp", "test"]).output().unwrap();
        assert!(
            stderr(&output).contains("a project may not set"),
            "{}",
            stderr(&output)
        );
        assert!(!home.root.path().join("work/started").exists());
    }
}

#[test]
fn servers_are_tried_in_the_workspace_and_each_failure_is_told() {
    let home = Home::new();
    let file = set_up(
        &home,
        &json!({
            "wild": {"command": "node", "args": [own_copy(&home), "child"]},
            "gone": {"command": "no-such-program-at-all"},
            "dead": {"url": format!("http://127.0.0.1:{}/mcp", npm::free_port())},
        }),
    );
    let tried = mcp(&home, &file, &["test"]);
    let shown = stdout(&tried);
    assert_eq!(tried.status.code(), Some(1), "{shown}{}", stderr(&tried));
    assert!(
        shown.contains("✔ wild  7 tools\n    wild_say  Says something."),
        "{shown}"
    );
    assert!(
        shown.contains("✘ gone  \"no-such-program-at-all\" cannot be started"),
        "{shown}"
    );
    assert!(shown.contains("✘ dead  it cannot be reached"), "{shown}");
    assert!(
        home.root.path().join("work/pids").exists(),
        "it runs in the workspace"
    );

    let one = mcp(&home, &file, &["test", "wild", "--json"]);
    assert_eq!(one.status.code(), Some(0), "{}", stderr(&one));
    let statuses: Value = serde_json::from_str(&stdout(&one)).unwrap();
    assert_eq!(statuses[0]["state"]["status"], "ready");
    let none = mcp(&home, &file, &["test", "nobody"]);
    assert!(stderr(&none).contains("no MCP server is called \"nobody\""));
}

#[test]
fn a_server_is_tried_where_a_run_would_start_it() {
    let home = Home::new();
    let outside = home.root.path().join("outside");
    let script = format!("touch {}; echo tried > inside; exit 1", outside.display());
    let file = set_up(&home, &json!({"nosy": {"command": "sh", "args": ["-c", script]}}));
    let tried = mcp(&home, &file, &["test"]);
    assert_eq!(tried.status.code(), Some(1), "{}", stderr(&tried));
    assert!(home.work().join("inside").exists(), "{}", stdout(&tried));
    assert!(!outside.exists(), "it is shut in");
    let kept = fs::read_dir(home.root.path().join(".deft/executors"));
    assert_eq!(kept.map_or(0, Iterator::count), 0, "nothing is kept of a test");
}

#[test]
fn a_run_says_which_servers_it_has_to_do_without() {
    let home = Home::new();
    let file = set_up(&home, &json!({"gone": {"command": "no-such-program-at-all"}}));
    let model = home.script("[{text: Hello.}, {text: Hello again.}, {text: And again.}]");
    let run = |args: &[&str]| {
        let args: Vec<_> = [&["run", "-t", "hi", "--model", &model], args].concat();
        home.deft(&args).env("DEFT_MCP_CONFIG", &file).output().unwrap()
    };
    let words = "The MCP server gone is missing: \"no-such-program-at-all\" cannot be started";
    let first = run(&[]);
    assert!(
        stdout(&first).contains(words),
        "{}{}",
        stdout(&first),
        stderr(&first)
    );
    for more in [&["--last"][..], &["--last", "--json"]] {
        let again = run(more);
        assert!(stderr(&again).contains(words), "{more:?}: {}", stderr(&again));
    }
}

#[test]
fn a_run_says_which_silent_servers_it_waits_for() {
    let home = Home::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let wait = "until test -e ready; do sleep 0.1; done";
    let servers = json!({
        "far": {"url": format!("http://{}/mcp", silent.local_addr().unwrap())},
        "near": {"command": "sh", "args": ["-c", wait]},
        "gone": {"command": "no-such-program-at-all"},
    });
    let model = home.script("[{text: Hello.}]");
    let mut run = home
        .deft(&["run", "-t", "hi", "--model", &model])
        .env("DEFT_MCP_CONFIG", set_up(&home, &servers))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(run.stderr.take().unwrap()).lines();
    let mut next = || told.next().unwrap().unwrap();
    assert_eq!(next(), "workspace: waiting for MCP servers: far");
    drop(silent);
    assert_eq!(next(), "workspace: waiting for MCP servers: near");
    fs::write(home.work().join("ready"), "").unwrap();
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_client_of_the_server_has_one_tried_in_a_sandbox() {
    let home = Home::new();
    let served = Served::start(&home, &[("SESSION_API_KEY", "k-one")]);
    let try_out = |server: Value, seconds: u64| {
        let body = json!({"name": "wild", "server": server, "timeout": seconds});
        served.post("/api/mcp/test", "k-one", &body)
    };
    let script = own_copy(&home);
    let (status, tried) = try_out(
        json!({"type": "stdio", "command": "node", "args": [script, "child"]}),
        60,
    );
    assert_eq!((status, &tried["ok"]), (200, &json!(true)), "{tried}");
    assert!(
        tried["tools"].as_array().unwrap().contains(&json!("say")),
        "{tried}"
    );
    assert_eq!(tried["tool_result"], Value::Null);
    let pids = fs::read_to_string(home.work().join("pids"));
    assert!(pids.is_ok(), "it runs where the server was started");

    let call = |tool: &str| {
        let program = json!({"type": "stdio", "command": "node", "args": [script]});
        let call = json!({"name": tool, "arguments": {}});
        let body = json!({"name": "wild", "server": program, "timeout": 60, "tool_call": call});
        served.post("/api/mcp/test", "k-one", &body).1["tool_result"].clone()
    };
    assert_eq!(call("say"), json!({"is_error": false, "text": "something"}));
    assert_eq!(call("nothing")["is_error"], true);

    let (_, gone) = try_out(json!({"command": "no-such-program-at-all"}), 60);
    assert_eq!(
        (&gone["ok"], &gone["error_kind"]),
        (&json!(false), &json!("connection")),
        "{gone}"
    );
    let (_, silent) = try_out(json!({"command": "sleep", "args": ["1000"]}), 1);
    assert_eq!(
        (&silent["ok"], &silent["error_kind"]),
        (&json!(false), &json!("timeout")),
        "{silent}"
    );
    let dead = format!("http://127.0.0.1:{}/mcp", npm::free_port());
    let (_, dead) = try_out(json!({"type": "http", "url": dead}), 60);
    assert_eq!(
        (&dead["ok"], &dead["error_kind"]),
        (&json!(false), &json!("connection")),
        "{dead}"
    );
    assert_eq!(try_out(json!({"command": "node"}), 1000).0, 422);
    assert_eq!(served.terminate(), Some(0));
    let kept = fs::read_dir(home.root.path().join(".deft/executors"));
    assert_eq!(kept.map_or(0, Iterator::count), 0, "nothing is kept of a test");
}

#[test]
fn a_server_that_is_another_one_than_before_is_not_started_until_it_is_approved() {
    let home = Home::new();
    let script = own_copy(&home);
    let first = set_up(&home, &json!({"wild": {"command": "node", "args": [script]}}));
    assert_eq!(mcp(&home, &first, &["test"]).status.code(), Some(0));
    let other = set_up(
        &home,
        &json!({"wild": {"command": "node", "args": [script, "child"]}}),
    );
    let refused = mcp(&home, &other, &["test"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stdout(&refused).contains("its command line or address is another one"),
        "{}",
        stdout(&refused)
    );
    assert!(!home.root.path().join("work/pids").exists());
    assert_eq!(mcp(&home, &other, &["approve", "wild"]).status.code(), Some(0));
    assert_eq!(mcp(&home, &other, &["test"]).status.code(), Some(0));
}

#[test]
fn a_login_by_the_browser_lets_us_in_and_is_kept_for_the_owner_alone() {
    let Some((_server, url)) = with_login() else {
        return;
    };
    let home = Home::new();
    let file = set_up(&home, &json!({"far": {"url": url, "auth": "oauth"}}));
    let outside = mcp(&home, &file, &["test"]);
    assert!(
        stdout(&outside).contains("wants a login"),
        "{}{}",
        stdout(&outside),
        stderr(&outside)
    );

    let mut login = home
        .deft(&["mcp", "login", "far"])
        .env("DEFT_MCP_CONFIG", &file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(login.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let page = lines.find(|line| line.starts_with("http")).unwrap();
    // This server agrees without asking anybody.
    let answer = get(&page);
    let location = answer
        .lines()
        .find_map(|line| line.strip_prefix("Location: "))
        .unwrap();
    assert!(get(location).contains("You can close this page"));
    assert!(lines.any(|line| line.contains("You are logged in to far")));
    assert!(login.wait().unwrap().success());

    let tokens = home.root.path().join(".deft/mcp-tokens.json");
    assert_eq!(fs::metadata(tokens).unwrap().permissions().mode() & 0o777, 0o600);
    let inside = mcp(&home, &file, &["test"]);
    assert!(
        stdout(&inside).contains("✔ far"),
        "{}{}",
        stdout(&inside),
        stderr(&inside)
    );
}

#[test]
fn a_client_of_the_server_logs_in_and_the_tokens_are_sealed() {
    let Some((_server, url)) = with_login() else {
        return;
    };
    let home = Home::new();
    let served = Served::start(&home, &[("SESSION_API_KEY", "k-one")]);
    let far = json!({"type": "http", "url": url, "auth": {"strategy": "oauth2"}});
    let body = json!({"name": "far", "server": far, "timeout": 60});
    let (_, outside) = served.post("/api/mcp/test", "k-one", &body);
    assert_eq!(outside["ok"], false, "{outside}");

    // Once the browser comes back by itself, once the client brings what it was sent back with.
    for by_client in [false, true] {
        let (status, begun) = served.post("/api/mcp/oauth/start", "k-one", &body);
        assert_eq!((status, &begun["ok"]), (200, &json!(true)), "{begun}");
        let job = begun["job_id"].as_str().unwrap();
        let path = format!("/api/mcp/oauth/status/{job}");
        let (_, waiting) = served.send("GET", &path, "k-one", &Value::Null);
        assert_eq!(
            (&waiting["status"], &waiting["callback_ready"]),
            (&json!("authorizing"), &json!(true))
        );
        // This server agrees without asking anybody.
        let answer = get(begun["authorization_url"].as_str().unwrap());
        let back = answer
            .lines()
            .find_map(|line| line.strip_prefix("Location: "))
            .unwrap();
        assert!(back.starts_with(&served.address()), "{back}");
        if by_client {
            let callback = format!("/api/mcp/oauth/callback/{job}");
            let (status, done) = served.post(&callback, "k-one", &json!({"callback_url": back}));
            assert_eq!((status, &done["status"]), (200, &json!("succeeded")), "{done}");
        } else {
            assert!(get(back).contains("You are logged in"));
        }
        let (_, done) = served.send("GET", &path, "k-one", &Value::Null);
        assert_eq!(done["status"], "succeeded", "{done}");
        assert!(!done["tools"].as_array().unwrap().is_empty(), "{done}");
    }
    let mut greeting = body;
    greeting["tool_call"] = json!({"name": "greet", "arguments": {"name": "Bob"}});
    let (_, inside) = served.post("/api/mcp/test", "k-one", &greeting);
    assert_eq!(inside["ok"], true, "{inside}");
    assert!(
        inside["tool_result"]["text"].as_str().unwrap().contains("Bob"),
        "{inside}"
    );
    let said = said_in_a_conversation(&home, &served, &json!({ "far": far }), "far_greet", "name: Ann");
    assert!(said.contains("Ann"), "{said}");
    let (status, _) = served.send("GET", "/api/mcp/oauth/status/none", "k-one", &Value::Null);
    assert_eq!(status, 404);
    assert_eq!(served.terminate(), Some(0));
    let store = fs::read(home.root.path().join(".deft/deft.db")).unwrap();
    let holds = |word: &[u8]| store.windows(word.len()).any(|part| part == word);
    assert!(holds(b"mcp-tokens/"), "they are kept");
    assert!(!holds(b"access_token"), "and cannot be read");
    assert!(!home.root.path().join(".deft/mcp-tokens.json").exists());
}

#[test]
fn the_agent_of_a_client_has_the_tools_of_its_servers() {
    let home = Home::new();
    let served = Served::start(&home, &[("SESSION_API_KEY", "k-one")]);
    let script = own_copy(&home);
    let servers =
        json!({"wild": {"command": "node", "args": [script]}, "off": {"command": "x", "enabled": false}});
    let said = said_in_a_conversation(&home, &served, &servers, "wild_say", "");
    assert!(said.contains("something"), "{said}");

    let Some(everything) = npm::script(npm::EVERYTHING) else {
        return;
    };
    let (port, nobody) = (npm::free_port(), npm::free_port());
    let _far = npm::Listening::start(
        &everything,
        &["streamableHttp"],
        port,
        &[("PORT", port.to_string())],
    );
    let url = |port: u16| format!("http://127.0.0.1:{port}/mcp");
    let servers = json!({"dead": {"url": url(nobody)}, "far": {"url": url(port)}});
    let said = said_in_a_conversation(&home, &served, &servers, "far_echo", "message: hello");
    assert!(
        said.contains("hello"),
        "one that is dead keeps nobody from working: {said}"
    );

    let agent = json!({"llm": {"model": "demo"}, "tools": [], "mcp_config": {"bad": {"command": ""}}});
    let body = json!({"agent": agent, "workspace": {"working_dir": home.work()}});
    let (status, refused) = served.post("/api/conversations", "k-one", &body);
    assert_eq!(status, 422, "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("bad"), "{refused}");
}

/// What a tool of a server answers to the agent of a client.
fn said_in_a_conversation(
    home: &Home,
    served: &Served,
    servers: &Value,
    tool: &str,
    arguments: &str,
) -> String {
    let call = format!("- tool_calls: [{{name: {tool}, arguments: {{{arguments}}}}}]\n");
    let model = home.script(&format!("{call}- text: Done.\n"));
    let body = json!({
        "agent": {"llm": {"model": model}, "tools": [], "mcp_config": servers},
        "workspace": {"working_dir": home.work()},
        "initial_message": {"role": "user", "content": [{"type": "text", "text": "Go."}]},
    });
    let (status, info) = served.post("/api/conversations", "k-one", &body);
    assert_eq!(status, 201, "{info}");
    let path = format!("/api/conversations/{}", info["id"].as_str().unwrap());
    let begun = std::time::Instant::now();
    loop {
        let (_, info) = served.send("GET", &path, "k-one", &Value::Null);
        if info["execution_status"] == "finished" {
            break;
        }
        assert!(begun.elapsed().as_secs() < 60, "{info}");
    }
    let (_, page) = served.send("GET", &format!("{path}/events/search"), "k-one", &Value::Null);
    let events = page["items"].as_array().unwrap().iter();
    let results: Vec<_> = events
        .filter(|event| event["kind"] == "ObservationEvent")
        .collect();
    json!(results).to_string()
}

/// What a server answers to a simple request.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
