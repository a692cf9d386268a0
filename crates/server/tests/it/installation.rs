//! What an installation says that has no skills, plugins and the like, and which models there are.

use reqwest::Method;
use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn what_is_not_installed_is_listed_as_nothing_and_named_as_missing() {
    let desk = Desk::new().await;
    for (path, expected) in [
        ("/api/skills/installed", json!({"skills": []})),
        ("/api/plugins/installed", json!({"plugins": []})),
        (
            "/api/canvas-extensions/installed",
            json!({"canvas_extensions": []}),
        ),
        ("/api/llm/provider-connections", json!([])),
    ] {
        assert_eq!(desk.get(path).await, expected, "{path}");
    }
    let skills = desk.post("/api/skills", json!({"load_user": true})).await;
    let sources = json!({"sandbox": 0, "registered_marketplaces": 0, "sdk_base": 0, "org": 0, "project": 0});
    assert_eq!(skills, json!({"skills": [], "sources": sources}));
    assert_eq!(
        desk.post("/api/hooks", json!({})).await,
        json!({"hook_config": null})
    );
    for (method, path, reason) in [
        (
            Method::GET,
            "/api/skills/installed/nope",
            "Skill 'nope' is not installed",
        ),
        (
            Method::DELETE,
            "/api/plugins/installed/nope",
            "Plugin 'nope' is not installed",
        ),
        (
            Method::GET,
            "/api/canvas-extensions/installed/nope",
            "Canvas extension 'nope' is not installed",
        ),
    ] {
        assert_eq!(desk.refusal(method, path, json!({})).await, (404, json!(reason)));
    }
    let (status, body) = desk.ask(Method::GET, "/api/vscode/url", None).await;
    assert_eq!(
        (status.as_u16(), &body["detail"]),
        (503, &json!("Internal Server Error"))
    );
    let tried = desk
        .post("/api/mcp/test", json!({"server": {"command": "/no/such"}}))
        .await;
    assert_eq!(
        (&tried["ok"], &tried["error_kind"]),
        (&json!(false), &json!("unknown"))
    );
}

#[tokio::test]
async fn models_are_listed_by_their_providers() {
    let desk = Desk::new().await;
    let providers = desk.get("/api/llm/providers").await;
    assert!(
        providers["providers"]
            .as_array()
            .unwrap()
            .contains(&json!("anthropic"))
    );
    let all = desk.get("/api/llm/models").await["models"]
        .as_array()
        .unwrap()
        .len();
    let some = desk.get("/api/llm/models?provider=anthropic").await;
    let some = some["models"].as_array().unwrap();
    assert!(!some.is_empty() && some.len() < all);
    let verified = desk.get("/api/llm/models/verified").await;
    assert_eq!(verified["models"]["anthropic"].as_array(), Some(some));
}
