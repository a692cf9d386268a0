//! What requests are refused with that the contract does not take: other methods, no upgrade, fields of other types.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, KEY};

async fn status(desk: &Desk, method: Method, path: &str) -> u16 {
    let request = desk.request(method, path).header("X-Session-API-Key", KEY);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn head_is_for_pages_and_documents_alone() {
    let desk = Desk::new().await;
    for path in [
        "/alive",
        "/health",
        "/ready",
        "/server_info",
        "/api/tools/",
        "/api/conversations/count",
    ] {
        assert_eq!(status(&desk, Method::HEAD, path).await, 405, "{path}");
        assert_eq!(status(&desk, Method::GET, path).await, 200, "{path}");
        for method in [Method::HEAD, Method::DELETE] {
            let refused = desk.request(method, path).header("X-Session-API-Key", KEY);
            let refused = refused.send().await.unwrap();
            assert_eq!(refused.headers()["allow"], "GET", "{path}");
        }
    }
    for path in ["/", "/docs", "/redoc", "/openapi.json"] {
        assert_eq!(status(&desk, Method::HEAD, path).await, 200, "{path}");
    }
}

#[tokio::test]
async fn without_an_upgrade_there_is_nothing_at_the_address_of_a_socket() {
    let desk = Desk::new().await;
    let path = "/sockets/events/00000000-0000-0000-0000-000000000000";
    for method in [Method::GET, Method::HEAD, Method::POST] {
        assert_eq!(status(&desk, method.clone(), path).await, 404, "{method}");
    }
}

#[tokio::test]
async fn the_page_of_routes_is_made_of_our_document_and_needs_nobody_else() {
    let desk = Desk::new().await;
    let info = desk.get("/server_info").await;
    for path in [&info["docs"], &info["redoc"]] {
        let answer = desk
            .request(Method::GET, path.as_str().unwrap())
            .send()
            .await
            .unwrap();
        let policy = answer.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        let page = answer.text().await.unwrap();
        assert!(page.contains("<td>POST</td><td><code>/api/conversations/{conversation_id}/run</code>"));
        assert!(
            page.contains("href=\"openapi.json\""),
            "it is beside the page, wherever that is"
        );
        assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"));
    }
}

#[tokio::test]
async fn a_server_that_is_known_below_a_path_answers_there_too() {
    let desk = Desk::with(|config| config.base_path = Some("/deft".to_owned())).await;
    let (one, other) = ("/deft/api/conversations/count", "/api/conversations/count");
    assert_eq!(desk.get(one).await, desk.get(other).await);
    assert_eq!(
        status(&desk, Method::GET, "/defter/api/conversations/count").await,
        404
    );
    let without_key = desk.request(Method::GET, one).send().await.unwrap();
    assert_eq!(without_key.status(), 401);
}

#[tokio::test]
async fn what_is_offered_of_the_contract_is_named() {
    let desk = Desk::new().await;
    let info = desk.get("/server_info").await;
    let named = info["capabilities"].as_array().unwrap();
    for part in [
        "agent_launch_pipeline_v1",
        "profile_persona_v1",
        "tool_catalog_v1",
    ] {
        assert!(named.contains(&json!(part)), "{part}: {info}");
    }
    assert!(!info.to_string().contains("credential_binding"), "{info}");
}

#[tokio::test]
async fn every_field_that_is_wrong_is_told_at_once() {
    let desk = Desk::new().await;
    let llm = json!({"model": 5, "temperature": "hot", "num_retries": "x", "top_p": 2, "stream": "maybe",
        "api_mode": "fast", "max_output_tokens": 0, "timeout": [], "api_key": ["sk-1"]});
    let body = json!({"agent": {"kind": "Agent", "llm": llm}, "tags": [], "max_iterations": 0,
        "conversation_id": "x"});
    let (status, detail) = desk.refusal(Method::POST, "/api/conversations", body).await;
    assert_eq!(status, 422);
    let found: Vec<_> = detail
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| (place(issue), text(&issue["type"])))
        .collect();
    let found: Vec<_> = found
        .iter()
        .map(|(place, kind)| (place.as_str(), kind.as_str()))
        .collect();
    let expected = [
        ("body.workspace", "missing"),
        ("body.conversation_id", "uuid_parsing"),
        ("body.max_iterations", "greater_than_equal"),
        ("body.tags", "dict_type"),
        ("body.agent.llm.model", "string_type"),
        ("body.agent.llm.api_key.str", "string_type"),
        ("body.agent.llm.num_retries", "int_parsing"),
        ("body.agent.llm.timeout", "int_type"),
        ("body.agent.llm.stream_idle_timeout", "float_type"),
        ("body.agent.llm.temperature", "float_parsing"),
        ("body.agent.llm.top_p", "less_than_equal"),
        ("body.agent.llm.max_output_tokens", "greater_than_equal"),
        ("body.agent.llm.api_mode", "literal_error"),
        ("body.agent.llm.stream", "bool_parsing"),
    ];
    assert_eq!(found, expected);
    assert!(!detail.to_string().contains("sk-1"), "{detail}");
}

#[tokio::test]
async fn a_text_that_means_a_number_or_a_switch_is_one() {
    let desk = Desk::new().await;
    let mut request = desk.start_request("demo");
    request["agent"]["llm"] =
        json!({"model": "demo", "num_retries": "3", "temperature": "0.5", "stream": "yes"});
    let info = desk.post("/api/conversations", request).await;
    let llm = &info["agent"]["llm"];
    assert_eq!(
        (&llm["num_retries"], &llm["temperature"], &llm["stream"]),
        (&json!(3), &json!(0.5), &json!(true))
    );
}

fn place(issue: &Value) -> String {
    let parts = issue["loc"].as_array().unwrap().iter();
    parts.map(text).collect::<Vec<_>>().join(".")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
