//! Settings, secrets and profiles: kept, shown as the contract has it, and never given away.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, KEY};

async fn exposed(desk: &Desk, path: &str, mode: &str) -> (u16, Value) {
    let request = desk.request(Method::GET, path).header("X-Session-API-Key", KEY);
    let answer = request.header("X-Expose-Secrets", mode).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn patch(desk: &Desk, body: Value) -> Value {
    let (status, answer) = desk.ask(Method::PATCH, "/api/settings", Some(body)).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

#[tokio::test]
async fn settings_are_kept_over_a_restart_and_their_key_is_shown_only_on_demand() {
    let mut desk = Desk::new().await;
    let first = desk.get("/api/settings").await;
    assert_eq!(first["llm_api_key_is_set"], false);
    assert_eq!(first["conversation_settings"]["max_iterations"], 500);
    let llm = json!({"model": "openai/gpt-4o", "api_key": "sk-abc", "base_url": "http://127.0.0.1:9"});
    let changed = patch(&desk, json!({"agent_settings_diff": {"llm": llm}})).await;
    assert_eq!(changed["agent_settings"]["llm"]["api_key"], "**********");
    let diff = json!({"conversation_settings_diff": {"max_iterations": 77}, "misc_settings_diff": {"ui": {"theme": "dark"}}});
    patch(&desk, diff).await;
    desk.stop().await;
    desk.start(|_| {}).await;
    let kept = desk.get("/api/settings").await;
    assert_eq!(kept["llm_api_key_is_set"], true);
    assert_eq!(kept["conversation_settings"]["max_iterations"], 77);
    assert_eq!(kept["misc_settings"], json!({"ui": {"theme": "dark"}}));
    let key = |answer: &(u16, Value)| answer.1["agent_settings"]["llm"]["api_key"].clone();
    assert_eq!(key(&exposed(&desk, "/api/settings", "plaintext").await), "sk-abc");
    let sealed = key(&exposed(&desk, "/api/settings", "encrypted").await);
    assert!(!sealed.as_str().unwrap().contains("sk-abc"));
    assert_eq!(exposed(&desk, "/api/settings", "bogus").await.0, 400);
    for name in ["deft.db", "deft.db-wal"] {
        let bytes = std::fs::read(desk.root.path().join(name)).unwrap_or_default();
        assert!(
            !bytes.windows(6).any(|part| part == b"sk-abc"),
            "{name} holds the key in clear"
        );
    }
    let refused = [
        (json!({}), 400, "At least one of"),
        (
            json!({"agent_settings_diff": {"llm": {"timeout": "abc"}}}),
            422,
            "Settings validation failed",
        ),
        (json!({"active_profile": "nope"}), 404, "Profile 'nope' not found"),
        (
            json!({"active_agent_profile_id": "nope"}),
            404,
            "Agent profile with id 'nope' not found",
        ),
        (
            json!({"active_meta_profile": "nope"}),
            404,
            "Meta-profile 'nope' not found",
        ),
    ];
    for (body, status, reason) in refused {
        let refusal = desk.refusal(Method::PATCH, "/api/settings", body).await;
        assert_eq!(refusal.0, status);
        assert!(refusal.1.as_str().unwrap().starts_with(reason), "{}", refusal.1);
    }
    let schema = desk.get("/api/settings/agent-schema").await;
    assert_eq!(schema["sections"][1]["fields"][1]["key"], "llm.api_key");
    assert_eq!(schema["sections"][1]["fields"][1]["secret"], true);
    assert_eq!(schema["sections"][1]["fields"][1]["section"], "llm");
    assert_eq!(
        desk.get("/api/settings/conversation-schema").await["model_name"],
        "ConversationSettings"
    );
}

#[tokio::test]
async fn what_is_null_in_a_change_is_taken_away() {
    let desk = Desk::new().await;
    let server = json!({"command": "srv", "env": {"A": "1", "B": "2"}});
    let diff = json!({"agent_settings_diff": {"mcp_config": {"srv": server}}, "misc_settings_diff": {"ui": {"a": 1}}});
    patch(&desk, diff).await;
    let diff = json!({"agent_settings_diff": {"mcp_config": {"srv": {"env": {"A": null}}}},
        "misc_settings_diff": {"ui": {"a": null}}});
    let now = patch(&desk, diff).await;
    let servers = |settings: &Value| settings["agent_settings"]["mcp_config"].clone();
    assert!(servers(&now)["srv"]["env"].get("A").is_none(), "{now}");
    assert_eq!(now["misc_settings"], json!({"ui": {}}));
    let path = "/api/settings/mcp/srv";
    let env = json!({"env": {"B": null}});
    let (_, now) = desk.ask(Method::PATCH, path, Some(env)).await;
    assert_eq!(servers(&now)["srv"]["env"], json!({}));
    let now = patch(&desk, json!({"agent_settings_diff": {"mcp_config": null}})).await;
    assert_eq!(servers(&now), json!({}));
    let (status, _) = desk
        .ask(Method::POST, path, Some(json!({"command": "srv"})))
        .await;
    assert_eq!(status, 201);
}

#[tokio::test]
async fn a_conversation_begins_from_settings_and_takes_back_its_sealed_key() {
    let desk = Desk::new().await;
    let model = desk.script("s.yaml", "- text: hello settings\n");
    let llm = json!({"model": model, "api_key": "sk-sealed"});
    patch(&desk, json!({"agent_settings_diff": {"llm": llm}})).await;
    let (_, settings) = exposed(&desk, "/api/settings", "encrypted").await;
    let request = json!({"agent_settings": settings["agent_settings"], "secrets_encrypted": true,
        "workspace": {"working_dir": desk.work()}});
    let talk = desk.begin_with(request.clone()).await;
    let info = desk.run(&talk).await;
    assert_eq!(info["execution_status"], "finished");
    assert_eq!(info["agent"]["condenser"]["kind"], "LLMSummarizingCondenser");
    let mut foreign = request;
    foreign["agent_settings"]["llm"]["api_key"] = "deft-sealed:AAAA".into();
    let refusal = desk.refusal(Method::POST, "/api/conversations", foreign).await;
    assert_eq!(refusal.0, 422);
    let acp = json!({"agent_settings": {"agent_kind": "acp", "acp_server": "custom"}, "workspace": {"working_dir": desk.work()}});
    assert_eq!(desk.refusal(Method::POST, "/api/conversations", acp).await.0, 422);
}

#[tokio::test]
async fn secrets_are_named_listed_read_and_deleted() {
    let desk = Desk::new().await;
    let path = "/api/settings/secrets";
    assert_eq!(desk.get(path).await, json!({"secrets": []}));
    let secret = json!({"name": "TOK", "value": "v1", "description": "d"});
    let (status, answer) = desk.ask(Method::PUT, path, Some(secret)).await;
    assert_eq!(
        (status.as_u16(), answer),
        (200, json!({"name": "TOK", "description": "d"}))
    );
    assert_eq!(
        desk.get(path).await,
        json!({"secrets": [{"name": "TOK", "description": "d"}]})
    );
    let read = desk
        .request(Method::GET, "/api/settings/secrets/TOK")
        .header("X-Session-API-Key", KEY);
    let read = read.send().await.unwrap();
    assert_eq!(read.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(read.text().await.unwrap(), "v1");
    let bad = json!({"name": "bad name", "value": "x"});
    assert_eq!(desk.refusal(Method::PUT, path, bad).await.0, 422);
    for nothing in ["", "**********"] {
        let body = json!({"name": "TOK", "value": nothing});
        let (status, detail) = desk.refusal(Method::PUT, path, body).await;
        assert_eq!(
            (status, detail),
            (422, json!("Secret value must not be empty or redacted"))
        );
    }
    let (status, gone) = desk.ask(Method::DELETE, "/api/settings/secrets/TOK", None).await;
    assert_eq!((status.as_u16(), gone), (200, json!({"deleted": true})));
    let (status, gone) = desk.ask(Method::DELETE, "/api/settings/secrets/TOK", None).await;
    assert_eq!(
        (status.as_u16(), gone),
        (404, json!({"detail": "Secret not found"}))
    );
    let talk = desk.begin(FINISH).await;
    desk.post(
        &talk.path("/secrets"),
        json!({"secrets": {"A": "sesame", "B": {"value": "x"}, "L": {"kind": "LookupSecret",
            "url": "https://me:sesame@vault.example/one?token=sesame",
            "headers": {"X-Api-Key": "sesame", "X-Team": "blue"}}}}),
    )
    .await;
    let info = desk.get(&talk.path("")).await;
    let sources = &info["secret_registry"]["secret_sources"];
    let shown = json!({"value": null, "description": null, "kind": "StaticSecret"});
    assert_eq!(sources["A"], shown);
    let shown = json!({"url": "https://vault.example/one", "headers": {"X-Team": "blue"}, "description": null,
        "kind": "LookupSecret"});
    assert_eq!(sources["L"], shown);
    assert!(!info.to_string().contains("sesame"));
    let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
    let state = socket.next().await["value"]["secret_registry"].clone();
    assert_eq!(
        state["secret_sources"]["A"],
        json!({"kind": "StaticSecret"}),
        "sockets leave nulls out"
    );
}

#[tokio::test]
async fn a_conversation_has_the_shared_secrets_that_it_names() {
    let desk = Desk::new().await;
    let body = json!({"name": "MY_TOKEN", "value": "shared-value"});
    desk.ask(Method::PUT, "/api/settings/secrets", Some(body)).await;
    let look = "- tool_calls: [{name: terminal, arguments: {command: 'echo \"$TOKEN:$OTHER\" | rev'}}]\n";
    let model = desk.script("look.yaml", &format!("{look}{look}{FINISH}"));
    let mut request = desk.start_request(&model);
    let at =
        |url: &str| json!({"kind": "LookupSecret", "url": url, "headers": {"X-Session-API-Key": "k-one"}});
    request["secrets"] = json!({"TOKEN": at("/api/settings/secrets/MY_TOKEN"), "NONE": at("/api/settings/secrets/NONE"),
        "FAR": at("http://127.0.0.1:1/secret")});
    request["max_iterations"] = json!(1);
    let talk = desk.begin_with(request).await;
    desk.run(&talk).await;
    let body = json!({"secrets": {"OTHER": at("/api/settings/secrets/MY_TOKEN")}});
    desk.post(&talk.path("/secrets"), body).await;
    desk.run(&talk).await;
    let events = json!(desk.events(&talk).await).to_string();
    assert!(events.contains("eulav-derahs"), "{events}");
    assert!(events.contains("eulav-derahs:eulav-derahs"), "{events}");
    assert!(!events.contains("shared-value"), "{events}");
}

#[tokio::test]
async fn models_have_names_that_agents_refer_to() {
    let desk = Desk::new().await;
    let model = desk.script("p.yaml", "- text: hello profile\n");
    let llm = json!({"llm": {"model": model, "api_key": "sk-p1"}});
    let saved = desk.post("/api/profiles/p1", llm.clone()).await;
    assert_eq!(saved, json!({"name": "p1", "message": "Profile 'p1' saved"}));
    let listed = desk.get("/api/profiles").await;
    assert_eq!(listed["profiles"][0]["api_key_set"], true);
    assert_eq!(listed["active_profile"], Value::Null);
    assert_eq!(
        desk.get("/api/profiles/p1").await["config"]["api_key"],
        Value::Null
    );
    let plain = exposed(&desk, "/api/profiles/p1", "plaintext").await.1;
    assert_eq!(plain["config"]["api_key"], "sk-p1");
    assert_eq!(
        desk.post("/api/profiles/p1/validate", llm).await,
        json!({"valid": true, "error": null})
    );
    let bad = json!({"llm": {"model": "script:/no/such/file"}});
    assert_eq!(desk.post("/api/profiles/p1/validate", bad).await["valid"], false);
    desk.post("/api/profiles/p1/activate", json!({})).await;
    desk.post("/api/profiles/p1/rename", json!({"new_name": "p2"}))
        .await;
    assert_eq!(desk.get("/api/profiles").await["active_profile"], "p2");
    let agents = desk.get("/api/agent-profiles").await;
    assert_eq!(agents["profiles"][0]["name"], "default");
    assert_eq!(agents["profiles"][0]["llm_profile_ref"], "p2");
    desk.post(
        "/api/agent-profiles/ap1",
        json!({"agent_kind": "openhands", "llm_profile_ref": "p2"}),
    )
    .await;
    let found = desk.post("/api/agent-profiles/ap1/materialize", json!({})).await;
    assert_eq!(
        (&found["valid"], &found["llm_api_key_set"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(found["resolved_settings"]["llm"]["api_key"], "**********");
    let context = &found["resolved_settings"]["agent_context"];
    assert_eq!(context["load_project_skills"], true, "{context}");
    let (status, _) = desk.ask(Method::DELETE, "/api/profiles/missing", None).await;
    assert_eq!(status, 200);
    let (status, detail) = desk.refusal(Method::DELETE, "/api/profiles/p2", json!({})).await;
    let expected = "LLM profile is referenced by 2 agent profile(s): ap1, default";
    assert_eq!((status, detail), (409, json!(expected)));
    let id = desk.get("/api/agent-profiles/ap1").await["profile"]["id"].clone();
    let path = format!("/api/agent-profiles/{}/activate", id.as_str().unwrap());
    assert_eq!(desk.post(&path, json!({})).await["id"], id);
    let request = json!({"agent_profile_id": id, "workspace": {"working_dir": desk.work()}});
    let talk = desk.begin_with(request).await;
    let info = desk.run(&talk).await;
    assert_eq!(info["execution_status"], "finished");
    assert_eq!(info["launched_agent_profile"]["agent_profile_id"], id);
    assert_eq!(info["agent"]["llm"]["stream"], true, "{info}");
    let unknown = json!({"agent_profile_id": "nope", "workspace": {"working_dir": desk.work()}});
    let (status, detail) = desk.refusal(Method::POST, "/api/conversations", unknown).await;
    assert_eq!(
        (status, detail),
        (404, json!("Agent profile with id 'nope' not found"))
    );
}

#[tokio::test]
async fn connections_meta_profiles_workspaces_and_servers_are_kept() {
    let desk = Desk::new().await;
    let connections = "/api/llm/provider-connections";
    let body = json!({"name": "pc", "provider": "openai", "api_key": "sk-pc"});
    let (status, detail) = desk.refusal(Method::POST, connections, body).await;
    assert_eq!(
        (status, &detail[0]["loc"]),
        (422, &json!(["body", "display_name"]))
    );
    assert!(!detail.to_string().contains("sk-pc"));
    let made = desk
        .post(
            connections,
            json!({"display_name": "pc", "api_key": "sk-pc", "base_url": "http://x"}),
        )
        .await;
    assert_eq!(
        (&made["api_key_set"], &made["display_name"]),
        (&json!(true), &json!("pc"))
    );
    assert_eq!(desk.get(connections).await, json!([made]));
    let one = format!("{connections}/{}", made["id"].as_str().unwrap());
    let (_, renamed) = desk
        .ask(Method::PATCH, &one, Some(json!({"display_name": "other"})))
        .await;
    assert_eq!(renamed["display_name"], "other");
    assert_eq!(desk.ask(Method::DELETE, &one, None).await.0, 200);

    let nowhere = json!({"classifier_model": "p"});
    let (status, _) = desk.refusal(Method::POST, "/api/meta-profiles/m1", nowhere).await;
    assert_eq!(status, 422);
    let asks = json!({"classifier_model": "p", "prompt_template": "Which for {{ instance_text }}?"});
    desk.post("/api/meta-profiles/m1", asks).await;
    desk.post("/api/meta-profiles/m1/activate", json!({})).await;
    assert_eq!(desk.get("/api/meta-profiles").await["active_meta_profile"], "m1");

    let parents = json!({"parents": [{"id": "p", "name": "n", "path": "/oas"}]});
    desk.post(
        "/api/workspaces",
        json!({"workspaces": [{"id": "w1", "name": "n", "path": "/oas/ws3"}]}),
    )
    .await;
    let both = desk.post("/api/workspaces/parents", parents).await;
    assert_eq!(both["workspaces"][0]["path"], "/oas/ws3");
    let unnamed = json!({"workspaces": [{"path": "/srv/site/"}]});
    let all = desk.post("/api/workspaces", unnamed).await;
    let added = &all["workspaces"][1];
    assert_eq!(
        (added["name"].as_str(), added["id"].is_string()),
        (Some("site"), true)
    );
    desk.ask(Method::DELETE, "/api/workspaces?path=/srv/site/", None)
        .await;
    assert_eq!(both["workspaceParents"][0]["path"], "/oas");
    assert_eq!(
        desk.ask(Method::DELETE, "/api/workspaces?path=/oas/ws3", None)
            .await
            .0,
        200
    );
    let (status, detail) = desk
        .refusal(Method::DELETE, "/api/workspaces?path=/nope", json!({}))
        .await;
    assert_eq!((status, detail), (404, json!("Workspace not found")));

    let server = "/api/settings/mcp/srv";
    let (status, added) = desk
        .ask(
            Method::POST,
            server,
            Some(json!({"command": "echo", "args": ["x"]})),
        )
        .await;
    assert_eq!(status, 201);
    let expected = json!({"srv": {"command": "echo", "args": ["x"], "enabled": true}});
    assert_eq!(added["agent_settings"]["mcp_config"], expected);
    assert_eq!(
        desk.refusal(Method::POST, server, json!({"command": "echo"}))
            .await
            .0,
        409
    );
    let (_, changed) = desk
        .ask(Method::PATCH, server, Some(json!({"args": ["y"]})))
        .await;
    assert_eq!(
        changed["agent_settings"]["mcp_config"]["srv"]["args"],
        json!(["y"])
    );
    assert_eq!(desk.ask(Method::DELETE, server, None).await.0, 200);
    let gone = desk.refusal(Method::DELETE, server, json!({})).await;
    assert_eq!(gone, (404, json!("MCP server 'srv' was not found")));
}

#[tokio::test]
async fn the_secrets_of_a_conversation_are_there_for_commands_and_hidden_in_what_they_say() {
    let desk = Desk::new().await;
    let say = "- tool_calls: [{name: terminal, arguments: {command: 'echo \"$FIRST\" \"$SECOND\"; echo ${#SECOND}'}}]\n";
    let model = desk.script("secrets.yaml", &format!("{say}{say}{FINISH}"));
    let mut request = desk.start_request(&model);
    request["secrets"] = json!({"FIRST": {"kind": "StaticSecret", "value": "sesame-one"}});
    let talk = desk.begin_with(request).await;
    desk.post(
        &talk.path("/secrets"),
        json!({"secrets": {"SECOND": "sesame-two"}}),
    )
    .await;
    desk.run(&talk).await;
    let events = json!(desk.events(&talk).await).to_string();
    assert!(events.contains("<secret-hidden> <secret-hidden>"), "{events}");
    assert!(
        events.contains("\\n10"),
        "the command has seen the value: {events}"
    );
    assert!(!events.contains("sesame"));
}

#[tokio::test]
async fn a_secret_that_is_looked_up_can_be_found_elsewhere_later() {
    let desk = Desk::new().await;
    for (name, value) in [("ONE", "hunter-one"), ("TWO", "hunter-two")] {
        let secret = json!({"name": name, "value": value});
        desk.ask(Method::PUT, "/api/settings/secrets", Some(secret)).await;
    }
    let command = r#"test "$TOKEN" = hunter-two && touch found"#;
    let script = format!("- tool_calls: [{{name: terminal, arguments: {{command: '{command}'}}}}]\n{FINISH}");
    let mut request = desk.start_request(&desk.script("s.yaml", &script));
    request["secrets"] = json!({"TOKEN": {"kind": "LookupSecret", "url": "/api/settings/secrets/ONE"},
        "PLAIN": {"kind": "StaticSecret", "value": "hunter-three"}});
    let talk = desk.begin_with(request).await;
    let bind = |name: &str, body: Value| {
        let path = talk.path(&format!("/credential-bindings/{name}"));
        let desk = &desk;
        async move { desk.ask(Method::PUT, &path, Some(body)).await.0.as_u16() }
    };
    let place = json!({"url": "/api/settings/secrets/TWO", "headers": {}});
    assert_eq!(bind("TOKEN", json!({"url": 3, "x": 1})).await, 422);
    assert_eq!(bind("PLAIN", place.clone()).await, 404, "it is looked up nowhere");
    assert_eq!(bind("OTHER", place.clone()).await, 404);
    assert_eq!(bind("TOKEN", place).await, 204);
    desk.run(&talk).await;
    assert!(desk.work().join("found").exists());
}
