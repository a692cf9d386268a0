//! `deft serve` as it is started.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::commands::{Home, stderr};

/// A server that is ended with the test.
pub(crate) struct Served {
    child: Child,
    line: String,
}

impl Served {
    /// Has the settings read again.
    pub(crate) fn hang_up(&self) {
        let pid = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    }

    pub(crate) fn start(home: &Home, variables: &[(&str, &str)]) -> Self {
        Self::start_at(home, "0", variables)
    }

    pub(crate) fn start_at(home: &Home, port: &str, variables: &[(&str, &str)]) -> Self {
        let mut command = home.deft(&["serve", "--port", port]);
        for (name, value) in variables {
            command.env(name, value);
        }
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        out.read_line(&mut line).unwrap();
        Self { child, line }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> String {
        let host = self.line.split("http://").nth(1).unwrap();
        format!("http://{}", host.split('/').next().unwrap())
    }

    /// Asks for a path and gives back the whole answer.
    pub(crate) fn ask(&self, path: &str, key: &str) -> String {
        let address = self.address();
        let host = address.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Session-API-Key: {key}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The same under another name, and without a key.
    pub(crate) fn ask_as(&self, name: &str, path: &str) -> String {
        let address = self.address();
        let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends JSON to a path and gives back the status and the JSON of the answer.
    pub(crate) fn post(&self, path: &str, key: &str, body: &Value) -> (u16, Value) {
        self.send("POST", path, key, body)
    }

    pub(crate) fn send(&self, method: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
        self.send_with(("X-Session-API-Key", key), method, path, body)
    }

    /// The same with another header.
    pub(crate) fn send_with(
        &self,
        header: (&str, &str),
        method: &str,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let (header, value) = header;
        let address = self.address();
        let host = address.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{header}: {value}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    /// Ends as a supervisor would end it.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_key_is_made_and_shown_once_and_the_server_ends_well() {
    let home = Home::new();
    let served = Served::start(&home, &[]);
    let key = served
        .line
        .trim()
        .split("#key=")
        .nth(1)
        .expect("no key is shown")
        .to_owned();
    assert!(
        served
            .ask("/api/conversations/count", &key)
            .starts_with("HTTP/1.1 200")
    );
    assert!(
        served
            .ask("/api/conversations/count", "wrong")
            .starts_with("HTTP/1.1 401")
    );
    assert_eq!(served.terminate(), Some(0));
    let again = Served::start(&home, &[]);
    assert!(!again.line.contains(&key), "{}", again.line);
    assert!(
        again
            .ask("/api/conversations/count", &key)
            .starts_with("HTTP/1.1 200")
    );
    assert_eq!(again.terminate(), Some(0));
}

#[test]
fn a_server_that_ends_well_leaves_its_store_in_one_file_and_nothing_to_complain_of() {
    let home = Home::new();
    let log = home.root.path().join("serve.log");
    let mut command = home.deft(&["serve", "--port", "0"]);
    command
        .env("SESSION_API_KEY", "k-one")
        .stderr(std::fs::File::create(&log).unwrap());
    let served = Served::spawn(command);
    let agent = json!({"llm": {"model": "demo"}, "tools": []});
    let hello = json!({"role": "user", "content": [{"type": "text", "text": "Hello."}]});
    let body = json!({
        "agent": agent,
        "workspace": {"working_dir": home.work()},
        "initial_message": hello,
    });
    for _ in 0..3 {
        let (status, begun) = served.post("/api/conversations", "k-one", &body);
        assert_eq!(status, 201, "{begun}");
        let goal = format!("/api/conversations/{}/goal", begun["id"].as_str().unwrap());
        served.post(&goal, "k-one", &json!({"objective": "Go on for ever."})); // one may run already
    }
    let command = json!({"command": "while :; do echo busy; sleep 0.01; done", "cwd": home.work()});
    let (status, started) = served.post("/api/bash/start_bash_command", "k-one", &command);
    assert_eq!(status, 200, "{started}");
    assert_eq!(served.terminate(), Some(0));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "");
    let data = home.root.path().join(".deft");
    assert!(data.join("deft.db").exists());
    assert!(!data.join("deft.db-wal").exists(), "somebody kept the store open");
}

#[test]
fn the_agents_that_come_with_it_are_listed() {
    let home = Home::new();
    let served = Served::start(&home, &[("SESSION_API_KEY", "k-one")]);
    let (status, listed) = served.post("/api/sub-agents", "k-one", &json!({}));
    assert_eq!(status, 200, "{listed}");
    let agents = listed["agents"].as_array().unwrap().iter();
    let names: Vec<_> = agents
        .map(|agent| (&agent["name"], &agent["is_builtin"]))
        .collect();
    let ours = [
        "general-purpose",
        "code-explorer",
        "bash-runner",
        "web-researcher",
    ]
    .map(|name| (json!(name), json!(true)));
    assert_eq!(names, ours.each_ref().map(|(name, ours)| (name, ours)));
    let (_, none) = served.post("/api/sub-agents", "k-one", &json!({"load_builtin": false}));
    assert_eq!(none, json!({"agents": []}));
}

#[test]
fn a_backup_is_made_while_the_server_runs() {
    let home = Home::new();
    assert!(stderr(&home.run(&["backup", "copy.db"])).contains("nothing to back up"));
    let _served = Served::start(&home, &[]);
    let output = home.run(&["backup", "copy.db"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = crate::commands::stdout(&output);
    assert!(said.contains("vault-key"), "{said}");
    assert!(home.work().join("copy.db").exists());
    assert_eq!(
        home.run(&["backup", "copy.db"]).status.code(),
        Some(1),
        "nothing is overwritten"
    );
}

#[test]
fn a_hang_up_has_the_settings_read_again() {
    let home = Home::new();
    let file = home.root.path().join(".deft/deft.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "model = \"openai/one\"\n").unwrap();
    let served = Served::start(&home, &[("SESSION_API_KEY", "k-one")]);
    assert!(served.ask("/api/app", "k-one").contains("openai/one"));
    std::fs::write(&file, "model = \"openai/two\"\n").unwrap();
    served.hang_up();
    let begun = std::time::Instant::now();
    while !served.ask("/api/app", "k-one").contains("openai/two") {
        assert!(begun.elapsed().as_secs() < 30, "they are not");
    }
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn a_configured_key_is_never_shown() {
    let home = Home::new();
    let served = Served::start(&home, &[("SESSION_API_KEY", "k-configured")]);
    assert!(
        !served.line.contains("k-configured") && !served.line.contains("key="),
        "{}",
        served.line
    );
    assert!(
        served
            .ask("/api/conversations/count", "k-configured")
            .starts_with("HTTP/1.1 200")
    );
}

#[test]
fn an_address_that_others_can_reach_needs_the_users_word() {
    let home = Home::new();
    let output = home
        .deft(&["serve", "--host", "0.0.0.0", "--port", "0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--expose"), "{}", stderr(&output));
    let output = home.deft(&["serve", "--host", "no-address"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_app_is_offered_the_model_that_is_set_and_the_folder_of_the_server() {
    let home = Home::new();
    let variables = [("SESSION_API_KEY", "k-one"), ("LLM_MODEL", "openai/some")];
    let offer = Served::start(&home, &variables).ask("/api/app", "k-one");
    assert!(
        offer.contains(r#""model":"openai/some""#) && offer.contains(r#""folder":"/"#),
        "{offer}"
    );
}

/// Asks for a conversation that ends by itself, and waits for its end.
fn ended(served: &Served, home: &Home, key: &str) -> String {
    let body = json!({
        "agent": {"llm": {"model": "demo", "api_key": "sk-planted"}, "tools": []},
        "workspace": {"working_dir": home.work()},
        "secrets": {"TOKEN": {"kind": "StaticSecret", "value": "secret-planted"}},
        "initial_message": {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
    });
    let (status, begun) = served.post("/api/conversations", key, &body);
    assert_eq!(status, 201, "{begun}");
    let path = format!("/api/conversations/{}", begun["id"].as_str().unwrap());
    let since = std::time::Instant::now();
    while !served
        .ask(&path, key)
        .contains(r#""execution_status":"finished""#)
    {
        assert!(since.elapsed().as_secs() < 60, "it never ends");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    path
}

#[test]
fn n5_s1_no_key_and_no_secret_is_in_the_log_at_any_level() {
    const PLANTED: [&str; 5] = [
        "key-planted",
        "wrong-planted",
        "guess-planted",
        "sk-planted",
        "secret-planted",
    ];
    for form in ["0", "1"] {
        let home = Home::new();
        let log = home.root.path().join("serve.log");
        let mut command = home.deft(&["serve", "--port", "0"]);
        command
            .envs([
                ("SESSION_API_KEY", "key-planted"),
                ("LOG_LEVEL", "trace"),
                ("LOG_JSON", form),
            ])
            .stderr(std::fs::File::create(&log).unwrap());
        let served = Served::spawn(command);
        let path = ended(&served, &home, "key-planted");
        let id = path.rsplit('/').next().unwrap();
        for (key, path) in [
            (
                "key-planted",
                format!("/sockets/events/{id}?session_api_key=key-planted"),
            ),
            ("", format!("/sockets/events/{id}?session_api_key=wrong-planted")),
            ("guess-planted", "/api/settings".to_owned()),
            (
                "key-planted",
                "/api/settings/secrets/NONE?session_api_key=key-planted".to_owned(),
            ),
        ] {
            served.ask(&path, key);
        }
        let (status, _) = served.post(
            "/api/conversations",
            "key-planted",
            &json!({"api_key": "sk-planted"}),
        );
        assert_eq!(status, 422);
        assert_eq!(served.terminate(), Some(0));
        let log = std::fs::read_to_string(&log).unwrap();
        assert!(log.contains("a wrong key was given"), "{log}");
        for planted in PLANTED {
            assert!(!log.contains(planted), "{planted} is in the log: {log}");
        }
    }
}

#[test]
fn events_have_the_local_time_of_the_server_and_are_found_by_moments_of_any_zone() {
    let home = Home::new();
    let served = Served::start(&home, &[("SESSION_API_KEY", "k-one"), ("TZ", "Asia/Kolkata")]);
    let path = ended(&served, &home, "k-one");
    let answer = served.ask(&format!("{path}/events/search?limit=1"), "k-one");
    let page: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let local = page["items"][0]["timestamp"].as_str().unwrap().to_owned();
    let now = Command::new("date")
        .arg("+%Y-%m-%dT%H:%M:%S")
        .env("TZ", "Asia/Kolkata")
        .output();
    let now = String::from_utf8(now.unwrap().stdout).unwrap();
    assert_eq!(local[..11], now[..11], "or it was midnight just now: try again");
    let minutes =
        |time: &str| 60 * time[11..13].parse::<i32>().unwrap() + time[14..16].parse::<i32>().unwrap();
    assert!(
        (0..=2).contains(&(minutes(&now) - minutes(&local))),
        "{local} is not the time there: {now}"
    );
    let count = |query: String| {
        let answer = served.ask(&format!("{path}/events/count?{query}"), "k-one");
        answer
            .rsplit("\r\n")
            .next()
            .unwrap()
            .trim()
            .parse::<u32>()
            .unwrap()
    };
    let all = count(String::new());
    assert_eq!(count(format!("timestamp__gte={local}")), all);
    assert_eq!(
        count(format!("timestamp__gte={local}%2B05:30")),
        all,
        "with the zone"
    );
    assert_eq!(count(format!("timestamp__lt={local}%2B05:30")), 0);
    assert_eq!(count(format!("timestamp__gte={local}Z")), 0, "hours later");
}

#[test]
fn other_machines_are_served_where_that_was_said_and_only_with_a_key() {
    let home = Home::new();
    let by_flag = home.deft(&["serve", "--port", "0", "--host", "0.0.0.0", "--expose"]);
    let mut by_variable = home.deft(&["serve", "--port", "0", "--host", "0.0.0.0"]);
    by_variable.env("DEFT_EXPOSE", "1");
    for command in [by_flag, by_variable] {
        let served = Served::spawn(command);
        let port = served.address().rsplit_once(':').unwrap().1.to_owned();
        let count = |name: &str, key: &str| {
            let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
            let request = format!(
                "GET /api/conversations/count HTTP/1.1\r\nHost: {name}\r\nX-Session-API-Key: {key}\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.split(' ').nth(1).unwrap().to_owned()
        };
        let key = std::fs::read_to_string(home.root.path().join(".deft/session-key")).unwrap();
        assert_eq!(
            count("192.168.0.7", key.trim()),
            "200",
            "any address may be its own"
        );
        assert_eq!(count("192.168.0.7", "wrong"), "401");
        assert_eq!(count("evil.example", key.trim()), "421");
        assert_eq!(served.terminate(), Some(0));
    }
}
