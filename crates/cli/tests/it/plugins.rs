//! Plugins that single conversations are given, over the routes of a server.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::commands::Home;
use crate::packages::{committed, write};
use crate::serve::Served;

const KEY: &str = "k-one";

/// A plugin with a command, an agent, a hook and an MCP server.
fn plugin(folder: &Path, name: &str) {
    write(
        &folder.join("plugin.json"),
        &json!({"name": name, "version": "1.2", "description": "Ships"}).to_string(),
    );
    let command = "---\ndescription: back\n---\nUndo the last release.";
    write(&folder.join("commands/undo.md"), command);
    write(
        &folder.join("skills/release/SKILL.md"),
        "---\ndescription: d\n---\nDo.",
    );
    write(
        &folder.join("agents/judge.md"),
        "---\ndescription: judges releases\n---\nJudge.",
    );
    let hook = json!({"type": "command", "command": "echo ${PLUGIN_ROOT} >> noted"});
    let hooks = json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}});
    write(&folder.join("hooks/hooks.json"), &hooks.to_string());
    let servers = json!({"mcpServers": {format!("{name}-tools"): {"command": "${PLUGIN_ROOT}/no-program"}}});
    write(&folder.join(".mcp.json"), &servers.to_string());
}

struct Desk {
    home: Home,
    served: Served,
}

impl Desk {
    fn new() -> Self {
        let home = Home::new();
        let served = Served::start(&home, &[("SESSION_API_KEY", KEY)]);
        Self { home, served }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.served.send(method, path, KEY, body)
    }

    fn begin(&self, more: &Value) -> (u16, Value) {
        let tools = json!([{"name": "terminal"}, {"name": "task_tool_set"}]);
        let model = self.home.script("- text: Done.\n- text: Done again.\n");
        let mut body = json!({
            "agent": {"llm": {"model": model}, "tools": tools, "agent_context": null},
            "workspace": {"working_dir": self.home.work()},
        });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.send("POST", "/api/conversations", &body)
    }

    /// Says something and waits for the answer; gives all events.
    fn say(&self, id: &str, words: &str) -> Vec<Value> {
        let path = format!("/api/conversations/{id}");
        let message = json!({"role": "user", "content": [{"type": "text", "text": words}], "run": true});
        let (status, said) = self.send("POST", &format!("{path}/events"), &message);
        assert_eq!(status, 200, "{said}");
        let since = Instant::now();
        while self.send("GET", &path, &json!({})).1["execution_status"] != "finished" {
            assert!(since.elapsed() < Duration::from_secs(60), "the run does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        let (_, found) = self.send("GET", &format!("{path}/events/search?limit=100"), &json!({}));
        found["items"].as_array().unwrap().clone()
    }
}

fn activated(events: &[Value]) -> Vec<&Value> {
    let skills = events
        .iter()
        .filter_map(|event| event["activated_skills"].as_array());
    skills.flatten().collect()
}

#[test]
fn a_conversation_is_begun_with_a_plugin_from_a_repository() {
    let desk = Desk::new();
    let pack = desk.home.work().join("pack");
    plugin(&pack, "ship-it");
    let url = committed(&pack);
    let (status, fetched) = desk.send("POST", "/api/plugins/fetch", &json!({"source": url}));
    assert_eq!(status, 200, "{fetched}");
    assert_eq!(
        (
            &fetched["manifest"]["version"],
            &fetched["skills"],
            &fetched["commands"]
        ),
        (&json!("1.2"), &json!(["release"]), &json!(["ship-it:undo"]))
    );
    fs::remove_dir_all(&pack).unwrap();

    let (status, begun) = desk.begin(&json!({"plugins": [{"source": fetched["path"]}]}));
    assert_eq!(status, 201, "{begun}");
    let id = begun["id"].as_str().unwrap().to_owned();
    let events = desk.say(&id, "please /ship-it:undo it");
    assert_eq!(activated(&events), ["ship-it:undo"]);
    let all = json!(events).to_string();
    assert!(all.contains("judges releases"), "its agent can be given tasks");
    assert!(all.contains("ship-it-tools"), "its MCP server is tried");
    let noted = fs::read_to_string(desk.home.work().join("noted"));
    assert_eq!(
        noted.unwrap().trim_end(),
        fetched["path"],
        "its hook has run, and knows where it is"
    );

    let nowhere = json!({"plugins": [{"source": "file:///nowhere"}]});
    let (status, refused) = desk.begin(&nowhere);
    assert_eq!(status, 422, "{refused}");
    assert!(
        refused["detail"].as_str().unwrap().contains("/nowhere"),
        "{refused}"
    );
}

#[test]
fn plugins_are_listed_and_an_installed_one_is_given_to_a_conversation_that_is_there() {
    let desk = Desk::new();
    plugin(&desk.home.work().join(".agents/plugins/own"), "own");
    let other = desk.home.root.path().join("other");
    plugin(&other, "ship-it");
    let (status, installed) = desk.send("POST", "/api/plugins/install", &json!({"source": other}));
    assert_eq!(status, 200, "{installed}");
    let asked = json!({"project_dir": desk.home.work()});
    let (_, listed) = desk.send("POST", "/api/plugins", &asked);
    let [own, users] = &listed["plugins"].as_array().unwrap()[..] else {
        panic!("two are expected: {listed}")
    };
    assert_eq!((&own["name"], &users["name"]), (&json!("own"), &json!("ship-it")));
    assert_eq!(
        (&users["version"], &users["description"]),
        (&json!("1.2"), &json!("Ships"))
    );
    assert!(
        own["files"].as_array().unwrap().contains(&json!("plugin.json")),
        "{own}"
    );
    assert_eq!(own["skills"].as_array().unwrap().len(), 2);

    let (_, begun) = desk.begin(&json!({}));
    let id = begun["id"].as_str().unwrap().to_owned();
    assert_eq!(activated(&desk.say(&id, "/ship-it:undo it")), [] as [&str; 0]);
    let load = format!("/api/conversations/{id}/load_plugin");
    let (status, unknown) = desk.send("POST", &load, &json!({"plugin_ref": "nope"}));
    assert_eq!(status, 400, "{unknown}");
    let (status, loaded) = desk.send("POST", &load, &json!({"plugin_ref": "ship-it"}));
    assert_eq!((status, &loaded), (200, &json!({"success": true})));
    assert_eq!(activated(&desk.say(&id, "/ship-it:undo it")), ["ship-it:undo"]);
}

#[test]
fn a_plugin_that_cannot_be_fetched_is_told_by_its_status_and_without_the_secret() {
    let desk = Desk::new();
    let nobody = desk.home.work().join("empty");
    fs::create_dir(&nobody).unwrap();
    let fetch = |body: Value| desk.send("POST", "/api/plugins/fetch", &body);
    assert_eq!(fetch(json!({"source": nobody})).0, 422, "it is no plugin");
    let secrets = json!({"TOKEN": {"kind": "StaticSecret", "value": "hush-hush"}});
    let (status, refused) = fetch(json!({"source": "file:///nowhere/${TOKEN}", "secrets": secrets}));
    assert_eq!(status, 502, "{refused}");
    assert!(!refused.to_string().contains("hush-hush"), "{refused}");
}
