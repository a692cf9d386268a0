//! `deft skills`, of a project and of a user.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::Value;

use super::commands::{Home, lines, stderr, stdout};

fn write(home: &Home, path: &str, text: &str) {
    let file = home.root.path().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn skills_of_the_project_and_of_the_user_are_listed_shown_and_checked() {
    let home = Home::new();
    write(&home, "work/AGENTS.md", "Run the tests.");
    write(
        &home,
        "work/.agents/skills/release/SKILL.md",
        "---\ndescription: Make a release\n---\nTag it\x1b[2J.",
    );
    write(
        &home,
        ".deft/microagents/docker.md",
        "---\ntriggers: [docker]\n---\nStart it first.",
    );

    write(
        &home,
        "work/.agents/agents/reviewer.md",
        "---\ndescription: Reads diffs\n---\nBe strict.",
    );

    let listed = stdout(&home.run(&["skills", "list"]));
    for part in [
        "reviewer  (project, an agent for tasks)",
        "Reads diffs",
        "agents  (project, always)",
        "release  (project, when asked for)",
        "Make a release",
        "docker  (user, on docker)",
    ] {
        assert!(listed.contains(part), "{part} is not in:\n{listed}");
    }
    let json: Value = serde_json::from_slice(&home.run(&["skills", "list", "--json"]).stdout).unwrap();
    assert_eq!(json["skills"].as_array().unwrap().len(), 3);
    assert_eq!(json["agents"][0]["name"], "reviewer");

    assert_eq!(stdout(&home.run(&["skills", "show", "release"])), "Tag it.\n");
    assert_eq!(stdout(&home.run(&["skills", "show", "reviewer"])), "Be strict.\n");
    let missing = home.run(&["skills", "show", "nothing"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("deft skills list"));

    assert_eq!(stdout(&home.run(&["skills", "validate"])), "nothing is wrong\n");
    write(
        &home,
        "work/.agents/skills/bad/SKILL.md",
        "---\nname: other\n---\n",
    );
    let bad = home.run(&["skills", "validate", ".agents/skills/bad"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stdout(&bad).contains("rename one of them"));

    write(
        &home,
        "work/.agents/agents/broken.md",
        "---\ntools: {a: [\n---\nBe strict.",
    );
    let listed = stdout(&home.run(&["skills", "list"]));
    assert!(listed.contains("agents/broken.md: its front matter"), "{listed}");
    let bad = home.run(&["skills", "validate", ".agents/agents/broken.md"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stdout(&bad).contains("its front matter cannot be understood"));
    let good = home.run(&["skills", "validate", ".agents/agents/reviewer.md"]);
    assert_eq!(stdout(&good), "nothing is wrong\n");
}

#[test]
fn a_run_knows_the_skills_of_the_project_and_of_the_user() {
    let home = Home::new();
    write(&home, "work/AGENTS.md", "Run the tests.");
    let skill = "---\ndescription: Say hello\n---\nSay hello to everybody.";
    write(&home, ".deft/skills/greet/SKILL.md", skill);
    let model = home.script("[{tool_calls: [{name: invoke_skill, arguments: {name: greet}}]}, {text: done}]");
    let run = home.run(&["run", "--json", "--model", &model, "-t", "greet"]);
    let printed = stdout(&run);
    assert_eq!(run.status.code(), Some(0), "{printed}{}", stderr(&run));
    for part in ["Run the tests.", "<name>greet</name>", "Say hello to everybody."] {
        assert!(printed.contains(part), "{part} is not in:\n{printed}");
    }
}

#[test]
fn skills_of_a_user_count_whatever_the_repository_that_the_home_directory_is_ignores() {
    let home = Home::new();
    fs::create_dir(home.root.path().join(".git")).unwrap();
    write(&home, ".gitignore", "*\n");
    write(
        &home,
        ".deft/skills/greet/SKILL.md",
        "---\ndescription: Say hello\n---\nHello.",
    );
    let own = "---\nname: helper\ndescription: Helps\n---\nHelp.";
    write(&home, ".agents/agents/helper.md", own);
    let listed = stdout(&home.run(&["skills", "list"]));
    assert!(listed.contains("greet  (user, when asked for)"), "{listed}");
    let model = home.script("[{text: done}]");
    let printed = stdout(&home.run(&["run", "--json", "--model", &model, "-t", "greet"]));
    assert!(printed.contains("<name>greet</name>"), "{printed}");
}

#[test]
fn a_run_in_a_part_of_a_repository_knows_what_stands_at_its_top() {
    let home = Home::new();
    fs::create_dir_all(home.work().join("repository/.git")).unwrap();
    let part = home.work().join("repository/part");
    fs::create_dir_all(&part).unwrap();
    write(&home, "work/repository/AGENTS.md", "Run the tests.");
    let skill = "---\ndescription: Say hello\n---\nSay hello to everybody on !`date`.";
    write(&home, "work/repository/.agents/skills/greet/SKILL.md", skill);
    let model = home.script("[{tool_calls: [{name: invoke_skill, arguments: {name: greet}}]}, {text: done}]");
    // A sandbox has a /tmp of its own, where the repository of this test is not.
    let place = format!("local:{}", part.display());
    let run = [
        "run",
        "--json",
        "--model",
        &model,
        "-t",
        "greet",
        "--workspace",
        &place,
    ];
    let run = home.deft(&run).current_dir(&part).output().unwrap();
    let printed = stdout(&run);
    for part in ["Run the tests.", "<name>greet</name>", "Say hello to everybody"] {
        assert!(printed.contains(part), "{part} is not in:\n{printed}");
    }
    let trust = home.deft(&["trust", "list"]).current_dir(&part).output().unwrap();
    assert!(stdout(&trust).contains("greet/SKILL.md"), "{}", stdout(&trust));
}

#[test]
fn an_address_that_a_skill_names_is_fetched_within_limits() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let text = format!("Weigh the anchor.\n{}", "and so on\n".repeat(100_000));
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n",
                text.len()
            );
            let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n{text}").as_bytes());
        }
    });
    let home = Home::new();
    let skill = format!("---\ndescription: Ship it\nurls: [http://{address}/guide]\n---\nShip.");
    write(&home, "work/.agents/skills/ship/SKILL.md", &skill);
    let call = |path: &str| {
        format!(
            "- tool_calls: [{{name: invoke_skill, arguments: {{name: ship, fetch: 'http://{address}{path}'}}}}]\n"
        )
    };
    let model = home.script(&format!("{}{}- text: done\n", call("/guide"), call("/other")));
    let place = format!("local:{}", home.work().display());
    let flags = ["--workspace", &place, "--web-addresses", "loopback"];
    let run = [
        &["run", "--json", "--model", &model, "-t", "ship"],
        flags.as_slice(),
    ]
    .concat();
    let run = home.run(&run);
    let events = lines(&run);
    let results: Vec<_> = events
        .iter()
        .filter(|event| event["kind"] == "ObservationEvent")
        .map(|event| event["observation"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(results.len(), 2, "{}", stderr(&run));
    assert!(results[0].contains("Weigh the anchor."), "{}", results[0]);
    assert!(results[0].len() < 200_000, "{} bytes", results[0].len());
    assert!(results[1].contains("The skill has no"), "{}", results[1]);
}

#[test]
fn skills_are_installed_from_a_folder_and_from_a_repository() {
    let home = Home::new();
    let skill = "---\ndescription: Say hello\n---\nSay hello.";
    write(&home, "work/pack/greet/SKILL.md", skill);
    write(&home, "work/pack/greet/scripts/greet.sh", "echo hello");
    std::os::unix::fs::symlink("/etc/passwd", home.work().join("pack/greet/leak")).unwrap();
    assert_eq!(
        stdout(&home.run(&["skills", "install", "pack"])),
        "installed greet\n"
    );
    let installed = home.root.path().join(".deft/skills/greet");
    assert!(installed.join("scripts/greet.sh").is_file() && !installed.join("leak").exists());
    assert!(stdout(&home.run(&["skills", "list"])).contains("greet  (user, when asked for)"));

    let again = home.run(&["skills", "install", "pack"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    write(
        &home,
        "work/pack/greet/SKILL.md",
        &skill.replace("Say hello.", "Wave."),
    );
    let script = "cd pack && git init -q && git add . && git -c user.name=x -c user.email=x@y commit -qm x";
    let made = std::process::Command::new("sh")
        .args(["-c", script])
        .current_dir(home.work())
        .status();
    assert!(made.unwrap().success());
    let url = format!("file://{}", home.work().join("pack").display());
    let replaced = home.run(&["skills", "install", "--force", &url]);
    assert_eq!(stdout(&replaced), "installed greet\n", "{}", stderr(&replaced));
    assert_eq!(stdout(&home.run(&["skills", "show", "greet"])), "Wave.\n");

    write(&home, "work/bad/SKILL.md", "---\nname: other\n---\n");
    let refused = home.run(&["skills", "install", "bad"]);
    assert!(
        stderr(&refused).contains("rename one of them"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn hooks_and_servers_of_a_plugin_run_once_they_are_allowed() {
    let home = Home::new();
    let plugin = "work/.agents/plugins/helper";
    let hooks = r#"{"SessionStart": [{"hooks": [{"command": "sh ${CLAUDE_PLUGIN_ROOT}/start.sh"}]}]}"#;
    write(&home, &format!("{plugin}/hooks/hooks.json"), hooks);
    write(&home, &format!("{plugin}/start.sh"), "echo x > started");
    let server = r#"{"mcpServers": {"wild": {"command": "node", "args": ["${PLUGIN_ROOT}/server.mjs"]}}}"#;
    write(&home, &format!("{plugin}/.mcp.json"), server);
    let script = include_str!("../../../mcp/tests/it/unruly.mjs");
    write(&home, &format!("{plugin}/server.mjs"), script);
    let model = home.script("[{tool_calls: [{name: wild_die, arguments: {}}]}, {text: done}]");
    let run = || home.run(&["run", "--model", &model, "-t", "go"]);
    let has = |file: &str| home.work().join(file).exists();
    let first = run();
    assert!(!has("started") && !has("deaths"), "{}", stderr(&first));

    let (hooks, servers) = (
        ".agents/plugins/helper/hooks/hooks.json",
        ".agents/plugins/helper/.mcp.json",
    );
    let listed = stdout(&home.run(&["trust", "list"]));
    assert!(
        listed.contains(&format!(
            "{hooks}  (hooks, undecided)\n  runs .agents/plugins/helper/start.sh\n"
        )),
        "{listed}"
    );
    assert!(
        listed.contains(&format!("{servers}  (MCP servers, undecided)")),
        "{listed}"
    );
    assert_eq!(
        home.run(&["trust", "allow", hooks, servers]).status.code(),
        Some(0)
    );
    let second = run();
    assert!(has("started") && has("deaths"), "{}", stderr(&second));

    std::fs::remove_file(home.work().join("started")).unwrap();
    write(&home, &format!("{plugin}/start.sh"), "echo y > started");
    let changed = run();
    assert!(
        !has("started"),
        "another script is another decision: {}",
        stderr(&changed)
    );
    home.run(&["trust", "allow", hooks]);
    run();
    assert!(has("started"));

    std::fs::remove_file(home.work().join("deaths")).unwrap();
    write(
        &home,
        &format!("{plugin}/.mcp.json"),
        &server.replace("mjs", "mjs\", \"other"),
    );
    run();
    assert!(!has("deaths"), "another text is another decision");
}

#[test]
fn the_servers_of_a_microagent_run_once_it_is_allowed() {
    let home = Home::new();
    let place = home.work().join("server.mjs").display().to_string();
    write(
        &home,
        "work/server.mjs",
        include_str!("../../../mcp/tests/it/unruly.mjs"),
    );
    let servers =
        format!("mcp_tools:\n  stdio_servers:\n  - {{name: wild, command: node, args: ['{place}']}}");
    let file = ".openhands/microagents/wild.md";
    write(
        &home,
        &format!("work/{file}"),
        &format!("---\n{servers}\n---\nUse it."),
    );
    let model = home.script("[{tool_calls: [{name: wild_die, arguments: {}}]}, {text: done}]");
    let run = || home.run(&["run", "--model", &model, "-t", "go"]);
    let has_run = || home.work().join("deaths").exists();
    run();
    assert!(!has_run());
    let allowed = home.run(&["trust", "allow", file]);
    assert_eq!(allowed.status.code(), Some(0), "{}", stderr(&allowed));
    let second = run();
    assert!(has_run(), "{}{}", stdout(&second), stderr(&second));
    std::fs::remove_file(home.work().join("deaths")).unwrap();
    let other = servers.replace("node", "nodejs");
    write(
        &home,
        &format!("work/{file}"),
        &format!("---\n{other}\n---\nUse it."),
    );
    run();
    assert!(!has_run(), "another server is another decision");
}

#[test]
fn what_a_project_would_run_is_listed_and_runs_once_it_is_allowed() {
    let home = Home::new();
    let hooks = r#"{"SessionStart": [{"hooks": [{"command": "echo x > started || sh ./pipe"}]}]}"#;
    write(&home, "work/.openhands/hooks.json", hooks);
    mkfifoat(CWD, home.work().join("pipe"), Mode::RWXU).unwrap(); // nobody waits for what is said there
    let model = home.script("[{text: done}]");
    let run = || home.run(&["run", "--model", &model, "-t", "go"]);
    assert_eq!(
        stdout(&home.run(&["trust", "list"])),
        ".openhands/hooks.json  (hooks, undecided)\n"
    );
    let first = run();
    assert!(
        stderr(&first).contains("`deft trust` decides that"),
        "{}",
        stderr(&first)
    );
    assert!(!home.work().join("started").exists());

    assert_eq!(home.run(&["trust", "allow", "nothing"]).status.code(), Some(1));
    let allowed = home.run(&["trust", "allow", ".openhands/hooks.json"]);
    assert_eq!(allowed.status.code(), Some(0), "{}", stderr(&allowed));
    assert!(stdout(&home.run(&["trust", "list"])).contains("(hooks, allowed)"));
    let second = run();
    assert_eq!(second.status.code(), Some(0), "{}", stderr(&second));
    assert!(home.work().join("started").exists(), "{}", stderr(&second));
}

#[test]
fn an_agent_from_a_file_has_its_own_model_tools_and_form_of_answer() {
    let home = Home::new();
    let definition = "---\ndescription: Reviews\nmodel: helper\ntools: [grep, terminal]\noutput_schema: {type: object, properties: {verdict: {type: string}}, required: [verdict]}\n---\nBe strict.";
    write(&home, ".deft/agents/reviewer.md", definition);
    let child = "[{tool_calls: [{name: finish, arguments: {message: ok, verdict: fine}}]}]";
    write(&home, "child.yaml", child);
    let model = format!("script:{}", home.root.path().join("child.yaml").display());
    write(
        &home,
        ".deft/deft.toml",
        &format!("[models.helper]\nmodel = \"{model}\"\n"),
    );
    let model = home.script(
        "[{tool_calls: [{name: task, arguments: {prompt: look, subagent_type: reviewer}}]}, {text: done}]",
    );
    let run = home.run(&["run", "--json", "--model", &model, "-t", "go"]);
    let printed = stdout(&run);
    assert_eq!(run.status.code(), Some(0), "{printed}{}", stderr(&run));
    assert!(printed.contains("reviewer (agent): Reviews"), "{printed}");
    assert!(printed.contains(r#"{\"verdict\":\"fine\"}"#), "{printed}");

    let listed = lines(&home.run(&["list", "--json"]));
    let ids = listed.iter().map(|one| one["id"].as_str().unwrap());
    let mut shown = ids.map(|id| stdout(&home.run(&["show", id, "--json"])));
    let child = shown.find(|events| events.contains("Be strict.")).unwrap();
    let prompt: Value = serde_json::from_str(child.lines().next().unwrap()).unwrap();
    let tools: Vec<_> = prompt["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["title"].as_str().unwrap())
        .collect();
    assert!(
        tools.contains(&"terminal") && !tools.contains(&"file_editor"),
        "{tools:?}"
    );
}
