//! A service elsewhere that judges actions: Gray Swan's, played over real HTTP.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::desk::{Desk, FINISH};

type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// Plays the monitor: what names a word has the score that is meant by it.
async fn assess(State(asked): State<Asked>, headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
    let key = headers["authorization"].to_str().unwrap().to_owned();
    let text = body.to_string();
    asked.lock().unwrap().push((key, body));
    Json(match text.as_str() {
        text if text.contains("harmless") => json!({"violation": 0.1}),
        text if text.contains("obeys") => json!({"violation": 0.1, "ipi": true}),
        text if text.contains("grave") => json!({"violation": 0.9}),
        _ => json!({"error": "no score"}),
    })
}

#[tokio::test]
async fn what_the_monitor_finds_dangerous_waits_and_so_does_what_it_cannot_judge() {
    let asked = Asked::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/monitor", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/monitor", post(assess))
        .with_state(Arc::clone(&asked));
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

    let desk = Desk::new().await;
    for (word, expected) in [
        ("harmless", "finished"),
        ("obeys", "waiting_for_confirmation"),
        ("grave", "waiting_for_confirmation"),
        ("unknown", "waiting_for_confirmation"),
    ] {
        let call =
            format!("- tool_calls: [{{name: terminal, arguments: {{command: 'echo {word}'}}}}]\n{FINISH}");
        let mut request = desk.start_request(&desk.script(word, &call));
        request["confirmation_policy"] = json!({"kind": "ConfirmRisky", "confirm_unknown": false});
        request["security_analyzer"] = json!({"kind": "GraySwanAnalyzer", "api_url": url, "api_key": "sk-swan",
            "policy_id": "p1"});
        let talk = desk.begin_with(request).await;
        let info = desk.run(&talk).await;
        assert_eq!(info["execution_status"], expected, "{word}");
        assert_eq!(info["security_analyzer"]["kind"], "GraySwanAnalyzer");
        let told = json!([info, desk.events(&talk).await]).to_string();
        assert!(!told.contains("sk-swan"), "{told}");
        let mut socket = desk.socket(&format!("/sockets/events/{}", talk.0)).await;
        let state = socket.next().await;
        assert_eq!(
            state["value"]["security_analyzer"]["api_key"], "**********",
            "{state}"
        );
    }
    let (key, body) = asked.lock().unwrap()[0].clone();
    assert_eq!(
        (key.as_str(), &body["policy_id"]),
        ("Bearer sk-swan", &json!("p1"))
    );
    assert_eq!(body["messages"][0], json!({"role": "user", "content": "do it"}));
    serving.abort();
}

#[tokio::test]
async fn without_a_monitor_that_can_be_asked_everything_waits() {
    let desk = Desk::new().await;
    let call = format!("- tool_calls: [{{name: terminal, arguments: {{command: 'true'}}}}]\n{FINISH}");
    let mut request = desk.start_request(&desk.script("s.yaml", &call));
    request["confirmation_policy"] = json!({"kind": "ConfirmRisky", "confirm_unknown": false});
    let talk = desk.begin_with(request).await;
    let later = json!({"security_analyzer": {"kind": "GraySwanAnalyzer", "api_key": "sk-swan"}});
    desk.post(&talk.path("/security_analyzer"), later).await;
    assert_eq!(
        desk.run(&talk).await["execution_status"],
        "waiting_for_confirmation"
    );
    let told = json!(desk.events(&talk).await).to_string();
    assert!(
        told.contains("GraySwanAnalyzer") && !told.contains("sk-swan"),
        "{told}"
    );
    let wrong = json!({"security_analyzer": {"kind": "GraySwanAnalyzer", "timeout": "long"}});
    assert_eq!(
        desk.refusal(Method::POST, &talk.path("/security_analyzer"), wrong)
            .await
            .0,
        422
    );
}
