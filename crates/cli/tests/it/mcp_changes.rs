//! MCP servers that become others, and conversations of `deft serve` that use them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::commands::Home;
use super::mcp::npm;
use super::serve::Served;

const KEY: &str = "k-one";
/// Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

fn serve(home: &Home) -> Served {
    Served::start(home, &[("SESSION_API_KEY", KEY)])
}

/// Something that the tests of the MCP client are made with.
fn of_mcp_tests(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/it");
    folder.join(file).display().to_string()
}

/// A conversation whose agent has a server `wild`.
struct Talk<'a> {
    served: &'a Served,
    path: String,
}

impl<'a> Talk<'a> {
    fn begin(home: &Home, served: &'a Served, config: &Value, script: &str) -> Self {
        let agent = json!({"llm": {"model": home.script(script)}, "tools": [{"name": "task"}], "mcp_config": {"wild": config}});
        let body = json!({"agent": agent, "workspace": {"working_dir": home.work()}});
        let (status, info) = served.post("/api/conversations", KEY, &body);
        assert_eq!(status, 201, "{info}");
        let path = format!("/api/conversations/{}", info["id"].as_str().unwrap());
        Self { served, path }
    }

    fn get(&self, what: &str) -> Value {
        let path = format!("{}{what}", self.path);
        self.served.send("GET", &path, KEY, &Value::Null).1
    }

    /// Says something, and gives back all results that there are when the agent has answered.
    fn say(&self) -> String {
        let message = json!({"role": "user", "content": [{"type": "text", "text": "Go on."}], "run": true});
        let answers = || {
            let events = self.get("/events/search?limit=100");
            let events = events["items"].as_array().unwrap().clone();
            let by_agent = |event: &&Value| event["kind"] == "MessageEvent" && event["source"] == "agent";
            (events.iter().filter(by_agent).count(), json!(events).to_string())
        };
        let (before, _) = answers();
        let (status, said) = self.served.post(&format!("{}/events", self.path), KEY, &message);
        assert_eq!(status, 200, "{said}");
        eventually(|| {
            let (now, events) = answers();
            (now > before).then_some(events).ok_or_else(|| self.get(""))
        })
    }

    fn server(&self) -> Value {
        self.get("/mcp_servers")["servers"][0].clone()
    }

    fn wait_for(&self, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(|| {
            let server = self.server();
            if holds(&server) { Ok(server) } else { Err(server) }
        })
    }

    fn approve(&self, server: &Value) -> u16 {
        let body = json!({"name": "wild", "fingerprint": server["fingerprint"]});
        self.served
            .post(&format!("{}/mcp_servers", self.path), KEY, &body)
            .0
    }
}

fn eventually<T>(mut found: impl FnMut() -> Result<T, Value>) -> T {
    let begun = Instant::now();
    loop {
        match found() {
            Ok(found) => return found,
            Err(seen) => assert!(begun.elapsed() < PATIENCE, "{seen:#}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn calls(tools: &[&str]) -> String {
    let calls = tools
        .iter()
        .map(|tool| format!("- tool_calls: [{{name: wild_{tool}, arguments: {{}}}}]\n"));
    calls.chain(["- text: Done.\n".to_owned()]).collect()
}

/// The names of the tools that are offered.
fn offered(server: &Value) -> Vec<&str> {
    let tools = server["state"]["tools"].as_array();
    let names = tools.into_iter().flatten();
    names
        .filter_map(|tool| tool["definition"]["title"].as_str())
        .collect()
}

/// `changing` are the calls after which `fresh` is there, `gone` is not, and `say` is described otherwise.
fn its_changes_reach_the_conversation(config: &Value, changing: &[&str], gone: &str) {
    let home = Home::new();
    fs::copy(of_mcp_tests("unruly.mjs"), home.work().join("unruly.mjs")).unwrap();
    let served = serve(&home);
    let script = calls(changing) + &calls(&["fresh", gone, "say"]) + &calls(&["say"]);
    let talk = Talk::begin(&home, &served, config, &script);
    talk.say();
    let changed = talk.wait_for(|server| {
        let tools = offered(server);
        tools.contains(&"wild_fresh") && !tools.contains(&"wild_say")
    });
    assert_eq!(changed["state"]["status"], "changed", "{changed:#}");
    assert_eq!(changed["needs_approval"], true, "{changed:#}");

    let results = talk.say();
    assert!(results.contains("something new"), "{results}");
    assert_eq!(results.matches("Nothing was run").count(), 2, "{results}");

    assert_eq!(talk.approve(&json!({"fingerprint": "another"})), 409);
    assert_eq!(talk.approve(&changed), 200);
    let results = talk.say();
    assert!(results.contains("\"something\""), "{results}");
    assert_eq!(talk.server()["state"]["status"], "ready", "{:#}", talk.server());
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn a_list_of_tools_that_changes_beside_the_files_reaches_the_running_conversation() {
    let config = json!({"command": "node", "args": ["unruly.mjs", "grows"]});
    its_changes_reach_the_conversation(&config, &["grow", "rug-pull"], "say_");
}

/// A server on a port, as it is before or after it has changed.
fn listening(port: u16, grown: &str) -> Option<npm::Listening> {
    let sdk = npm::script("@modelcontextprotocol/sdk/dist/esm")?;
    let variables = [("PORT", port.to_string()), ("GROWN", grown.to_owned())];
    Some(npm::Listening::start(
        &of_mcp_tests("changing.mjs"),
        &[&sdk],
        port,
        &variables,
    ))
}

#[test]
fn a_list_of_tools_that_changes_elsewhere_reaches_the_running_conversation() {
    let port = npm::free_port();
    let Some(_far) = listening(port, "no") else { return };
    let config = json!({"url": format!("http://127.0.0.1:{port}/mcp")});
    its_changes_reach_the_conversation(&config, &["grow"], "old");
}

#[test]
fn a_server_that_says_something_else_after_a_restart_is_held_back_until_it_is_approved() {
    let port = npm::free_port();
    let Some(before) = listening(port, "no") else {
        return;
    };
    let home = Home::new();
    let served = serve(&home);
    let config = json!({"url": format!("http://127.0.0.1:{port}/mcp")});
    let script = calls(&["say"]) + &calls(&["say"]) + &calls(&["say"]);
    let talk = Talk::begin(&home, &served, &config, &script);
    assert!(talk.say().contains("\"something\""));
    let path = talk.path.clone();
    assert_eq!(served.terminate(), Some(0));
    drop(before);

    let _after = listening(port, "yes").unwrap();
    let served = serve(&home);
    let talk = Talk {
        served: &served,
        path,
    };
    let results = talk.say();
    assert_eq!(results.matches("\"something\"").count(), 1, "{results}");
    let changed = talk.server();
    let expected = json!([
        "the tool \"fresh\" is new",
        "the tool \"say\" has another description or other arguments",
        "the tool \"old\" is gone",
    ]);
    assert_eq!(changed["state"]["changes"], expected, "{changed:#}");
    assert_eq!(talk.approve(&changed), 200);
    assert_eq!(talk.server()["needs_approval"], false);
    let results = talk.say();
    assert_eq!(results.matches("\"something\"").count(), 2, "{results}");
    assert_eq!(served.terminate(), Some(0));
}

#[test]
fn an_agent_with_a_task_has_the_servers_of_the_conversation_and_not_the_users_own() {
    let home = Home::new();
    fs::copy(of_mcp_tests("unruly.mjs"), home.work().join("unruly.mjs")).unwrap();
    let own = home.root.path().join(".deft");
    fs::create_dir_all(&own).unwrap();
    let toml = "[mcpServers.own]\ncommand = \"touch\"\nargs = [\"started\"]\n";
    fs::write(own.join("deft.toml"), toml).unwrap();
    let below = home.root.path().join("below.yaml");
    fs::write(&below, calls(&["die"])).unwrap();
    let model = format!("script:{}", below.display());
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY), ("DEFT_AGENTS_MODEL", &model)]);
    let config = json!({"command": "node", "args": ["unruly.mjs"]});
    let call = "[{name: task, arguments: {prompt: Die., subagent_type: general-purpose}}]";
    let script = format!("- tool_calls: {call}\n- text: Done.\n");
    let talk = Talk::begin(&home, &served, &config, &script);
    let results = talk.say();
    let deaths = fs::read_to_string(home.work().join("deaths"));
    assert!(deaths.is_ok_and(|text| text == "died\n"), "{results}");
    assert!(!home.work().join("started").exists());
    assert_eq!(served.terminate(), Some(0));
}
