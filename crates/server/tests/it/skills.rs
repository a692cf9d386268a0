//! Skills, hooks and allow rules, as clients ask for them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use deft_types::ConversationId;
use reqwest::Method;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, Talk};

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["kind"] == kind).collect()
}

#[tokio::test]
async fn skills_that_a_client_sends_or_asks_for_are_given_to_the_model() {
    let desk = Desk::new().await;
    std::fs::create_dir_all(desk.work()).unwrap();
    std::fs::write(desk.work().join("AGENTS.md"), "Run the tests.").unwrap();
    let script = format!("- tool_calls: [{{name: invoke_skill, arguments: {{name: greet}}}}]\n{FINISH}");
    let model = desk.script("skills.yaml", &script);
    let mut request = desk.start_request(&model);
    request["agent"]["agent_context"] = json!({
        "load_project_skills": true,
        "disabled_skills": ["never"],
        "skills": [
            {"name": "greet", "content": "Say hello.", "description": "Greets", "is_agentskills_format": true},
            {"name": "boats", "content": "Boats float.", "trigger": {"type": "keyword", "keywords": ["boat"]}},
            {"name": "never", "content": "Never.", "trigger": null},
        ],
    });
    let talk = desk.begin_with(request).await;
    desk.say(&talk, "take the boat", true).await;
    assert_eq!(desk.ended(&talk).await["execution_status"], "finished");

    let info = desk.get(&talk.path("")).await;
    assert_eq!(info["activated_knowledge_skills"], json!(["boats"]));
    assert_eq!(info["invoked_skills"], json!(["greet"]));
    let events = desk.events(&talk).await;
    let prompt = of_kind(&events, "SystemPromptEvent")[0].to_string();
    for part in ["Run the tests.", "<name>greet</name>", "InvokeSkillTool"] {
        assert!(prompt.contains(part), "{part} is not in {prompt}");
    }
    assert!(!prompt.contains("Never."), "{prompt}");
    let said = of_kind(&events, "MessageEvent")[0];
    assert_eq!(said["activated_skills"], json!(["boats"]));
    assert!(
        said["extended_content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Boats float.")
    );
    let read = of_kind(&events, "ObservationEvent")[0];
    assert_eq!(read["observation"]["skill_name"], "greet");
    assert!(read["observation"].to_string().contains("Say hello."));
}

#[tokio::test]
async fn hooks_of_a_client_run_and_are_told() {
    let desk = Desk::new().await;
    let script =
        format!("- tool_calls: [{{name: terminal, arguments: {{command: echo one > one}}}}]\n{FINISH}");
    let model = desk.script("hooks.yaml", &script);
    let mut request = desk.start_request(&model);
    let hook = json!({"type": "command", "command": "echo no >&2; exit 2"});
    request["hook_config"] = json!({"pre_tool_use": [{"matcher": "terminal", "hooks": [hook]}], "stop": []});
    let talk = desk.begin_with(request).await;
    let info = desk.run(&talk).await;
    assert_eq!(info["execution_status"], "finished");
    assert_eq!(info["hook_config"]["pre_tool_use"][0]["hooks"][0]["timeout"], 60);
    let path = format!("/sockets/events/{}", talk.0);
    let state = desk.socket(&path).await.next().await;
    let told = &state["value"]["hook_config"];
    let whole = json!({"type": "command", "command": "echo no >&2; exit 2", "tools": [], "timeout": 60,
        "max_iterations": 3, "async_": false});
    assert_eq!(told["pre_tool_use"][0]["hooks"], json!([whole]));
    assert_eq!(told["session_end"], json!([]));
    assert!(!desk.work().join("one").exists());
    let events = desk.events(&talk).await;
    let ran = of_kind(&events, "HookExecutionEvent");
    assert_eq!(
        (&ran[0]["blocked"], &ran[0]["reason"]),
        (&json!(true), &json!("no"))
    );
    assert_eq!(ran[0]["source"], "hook");
    assert_eq!(
        of_kind(&events, "UserRejectObservation")[0]["rejection_source"],
        "hook"
    );
}

/// Does to what is kept of a conversation's beginning what an older server would have done. The server is stopped.
async fn rewrite_beginning(desk: &Desk, talk: &Talk, edit: impl FnOnce(&mut Value)) {
    let id = ConversationId(talk.0.parse().unwrap());
    let text = std::fs::read_to_string(desk.root.path().join("vault-key")).unwrap();
    let key = UnboundKey::new(&CHACHA20_POLY1305, &BASE64.decode(text.trim()).unwrap()).unwrap();
    let (key, place) = (LessSafeKey::new(key), talk.0.replace('-', ""));
    let settings = desk.store().settings(id).await.unwrap().unwrap();
    let sealed = BASE64.decode(settings["request"].as_str().unwrap()).unwrap();
    let (nonce, text) = sealed.split_at(NONCE_LEN);
    let numbered = || Nonce::try_assume_unique_for_key(nonce).unwrap();
    let mut text = text.to_vec();
    let plain = key
        .open_in_place(numbered(), Aad::from(place.as_bytes()), &mut text)
        .unwrap();
    let mut request = serde_json::from_slice(plain).unwrap();
    edit(&mut request);
    let mut text = request.to_string().into_bytes();
    key.seal_in_place_append_tag(numbered(), Aad::from(place.as_bytes()), &mut text)
        .unwrap();
    let sealed = BASE64.encode([nonce, &text].concat());
    let fields = serde_json::Map::from_iter([("request".to_owned(), sealed.into())]);
    desk.store().change_settings(id, fields).await.unwrap();
}

#[tokio::test]
async fn a_hook_still_guards_a_conversation_whose_older_server_took_blank_ones() {
    let mut desk = Desk::new().await;
    let script =
        format!("- tool_calls: [{{name: terminal, arguments: {{command: echo one > one}}}}]\n{FINISH}");
    let mut request = desk.start_request(&desk.script("hooks.yaml", &script));
    let hook = json!({"type": "command", "command": "echo no >&2; exit 2"});
    request["hook_config"] = json!({"pre_tool_use": [{"matcher": "terminal", "hooks": [hook]}]});
    let talk = desk.begin_with(request).await;
    desk.stop().await;
    rewrite_beginning(&desk, &talk, |request| {
        request["hook_config"]["stop"] = json!([{"hooks": [{"command": ""}]}]);
        let guarding = request["hook_config"]["pre_tool_use"][0]["hooks"].as_array_mut();
        guarding.unwrap().push(json!({"type": "prompt", "prompt": " "}));
    })
    .await;
    desk.start(|_| {}).await;
    desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let ran = of_kind(&events, "HookExecutionEvent");
    assert_eq!((ran.len(), &ran[0]["blocked"]), (1, &json!(true)));
    assert!(!desk.work().join("one").exists());
}

#[tokio::test]
async fn allow_rules_are_added_listed_kept_and_taken_back() {
    let mut desk = Desk::new().await;
    let script = format!("- tool_calls: [{{name: terminal, arguments: {{command: touch one}}}}]\n{FINISH}");
    let model = desk.script("rules.yaml", &script);
    let mut request = desk.start_request(&model);
    request["confirmation_policy"] = json!({"kind": "AlwaysConfirm"});
    let talk = desk.begin_with(request).await;
    let path = talk.path("/allow_rules");
    assert_eq!(desk.get(&path).await, json!({"rules": []}));
    desk.post(&path, json!({"rule": "git status"})).await;
    let both = desk
        .post(&path, json!({"rule": "touch", "scope": "project"}))
        .await;
    let expected = json!({"rules": [{"rule": "git status", "scope": "conversation"}, {"rule": "touch", "scope": "project"}]});
    assert_eq!(both, expected);
    let (status, _) = desk.refusal(Method::POST, &path, json!({"rule": "sudo"})).await;
    assert_eq!(status, 422);

    desk.stop().await;
    desk.start(|_| {}).await;
    assert_eq!(desk.get(&path).await, expected);
    assert_eq!(desk.run(&talk).await["execution_status"], "finished");
    assert!(desk.work().join("one").exists());
    let path = format!("{path}?rule=touch");
    let (status, left) = desk.ask(Method::DELETE, &path, None).await;
    assert_eq!(
        (status.as_u16(), left["rules"].as_array().unwrap().len()),
        (200, 1)
    );
    assert_eq!(desk.ask(Method::DELETE, &path, None).await.0, 404);
}

#[tokio::test]
async fn a_project_s_commands_run_once_a_client_has_decided_so() {
    let desk = Desk::new().await;
    let folder = desk.work().join(".agents/skills/count");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("SKILL.md"),
        "---\ndescription: x\n---\nThere are !`echo 6 7 | tr -d ' '`.",
    )
    .unwrap();
    let call = "- tool_calls: [{name: invoke_skill, arguments: {name: count}}]\n";
    let model = desk.script("trust.yaml", &format!("{call}{call}{FINISH}"));
    let mut request = desk.start_request(&model);
    request["agent"]["agent_context"] = json!({"load_project_skills": true});
    request["max_iterations"] = json!(1);
    let talk = desk.begin_with(request).await;
    desk.run(&talk).await;
    let path = talk.path("/trust");
    let undecided = desk.get(&path).await["undecided"].clone();
    assert_eq!(undecided[0]["path"], ".agents/skills/count/SKILL.md");
    let decision = json!({"fingerprint": undecided[0]["fingerprint"], "decision": "allow"});
    desk.post(&path, decision).await;
    let mut decided = undecided[0].clone();
    decided["decision"] = json!("allow");
    let told = json!({"undecided": [], "decided": [decided]});
    assert_eq!(desk.get(&path).await, told, "at once");

    desk.run(&talk).await;
    assert_eq!(desk.get(&path).await, told);
    let events = desk.events(&talk).await;
    let read: Vec<_> = of_kind(&events, "ObservationEvent")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(read[0].contains("were not run"), "{read:?}");
    assert!(read[1].contains("There are 67."), "{read:?}");
}

#[tokio::test]
async fn the_skills_hooks_and_agents_of_a_project_are_told() {
    let desk = Desk::new().await;
    let model = desk.script("none.yaml", FINISH);
    let talk = desk.begin_with(desk.start_request(&model)).await;
    let project = desk.work();
    let folder = project.join(".agents/skills/greet");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::create_dir_all(project.join(".openhands")).unwrap();
    std::fs::write(project.join("AGENTS.md"), "Run the tests.").unwrap();
    std::fs::write(
        folder.join("SKILL.md"),
        "---\ndescription: Greets\n---\nSay hello.",
    )
    .unwrap();
    let hooks =
        json!({"hooks": {"PreToolUse": [{"hooks": [{"command": "true", "timeout": 5}, {"command": " "}]}]}});
    std::fs::write(project.join(".openhands/hooks.json"), hooks.to_string()).unwrap();

    let found = desk.post("/api/skills", json!({"project_dir": project})).await;
    assert_eq!(found["sources"]["project"], 2, "{found}");
    let skill = |name: &str| {
        let mut skills = found["skills"].as_array().unwrap().iter();
        skills.find(|skill| skill["name"] == name).unwrap().clone()
    };
    assert_eq!(skill("agents")["type"], "repo");
    let path = folder.join("SKILL.md");
    let expected = json!({"name": "greet", "type": "agentskills", "content": "Say hello.", "triggers": [],
        "source": path, "description": "Greets", "is_agentskills_format": true, "disable_model_invocation": false});
    assert_eq!(skill("greet"), expected);
    let without = json!({"project_dir": project, "load_project": false});
    assert_eq!(desk.post("/api/skills", without).await["skills"], json!([]));

    let told = desk.post("/api/hooks", json!({"project_dir": project})).await;
    let hook = json!({"type": "command", "name": null, "command": "true", "prompt": null, "system_prompt": null,
        "tools": [], "timeout": 5, "max_iterations": 3, "async": false});
    let config = json!({"pre_tool_use": [{"matcher": "*", "hooks": [hook]}], "post_tool_use": [],
        "user_prompt_submit": [], "session_start": [], "session_end": [], "stop": []});
    assert_eq!(told, json!({"hook_config": config}));

    let folder = project.join(".agents/agents");
    std::fs::create_dir_all(&folder).unwrap();
    let reviewer =
        "---\ndescription: Reads diffs\ntools: [grep]\npermission_mode: confirm_risky\n---\nBe strict.";
    std::fs::write(folder.join("reviewer.md"), reviewer).unwrap();
    let found = desk
        .post("/api/sub-agents", json!({"project_dir": project}))
        .await;
    let expected = json!([{"name": "reviewer", "description": "Reads diffs", "model": "inherit", "tools": ["grep"],
        "skills": [], "system_prompt": "Be strict.", "when_to_use_examples": [], "permission_mode": "confirm_risky",
        "max_iteration_per_run": null, "max_budget_per_run": null, "metadata": {}, "level": "project",
        "source": folder.join("reviewer.md"), "is_builtin": false,
        "color": null, "mcp_config": null, "mcp_servers": null, "profile_store_dir": null, "hooks": null, "condenser": null}]);
    assert_eq!(found["agents"], expected);
    let without = json!({"project_dir": project, "load_project": false});
    assert_eq!(desk.post("/api/sub-agents", without).await, json!({"agents": []}));

    let nowhere = json!({"project_dir": project.join("nowhere")});
    assert_eq!(
        desk.post("/api/hooks", nowhere).await,
        json!({"hook_config": null})
    );
    let (status, _) = desk
        .refusal(Method::POST, "/api/skills", json!({"project_dir": "/etc"}))
        .await;
    assert_eq!(status, 403);
    drop(talk);
}

#[tokio::test]
async fn a_project_is_read_by_who_works_there_or_by_an_executor_that_is_not_kept() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let part = desk.work().join("part");
    std::fs::create_dir_all(&part).unwrap();
    for folder in [desk.work(), part] {
        std::fs::write(folder.join("AGENTS.md"), "Run the tests.").unwrap();
        let found = desk.post("/api/skills", json!({"project_dir": folder})).await;
        assert_eq!(found["sources"]["project"], 1, "{found}");
        assert_eq!(desk.executors().join(" "), talk.0);
    }
}

#[tokio::test]
async fn a_project_behind_a_link_is_not_read() {
    let desk = Desk::new().await;
    desk.begin(FINISH).await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("AGENTS.md"), "Secret.").unwrap();
    let link = desk.work().join("link");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    let found = desk.post("/api/skills", json!({"project_dir": link})).await;
    assert_eq!(found["skills"], json!([]));
}

#[tokio::test]
async fn by_its_name_a_conversation_tells_of_the_project_it_works_on_wherever_that_is() {
    let desk = Desk::new().await;
    let script = format!("- tool_calls: [{{name: terminal, arguments: {{command: 'true'}}}}]\n{FINISH}");
    let talk = desk.begin(&script).await;
    std::fs::write(desk.work().join("AGENTS.md"), "Run the tests.").unwrap();
    // The directory is called so where the files are, and nothing here.
    let asked = json!({"project_dir": "/elsewhere", "conversation_id": talk.0});
    for _ in ["while nothing runs", "by its executor"] {
        let found = desk.post("/api/skills", asked.clone()).await;
        assert_eq!(found["sources"]["project"], 1, "{found}");
        desk.run(&talk).await;
    }
    let nobodys = json!({"conversation_id": "5f2db4c4-8cfa-49a1-a27b-86e676852866"});
    for (body, expected) in [(nobodys, 404), (json!({"conversation_id": "x"}), 422)] {
        let (status, _) = desk.refusal(Method::POST, "/api/skills", body).await;
        assert_eq!(status, expected);
    }
}

#[tokio::test]
async fn hooks_of_a_project_run_once_somebody_trusts_them() {
    let desk = Desk::new().await;
    std::fs::create_dir_all(desk.work().join(".openhands")).unwrap();
    let hooks = json!({"pre_tool_use": [{"hooks": [{"command": "sh checks/no.sh"}]}]});
    std::fs::write(desk.work().join(".openhands/hooks.json"), hooks.to_string()).unwrap();
    std::fs::create_dir(desk.work().join("checks")).unwrap();
    std::fs::write(desk.work().join("checks/no.sh"), "echo no >&2; exit 2").unwrap();
    let call =
        |name: &str| format!("- tool_calls: [{{name: terminal, arguments: {{command: touch {name}}}}}]\n");
    let model = desk.script("hooks.yaml", &format!("{}{}{FINISH}", call("one"), call("two")));
    let mut request = desk.start_request(&model);
    request["agent"]["agent_context"] = json!({"load_project_skills": true});
    request["max_iterations"] = json!(1);
    let talk = desk.begin_with(request).await;
    desk.run(&talk).await;
    assert!(desk.work().join("one").exists(), "nobody has trusted them yet");
    let path = talk.path("/trust");
    let undecided = desk.get(&path).await["undecided"].clone();
    assert_eq!(undecided[0]["path"], ".openhands/hooks.json");
    assert_eq!(undecided[0]["scripts"], json!(["checks/no.sh"]), "it runs, too");
    desk.post(
        &path,
        json!({"fingerprint": undecided[0]["fingerprint"], "decision": "allow"}),
    )
    .await;

    desk.run(&talk).await;
    assert!(!desk.work().join("two").exists(), "the hook refuses it");
}
