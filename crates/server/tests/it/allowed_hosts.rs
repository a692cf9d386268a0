//! Hosts that a person has allowed: listed and taken back by HTTP. How one comes to be allowed is tried with real programs
//! and a real proxy elsewhere.

use deft_store::Owner;
use deft_types::ConversationId;
use reqwest::Method;
use serde_json::json;

use crate::desk::Desk;

#[tokio::test]
async fn a_host_that_was_allowed_is_listed_until_it_is_taken_back() {
    let mut desk = Desk::new().await;
    let talk = desk.begin_with(desk.start_request("demo")).await;
    desk.stop().await;
    let store = desk.store();
    let id: ConversationId = talk.0.parse().unwrap();
    let lease = store.acquire(id, &Owner::this_process()).await.unwrap();
    let allowed = json!({"kind": "ConversationStateUpdateEvent", "id": "a", "source": "environment",
        "timestamp": "2026-01-01T00:00:00", "key": "allowed_hosts", "value": ["a.example:443", "b.example:80"]});
    let event = serde_json::from_value(allowed).unwrap();
    store.append(&lease, vec![event]).await.unwrap();
    store.release(lease).await.unwrap();
    desk.start(|_| {}).await;

    let path = talk.path("/allowed_hosts");
    let rule = |host: &str| json!({"rule": host, "scope": "conversation"});
    let both = json!({"rules": [rule("a.example:443"), rule("b.example:80")]});
    assert_eq!(desk.get(&path).await, both);
    let take_back = async |host: &str| {
        let path = format!("{path}?host={host}");
        desk.ask(Method::DELETE, &path, None).await
    };
    assert_eq!(take_back("a.example").await.0, 404, "its port belongs to it");
    let (status, left) = take_back("a.example:443").await;
    assert_eq!(
        (status.as_u16(), &left),
        (200, &json!({"rules": [rule("b.example:80")]}))
    );
    assert_eq!(take_back("a.example:443").await.0, 404);
    assert_eq!(desk.ask(Method::DELETE, &path, None).await.0, 422);
    assert_eq!(desk.get(&path).await, left);
}
