//! What a client says to its agent beside its tasks, and the secrets that it gives it.

use axum::http::Method;
use serde_json::json;

use crate::desk::{Desk, FINISH, KEY};

#[tokio::test]
async fn what_is_said_to_an_agent_is_in_its_prompt_and_with_each_message() {
    let desk = Desk::new().await;
    let mut request = desk.start_request(&desk.script("s.yaml", FINISH));
    request["agent"]["persona"] = json!("You are a careful gardener.");
    request["agent"]["agent_context"] = json!({
        "system_message_suffix": "The garden is wild.", "user_message_suffix": "Water first.",
        "secrets": {"SHED_KEY": {"kind": "StaticSecret", "value": "hunter-two", "description": "opens the shed"}},
    });
    let talk = desk.begin_with(request).await;
    desk.say(&talk, "Plant a tree.", false).await;
    desk.run(&talk).await;
    let events = desk.events(&talk).await;
    let prompt = events
        .iter()
        .find(|event| event["kind"] == "SystemPromptEvent")
        .unwrap();
    let dynamic = prompt["dynamic_context"]["text"].as_str().unwrap();
    for part in [
        "<role>\nYou are a careful gardener.\n</role>",
        "The garden is wild.",
        "- SHED_KEY: opens the shed\n",
    ] {
        assert!(dynamic.contains(part), "{part}: {dynamic}");
    }
    let said = events.iter().find(|event| event["source"] == "user").unwrap();
    assert_eq!(said["extended_content"][0]["text"], "Water first.");
    assert!(!json!(events).to_string().contains("hunter-two"));

    let mut request = desk.start_request(&desk.script("s.yaml", FINISH));
    request["agent"]["system_prompt"] = json!("You only plant trees.");
    let other = desk.begin_with(request).await;
    desk.say(&other, "Plant a tree.", false).await;
    desk.run(&other).await;
    let events = desk.events(&other).await;
    let of_prompt = |event: &&serde_json::Value| event["kind"] == "SystemPromptEvent";
    let prompt = events.iter().find(of_prompt).unwrap();
    assert_eq!(prompt["system_prompt"]["text"], "You only plant trees.");
}

#[tokio::test]
async fn a_secret_that_is_kept_elsewhere_is_asked_for_when_a_command_names_it() {
    let desk = Desk::new().await;
    for (name, value) in [("NEAR", "hunter-near"), ("FAR", "hunter-far")] {
        let secret = json!({"name": name, "value": value});
        let (status, _) = desk.ask(Method::PUT, "/api/settings/secrets", Some(secret)).await;
        assert_eq!(status, 200);
    }
    let command = r#"echo "$NEAR $FAR [$GONE]" > out; cat out"#;
    let script = format!("- tool_calls: [{{name: terminal, arguments: {{command: '{command}'}}}}]\n{FINISH}");
    let mut request = desk.start_request(&desk.script("s.yaml", &script));
    let far = format!("http://{}/api/settings/secrets/FAR", desk.address);
    request["secrets"] = json!({
        "NEAR": {"kind": "LookupSecret", "url": "/api/settings/secrets/NEAR"},
        "FAR": {"kind": "LookupSecret", "url": far, "headers": {"X-Session-API-Key": KEY}},
        "GONE": {"kind": "LookupSecret", "url": "/api/settings/secrets/GONE"},
    });
    let talk = desk.begin_with(request).await;
    desk.say(&talk, "Use them.", false).await;
    let info = desk.run(&talk).await;
    let used = std::fs::read_to_string(desk.work().join("out")).unwrap();
    assert_eq!(used, "hunter-near hunter-far []\n");
    let told = json!(desk.events(&talk).await).to_string() + &info.to_string();
    assert!(told.contains("<secret-hidden> <secret-hidden> []"), "{told}");
    assert!(!told.contains("hunter"), "{told}");
    assert!(!told.contains(KEY), "{told}");
}
