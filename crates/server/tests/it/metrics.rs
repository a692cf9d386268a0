//! The figures for Prometheus.

use deft_server::Role;
use reqwest::Method;
use serde_json::json;

use crate::desk::{Desk, FINISH, KEY};
use crate::user::User;

#[tokio::test]
async fn figures_are_told_to_who_has_the_key() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let request = desk.request(Method::GET, "/metrics");
    assert_eq!(request.send().await.unwrap().status(), 401);
    let request = desk.request(Method::GET, "/metrics").bearer_auth(KEY);
    let page = request.send().await.unwrap().text().await.unwrap();
    for part in [
        "deft_build_info{version=",
        "deft_conversations{status=\"finished\"} 1",
        "deft_conversations_in_memory 1",
        "deft_conversations_running 0",
        "deft_http_requests_total{method=\"POST\",status=\"2xx\"} 2",
        "process_resident_memory_bytes ",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[tokio::test]
async fn figures_are_of_all_users() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    User::add(&desk, "root", Role::Admin).await;
    let bea = User::add(&desk, "bea", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    ann.talk().await;
    let talk = ann.talk().await;
    let message = json!({"role": "user", "content": [{"type": "text", "text": "hi"}], "run": false});
    let (status, _) = ann.ask(Method::POST, &talk.path("/events"), message).await;
    assert_eq!(status, 200);
    for key in [KEY, &bea.key] {
        let request = desk.request(Method::GET, "/metrics").bearer_auth(key);
        let page = request.send().await.unwrap().text().await.unwrap();
        for part in [
            "deft_conversations{status=\"finished\"} 1",
            "deft_conversations{status=\"idle\"} 2",
            "deft_conversations_in_memory 2",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }
    let request = desk.request(Method::GET, "/metrics").bearer_auth(&ann.key);
    assert_eq!(request.send().await.unwrap().status(), 404);
}
