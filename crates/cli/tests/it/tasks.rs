//! Agents with tasks, from the command line and over the server.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::commands::{Home, lines, stderr, stdout};
use crate::serve::Served;
use crate::worktree::git;

const KEY: &str = "k-one";
/// Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);
const WRITES: &str =
    "[{tool_calls: [{name: terminal, arguments: {command: echo x >> x}}]}, {text: it is done}]";

fn write(home: &Home, path: &str, text: &str) {
    let file = home.root.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Agents that are given tasks follow this script.
fn agents_follow(home: &Home, script: &str) {
    write(home, "child.yaml", script);
    let model = format!("script:{}", home.root.path().join("child.yaml").display());
    write(home, ".deft/deft.toml", &format!("agents_model = \"{model}\"\n"));
}

fn give_task(home: &Home, arguments: &str) -> String {
    home.script(&format!(
        "[{{tool_calls: [{{name: task, arguments: {{prompt: do it, {arguments}}}}}]}}, {{text: all done}}]"
    ))
}

fn ids(home: &Home) -> Vec<String> {
    let listed = lines(&home.run(&["list", "--json"]));
    let id = |one: &Value| one["id"].as_str().unwrap().to_owned();
    listed.iter().map(id).collect()
}

#[test]
fn an_agent_that_must_ask_is_approved_by_going_on_with_the_conversation_that_gave_the_task() {
    let home = Home::new();
    agents_follow(&home, WRITES);
    let careful = "---\ndescription: Asks\npermission_mode: always_confirm\n---\nAsk.";
    write(&home, ".deft/agents/careful.md", careful);
    let model = give_task(&home, "subagent_type: careful");
    let run = home.run(&["run", "--model", &model, "-t", "go"]);
    assert_eq!(run.status.code(), Some(3), "{}{}", stdout(&run), stderr(&run));
    assert!(!home.work().join("x").exists());
    assert!(
        stdout(&run).contains("wants to call terminal"),
        "{}",
        stdout(&run)
    );
    assert_eq!(ids(&home).len(), 2);
    let shown = stdout(&home.run(&["list"]));
    assert_eq!(
        shown.matches("waiting").count(),
        1,
        "a task is no row of its own: {shown}"
    );

    let run = home.run(&["run", "--last", "--json"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    assert_eq!(fs::read_to_string(home.work().join("x")).unwrap(), "x\n");
    assert!(stdout(&run).contains("it is done"), "{}", stdout(&run));
    assert_eq!(ids(&home).len(), 2, "nobody began anew");
}

#[test]
fn agents_that_agents_start_count_as_well() {
    let home = Home::new();
    agents_follow(
        &home,
        "[{tool_calls: [{name: task, arguments: {prompt: a part}}]}, {text: it is done}]",
    );
    let gives = "{tool_calls: [{name: task, arguments: {prompt: do it}}]}";
    let model = home.script(&format!("[{gives}, {gives}, {gives}, {{text: all done}}]"));
    let run = home.run(&["run", "--max-agents", "3", "--model", &model, "-t", "go"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    assert_eq!(ids(&home).len(), 1 + 3, "{}", stdout(&run));
}

#[test]
fn whoever_says_something_else_has_not_agreed() {
    let home = Home::new();
    agents_follow(&home, WRITES);
    let careful = "---\ndescription: Asks\npermission_mode: always_confirm\n---\nAsk.";
    write(&home, ".deft/agents/careful.md", careful);
    let model = give_task(&home, "subagent_type: careful");
    home.run(&["run", "--model", &model, "-t", "go"]);
    let run = home.run(&["run", "--last", "--json", "-t", "leave it"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    assert!(!home.work().join("x").exists());
    assert!(
        stdout(&run).contains("The user wants something else."),
        "{}",
        stdout(&run)
    );
}

#[test]
fn a_definition_limits_steps_and_money() {
    let home = Home::new();
    let steps =
        "[{repeat: 9, tool_calls: [{name: terminal, arguments: {command: 'echo {{n}} >> steps'}}], cost: 1}]";
    agents_follow(&home, steps);
    for limit in ["max_iteration_per_run: 2", "max_budget_per_run: 1.5"] {
        let definition = format!("---\ndescription: Counts\n{limit}\n---\nCount.");
        write(&home, ".deft/agents/counter.md", &definition);
        let model = give_task(&home, "subagent_type: counter");
        let run = home.run(&["run", "--json", "--model", &model, "-t", "go"]);
        assert!(
            stdout(&run).contains("stopped before it was done"),
            "{}",
            stdout(&run)
        );
        let taken = fs::read_to_string(home.work().join("steps")).unwrap();
        assert_eq!(taken.lines().count(), 2, "{limit}");
        fs::remove_file(home.work().join("steps")).unwrap();
    }
}

#[test]
fn an_agent_has_the_skills_and_the_memory_that_its_definition_names_and_no_server_that_its_parent_has_not() {
    let home = Home::new();
    let skill = "---\nname: release\ndescription: How to release\n---\nTag it first.";
    write(&home, ".deft/skills/release/SKILL.md", skill);
    let server = include_str!("../../../mcp/tests/it/unruly.mjs");
    write(&home, "work/server.mjs", server);
    let place = home.work().join("server.mjs").display().to_string();
    let definition = format!(
        "---\ndescription: Ships\nskills: release, nothing\nmcp_servers: {{wild: {{command: node, args: ['{place}']}}}}\ncondenser: false\n---\nShip."
    );
    let die = "[{tool_calls: [{name: wild_die, arguments: {}}]}, {text: it is done}]";
    agents_follow(&home, die);
    write(&home, ".deft/agents/shipper.md", &definition);
    let model = give_task(&home, "subagent_type: shipper");
    let run = home.run(&["run", "--json", "--model", &model, "-t", "go"]);
    let printed = stdout(&run);
    assert_eq!(run.status.code(), Some(0), "{printed}{}", stderr(&run));
    assert!(
        printed.contains("There is no skill named 'nothing'."),
        "{printed}"
    );
    assert!(!home.work().join("deaths").exists(), "{printed}{}", stderr(&run));
    assert!(
        !printed.contains("Tag it first."),
        "it is the agent's alone: {printed}"
    );
    let child = ids(&home)
        .into_iter()
        .map(|id| stdout(&home.run(&["show", &id, "--json"])))
        .find(|events| events.contains("<role>"))
        .unwrap();
    assert!(child.contains("Tag it first."), "{child}");
    assert!(child.contains("Tool 'wild_die' not found"), "{child}");

    let definition = definition.replace("condenser: false", "condenser: magic");
    write(&home, ".deft/agents/shipper.md", &definition);
    let run = home.run(&["run", "--json", "--model", &model, "-t", "go"]);
    assert!(
        stdout(&run).contains("no condenser is called"),
        "{}",
        stdout(&run)
    );
}

/// Has a client of `deft serve` run an agent to its end.
fn run_for_client(home: &Home, agent: &Value) {
    let served = Served::start(home, &[("SESSION_API_KEY", KEY)]);
    let message = json!({"role": "user", "content": [{"type": "text", "text": "Go."}], "run": true});
    let body = json!({"agent": agent, "workspace": {"working_dir": home.work()}, "initial_message": message});
    let (status, info) = served.post("/api/conversations", KEY, &body);
    assert_eq!(status, 201, "{info}");
    let path = format!("/api/conversations/{}", info["id"].as_str().unwrap());
    let began = Instant::now();
    while served.send("GET", &path, KEY, &Value::Null).1["execution_status"] != "finished" {
        assert!(began.elapsed() < PATIENCE, "it takes too long");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn agents_below_a_conversation_that_leaves_the_project_out_have_no_servers_of_its_plugins() {
    let home = Home::new();
    let plugin = "work/.agents/plugins/helper";
    let server = r#"{"mcpServers": {"wild": {"command": "node", "args": ["${PLUGIN_ROOT}/server.mjs"]}}}"#;
    write(&home, &format!("{plugin}/.mcp.json"), server);
    let script = include_str!("../../../mcp/tests/it/unruly.mjs");
    write(&home, &format!("{plugin}/server.mjs"), script);
    let allowed = home.run(&["trust", "allow", ".agents/plugins/helper/.mcp.json"]);
    assert_eq!(allowed.status.code(), Some(0), "{}", stderr(&allowed));
    agents_follow(
        &home,
        "[{tool_calls: [{name: wild_die, arguments: {}}]}, {text: done}]",
    );
    let model = give_task(&home, "description: it");
    for reads_project in [false, true] {
        let context = json!({"load_project_skills": reads_project});
        let agent = json!({"llm": {"model": model}, "tools": [{"name": "task"}], "agent_context": context});
        run_for_client(&home, &agent);
        assert_eq!(home.work().join("deaths").exists(), reads_project);
    }
}

#[test]
fn agents_two_levels_below_the_conversation_of_a_client_have_its_model_and_not_the_servers() {
    let home = Home::new();
    write(&home, "operator.yaml", "[{text: by the operator}]");
    let operators = home.root.path().join("operator.yaml").display().to_string();
    write(
        &home,
        ".deft/deft.toml",
        &format!("model = \"script:{operators}\"\n"),
    );
    let model =
        home.script("[{tool_calls: [{name: task, arguments: {prompt: do it}}]}, {text: by the client}]");
    run_for_client(
        &home,
        &json!({"llm": {"model": model}, "tools": [{"name": "task"}]}),
    );
    let said: Vec<_> = ids(&home)
        .into_iter()
        .map(|id| stdout(&home.run(&["show", &id, "--json"])))
        .collect();
    assert_eq!(said.len(), 3, "an agent, one below it, and one below that");
    for events in said {
        assert!(
            events.contains("by the client") && !events.contains("by the operator"),
            "{events}"
        );
    }
}

#[test]
fn an_explorer_can_read_files_and_change_none() {
    let home = Home::new();
    fs::write(home.work().join("a.txt"), "what is in it\n").unwrap();
    let path = home.work().join("a.txt").display().to_string();
    agents_follow(
        &home,
        &format!(
            "[{{tool_calls: [{{name: read_file, arguments: {{file_path: '{path}'}}}}]}}, {{text: I read it}}]"
        ),
    );
    let model = give_task(&home, "subagent_type: code-explorer");
    let run = home.run(&["run", "--json", "--model", &model, "-t", "go"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    let shown = ids(&home)
        .into_iter()
        .map(|id| stdout(&home.run(&["show", &id, "--json"])));
    let child = shown
        .into_iter()
        .find(|events| events.contains("I read it\"}]}") || events.contains("ReadFileObservation"));
    let child = child.unwrap();
    assert!(child.contains("what is in it"), "{child}");
    let prompt: Value = serde_json::from_str(child.lines().next().unwrap()).unwrap();
    let tools = prompt["tools"].to_string();
    assert!(
        !tools.contains("\"terminal\"") && !tools.contains("\"file_editor\""),
        "{tools}"
    );
}

#[test]
fn tasks_of_one_reply_run_side_by_side() {
    let home = Home::new();
    let meets = "both() { [ $(ls met.* | wc -l) = 2 ]; }; mktemp met.XXXXXX; \
                 for try in $(seq 200); do both && break; sleep 0.05; done; both || touch alone";
    agents_follow(
        &home,
        &format!(
            "[{{tool_calls: [{{name: terminal, arguments: {{command: '{meets}'}}}}]}}, {{text: we met}}]"
        ),
    );
    let model = home.script(
        "[{tool_calls: [{name: task, arguments: {prompt: one}}, {name: task, arguments: {prompt: two}}]}, {text: done}]",
    );
    let run = home.run(&["run", "--json", "--model", &model, "-t", "go"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    assert_eq!(
        stdout(&run).matches("\"completed\"").count(),
        2,
        "{}",
        stdout(&run)
    );
    assert!(!home.work().join("alone").exists(), "one waited for the other");
}

#[test]
fn an_agent_on_a_branch_of_its_own_keeps_its_work_also_if_it_had_to_wait() {
    // Sandboxes have a temporary directory of their own, in which nothing of this one is seen.
    let home = Home {
        root: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
    };
    fs::create_dir(home.work()).unwrap();
    git(&home.work(), &["init", "-q", "-b", "main"]);
    fs::write(home.work().join("a.txt"), "one\n").unwrap();
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-q", "-m", "first"]);
    agents_follow(&home, WRITES);
    let careful = "---\ndescription: Asks\npermission_mode: always_confirm\n---\nAsk.";
    write(&home, ".deft/agents/careful.md", careful);
    let model = give_task(&home, "subagent_type: careful, isolation: worktree");
    let run = home.run(&["run", "--model", &model, "-t", "go"]);
    assert_eq!(run.status.code(), Some(3), "{}{}", stdout(&run), stderr(&run));
    let run = home.run(&["run", "--last", "--json"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
    assert!(!home.work().join("x").exists(), "it works elsewhere");
    let branches = git(
        &home.work(),
        &["branch", "--list", "deft/*", "--format=%(refname:short)"],
    );
    assert_eq!(
        git(&home.work(), &["show", &format!("{}:x", branches.trim())]),
        "x"
    );
}

#[test]
fn a_task_that_cannot_be_begun_leaves_no_conversation_behind() {
    let home = Home::new();
    write(
        &home,
        ".deft/agents/lost.md",
        "---\ndescription: Lost\nmodel: nobody\n---\nX.",
    );
    let model = give_task(&home, "subagent_type: lost");
    let run = home.run(&["run", "--json", "--model", &model, "-t", "go"]);
    assert!(
        stdout(&run).contains("the user has none of that name"),
        "{}",
        stdout(&run)
    );
    assert_eq!(ids(&home).len(), 1);
}

#[test]
fn over_the_server_an_agent_that_must_ask_is_approved_where_the_task_was_given() {
    let home = Home::new();
    agents_follow(&home, WRITES);
    let served = Served::start(&home, &[("SESSION_API_KEY", KEY)]);
    let body = json!({
        "agent": {"llm": {"model": give_task(&home, "description: it")}, "tools": [{"name": "terminal"}, {"name": "task"}]},
        "workspace": {"working_dir": home.work()},
        "confirmation_policy": {"kind": "AlwaysConfirm"},
        "initial_message": {"role": "user", "content": [{"type": "text", "text": "Go."}]},
    });
    let (status, begun) = served.post("/api/conversations", KEY, &body);
    assert_eq!(status, 201, "{begun}");
    let path = format!("/api/conversations/{}", begun["id"].as_str().unwrap());
    let mut answers = 0;
    let started = Instant::now();
    loop {
        let (_, info) = served.send("GET", &path, KEY, &Value::Null);
        assert!(started.elapsed().as_secs() < 60, "{info}");
        if info["execution_status"] == "finished" {
            break;
        }
        if info["execution_status"] == "waiting_for_confirmation" {
            assert!(!home.work().join("x").exists(), "nobody has agreed to all of it");
            answers += 1;
            let answer = json!({"accept": true});
            let (status, said) = served.post(&format!("{path}/events/respond_to_confirmation"), KEY, &answer);
            assert_eq!(status, 200, "{said}");
        }
    }
    assert_eq!(answers, 2, "for the task, and for what its agent does");
    assert_eq!(fs::read_to_string(home.work().join("x")).unwrap(), "x\n");
}
