//! What profiles of agents and routes between models do to a conversation.

use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, Talk};

/// Saves a profile of an agent and gives back its id.
async fn save(desk: &Desk, name: &str, profile: Value) -> Value {
    desk.post(&format!("/api/agent-profiles/{name}"), profile).await;
    desk.get(&format!("/api/agent-profiles/{name}")).await["profile"]["id"].clone()
}

async fn printed(desk: &Desk, talk: &Talk) -> Vec<String> {
    let events = desk.events(talk).await;
    let results = events
        .iter()
        .filter(|event| event["observation"]["kind"] == "TerminalObservation");
    let text = |event: &Value| {
        event["observation"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    results.map(text).collect()
}

#[tokio::test]
async fn a_profile_has_the_fields_of_its_kind_and_can_be_saved_as_it_was_shown() {
    let desk = Desk::new().await;
    let path = "/api/agent-profiles/x";
    desk.post(path, json!({"agent_kind": "acp", "acp_server": "codex"}))
        .await;
    let shown = desk.get(path).await["profile"].clone();
    let expected = json!({"schema_version": 4, "agent_kind": "acp", "id": shown["id"], "name": "x", "revision": 0,
        "mcp_server_refs": null, "secret_refs": null, "acp_server": "codex", "acp_model": null,
        "acp_session_mode": null, "acp_prompt_timeout": 1800.0, "acp_startup_timeout": 90.0,
        "acp_command": null, "acp_args": null});
    assert_eq!(shown, expected);
    desk.post("/api/profiles/p", json!({"llm": {"model": "demo"}}))
        .await;
    let ours = "/api/agent-profiles/ours";
    desk.post(ours, json!({"llm_profile_ref": "p"})).await;
    for path in [path, ours] {
        let shown = desk.get(path).await["profile"].clone();
        desk.post(path, shown.clone()).await;
        let again = desk.get(path).await["profile"].clone();
        assert_eq!((&again["id"], &again["revision"]), (&shown["id"], &json!(1)));
    }
}

#[tokio::test]
async fn an_agent_has_only_the_secrets_that_its_profile_names() {
    let desk = Desk::new().await;
    let print = "- tool_calls: [{name: terminal, arguments: {command: 'echo \"a${DOOR}b${SAFE}c\"'}}]\n";
    let model = desk.script("print.yaml", &format!("{print}{FINISH}{print}{FINISH}"));
    desk.post("/api/profiles/p", json!({"llm": {"model": model}}))
        .await;
    let id = save(
        &desk,
        "doorman",
        json!({"llm_profile_ref": "p", "secret_refs": ["DOOR"]}),
    )
    .await;
    for name in ["DOOR", "SAFE"] {
        let secret = json!({"name": name, "value": format!("value-of-{name}")});
        desk.ask(reqwest::Method::PUT, "/api/settings/secrets", Some(secret))
            .await;
    }
    let path = format!("/api/settings/secrets?agent_profile_id={}", id.as_str().unwrap());
    let listed = desk.get(&path).await;
    assert_eq!(listed["secrets"], json!([{"name": "DOOR", "description": null}]));
    assert_eq!(
        desk.get("/api/settings/secrets").await["secrets"]
            .as_array()
            .unwrap()
            .len(),
        2
    );

    let secrets = json!({"DOOR": "open-sesame", "SAFE": "12-34-56"});
    let request =
        json!({"agent_profile_id": id, "workspace": {"working_dir": desk.work()}, "secrets": secrets});
    let talk = desk.begin_with(request).await;
    desk.run(&talk).await;
    // Nor can it be given more later.
    desk.post(&talk.path("/secrets"), json!({"secrets": {"SAFE": "65-43-21"}}))
        .await;
    desk.run(&talk).await;
    for line in printed(&desk, &talk).await {
        assert!(line.contains("a<secret-hidden>bc"), "{line}");
    }
}

#[tokio::test]
async fn the_active_routes_choose_the_model_of_a_task() {
    let desk = Desk::new().await;
    let first = desk.script(
        "first.yaml",
        "- tool_calls: [{name: route_task_to_model, arguments: {}}]\n- text: not me\n",
    );
    let judge = desk.script("judge.yaml", "- {text: '2', cost: 0.25}\n");
    let painter = desk.script("painter.yaml", "- repeat: 9\n  text: painted\n");
    for (name, model) in [("first", &first), ("judge", &judge), ("painter", &painter)] {
        desk.post(&format!("/api/profiles/{name}"), json!({"llm": {"model": model}}))
            .await;
    }
    let classes =
        json!([{"description": "sums", "model": "first"}, {"description": "looks", "model": "painter"}]);
    desk.post(
        "/api/meta-profiles/m",
        json!({"classifier_model": "judge", "classes": classes}),
    )
    .await;
    desk.post("/api/meta-profiles/m/activate", json!({})).await;
    let profile = json!({"llm_profile_ref": "first", "enable_classify_and_switch_llm_tool": true});
    let id = save(&desk, "routed", profile).await;
    let request = json!({"agent_profile_id": id, "workspace": {"working_dir": desk.work()}});
    let talk = desk.begin_with(request).await;
    let info = desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let routed = events
        .iter()
        .find(|event| event["observation"]["kind"] == "ClassifyAndSwitchLLMObservation");
    let routed = &routed.unwrap()["observation"];
    assert_eq!(
        (&routed["model"], &routed["chosen_class"]),
        (&json!("painter"), &json!("looks"))
    );
    assert_eq!(
        desk.get(&talk.path("/agent_final_response")).await["response"],
        "painted"
    );
    assert_eq!(
        info["stats"]["usage_to_metrics"]["classifier:judge"]["accumulated_cost"],
        0.25
    );
}

#[tokio::test]
async fn a_profile_says_which_routes_and_models_are_missing() {
    let desk = Desk::new().await;
    desk.post("/api/profiles/p", json!({"llm": {"model": "demo"}}))
        .await;
    save(
        &desk,
        "a",
        json!({"llm_profile_ref": "p", "meta_profile_ref": "nowhere"}),
    )
    .await;
    let found = desk.post("/api/agent-profiles/a/materialize", json!({})).await;
    assert_eq!(found["dangling_meta_profile_ref"], "nowhere");
    let classes = json!([{"description": "sums", "model": "gone"}]);
    desk.post(
        "/api/meta-profiles/nowhere",
        json!({"classifier_model": "p", "classes": classes}),
    )
    .await;
    let found = desk.post("/api/agent-profiles/a/materialize", json!({})).await;
    assert_eq!(found["dangling_meta_profile_ref"], Value::Null);
    assert_eq!(found["dangling_meta_profile_llm_refs"], json!(["gone"]));
}

#[tokio::test]
async fn what_is_added_at_the_start_counts_for_this_conversation_alone() {
    let desk = Desk::new().await;
    let other = desk.script("other.yaml", "- text: from the other\n");
    for (name, model) in [("usual", "demo"), ("other", other.as_str())] {
        desk.post(&format!("/api/profiles/{name}"), json!({"llm": {"model": model}}))
            .await;
    }
    let profile = json!({"llm_profile_ref": "usual", "system_message_suffix": "The garden is wild."});
    let id = save(&desk, "gardener", profile).await;
    let skill = json!({"name": "boats", "content": "Boats float.",
        "trigger": {"type": "keyword", "keywords": ["do it"]}});
    let additions = json!({"llm_profile_ref": "other", "system_message_suffix_append": "Water first.",
        "skills": [skill]});
    let mut request = json!({"agent_profile_id": id, "workspace": {"working_dir": desk.work()},
        "agent_launch_additions": additions});
    let info = desk.post("/api/conversations", request.clone()).await;
    assert_eq!(info["launched_agent_profile"]["llm_profile_ref"], "other");
    let talk = Talk(info["id"].as_str().unwrap().to_owned());
    assert_eq!(
        desk.run(&talk).await["activated_knowledge_skills"],
        json!(["boats"])
    );
    let answer = desk.get(&talk.path("/agent_final_response")).await;
    assert_eq!(answer["response"], "from the other");
    let events = json!(desk.events(&talk).await).to_string();
    assert!(
        events.contains("The garden is wild.\\n\\nWater first."),
        "{events}"
    );

    request["agent_launch_additions"] = json!({"llm_profile_ref": "gone"});
    let (status, why) = desk
        .refusal(reqwest::Method::POST, "/api/conversations", request)
        .await;
    assert_eq!(
        (status, &why["code"], &why["dangling_llm_profile_ref"]),
        (422, &json!("unresolved_profile_references"), &json!("gone"))
    );
}

#[tokio::test]
async fn a_profile_stands_in_for_a_model_that_fails_for_the_moment() {
    let desk = Desk::new().await;
    let stand_in = desk.script("stand-in.yaml", "- text: standing in\n");
    desk.post("/api/profiles/spare", json!({"llm": {"model": stand_in}}))
        .await;
    let mut request = desk.start_request(&desk.script("failing.yaml", "- error: {status: 503}\n"));
    request["agent"]["llm"]["fallback_strategy"] = json!({"fallback_llms": ["spare"]});
    let talk = desk.begin_with(request).await;
    let info = desk.run(&talk).await;
    assert_eq!(info["execution_status"], "finished");
    assert_eq!(info["agent"]["llm"].get("fallback_strategy"), None);
    let answer = desk.get(&talk.path("/agent_final_response")).await;
    assert_eq!(answer["response"], "standing in");
}

#[tokio::test]
async fn an_agent_of_settings_that_name_no_tools_can_change_its_model() {
    let desk = Desk::new().await;
    let strong = desk.script("strong.yaml", "- repeat: 9\n  text: thought hard\n");
    desk.post("/api/profiles/strong", json!({"llm": {"model": strong}}))
        .await;
    let script = "- tool_calls: [{name: switch_llm, arguments: {profile_name: strong, reason: hard}}]\n\
                  - repeat: 9\n  text: not me\n";
    let model = desk.script("weak.yaml", script);
    let settings = json!({"llm": {"model": model}});
    let place = json!({"working_dir": desk.work()});
    let talk = desk
        .begin_with(json!({"agent_settings": settings, "workspace": place}))
        .await;
    let agent = &desk.run(&talk).await["agent"];
    assert_eq!(
        agent["include_default_tools"],
        json!(["FinishTool", "ThinkTool", "SwitchLLMTool"])
    );
    assert_eq!(
        desk.get(&talk.path("/agent_final_response")).await["response"],
        "thought hard"
    );

    let settings = json!({"llm": {"model": model}, "tools": [{"name": "terminal"}]});
    let request = json!({"agent_settings": settings, "workspace": place});
    let chosen = desk.post("/api/conversations", request).await;
    assert_eq!(
        chosen["agent"]["include_default_tools"],
        json!(["FinishTool", "ThinkTool"])
    );
}
