//! A service elsewhere that judges actions: Gray Swan's, played over real HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

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

/// A monitor that is there, at an address of its own.
async fn monitor() -> (String, Asked, JoinHandle<()>) {
    let asked = Asked::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/monitor", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/monitor", post(assess))
        .with_state(Arc::clone(&asked));
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, asked, serving)
}

#[tokio::test]
async fn what_the_monitor_finds_dangerous_waits_and_so_does_what_it_cannot_judge() {
    let (url, asked, serving) = monitor().await;
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
async fn a_monitor_that_is_named_later_is_asked_from_the_next_run_on() {
    let (url, asked, serving) = monitor().await;
    let desk = Desk::new().await;
    let call = |word: &str| {
        format!("- tool_calls: [{{name: terminal, arguments: {{command: 'echo {word}; sleep 1'}}}}]\n")
    };
    let words = format!("{}{FINISH}{}{FINISH}", call("harmless"), call("grave"));
    let mut request = desk.start_request(&desk.script("s.yaml", &words));
    request["confirmation_policy"] = json!({"kind": "ConfirmRisky", "confirm_unknown": false});
    let talk = desk.begin_with(request).await;
    let swan = |key: &str| json!({"security_analyzer": {"kind": "GraySwanAnalyzer", "api_url": url, "api_key": key}});
    desk.post(&talk.path("/security_analyzer"), swan("sk-one")).await;
    let first = desk.run(&talk);
    let meanwhile = async {
        while asked.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        desk.post(&talk.path("/security_analyzer"), swan("sk-two")).await;
    };
    let (info, ()) = tokio::join!(first, meanwhile);
    assert_eq!(info["execution_status"], "finished");
    let again = json!({"content": [{"text": "and again"}]}); // a part without a type is a text
    desk.post(&talk.path("/events"), again).await;
    assert_eq!(
        desk.run(&talk).await["execution_status"],
        "waiting_for_confirmation"
    );
    let keys: Vec<_> = asked.lock().unwrap().iter().map(|(key, _)| key.clone()).collect();
    assert_eq!(keys.first().unwrap(), "Bearer sk-one");
    assert_eq!(keys.last().unwrap(), "Bearer sk-two");
    serving.abort();
}

#[tokio::test]
async fn without_a_monitor_that_can_be_asked_everything_waits() {
    let desk = Desk::new().await;
    let call = format!("- tool_calls: [{{name: terminal, arguments: {{command: 'true'}}}}]\n{FINISH}");
    let mut request = desk.start_request(&desk.script("s.yaml", &call));
    request["confirmation_policy"] = json!({"kind": "ConfirmRisky", "confirm_unknown": false});
    let talk = desk.begin_with(request).await;
    let later = json!({"security_analyzer": {"kind": "GraySwanAnalyzer", "api_key": "**********"}});
    desk.post(&talk.path("/security_analyzer"), later).await;
    assert_eq!(
        desk.run(&talk).await["execution_status"],
        "waiting_for_confirmation"
    );
    let told = json!(desk.events(&talk).await).to_string();
    assert!(told.contains("GraySwanAnalyzer"), "{told}");
    let wrong = json!({"security_analyzer": {"kind": "GraySwanAnalyzer", "timeout": "long"}});
    assert_eq!(
        desk.refusal(Method::POST, &talk.path("/security_analyzer"), wrong)
            .await
            .0,
        422
    );
}
