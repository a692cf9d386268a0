//! Requests that come at the same time.

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, KEY};

#[tokio::test]
async fn no_secret_is_lost_that_comes_at_the_same_time_as_others() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let (path, policy_path) = (talk.path("/secrets"), talk.path("/confirmation_policy"));
    let add = |n: usize| {
        let secrets = json!({"secrets": {format!("NAME_{n}"): format!("value {n}")}});
        desk.post(&path, secrets)
    };
    let policy = desk.post(&policy_path, json!({"policy": {"kind": "AlwaysConfirm"}}));
    let (_, _) = tokio::join!(join_all((0..24).map(add)), policy);
    let info = desk.get(&talk.path("")).await;
    let kept = info["secret_registry"]["secret_sources"].as_object().unwrap();
    assert_eq!(kept.len(), 24);
    assert_eq!(info["confirmation_policy"]["kind"], "AlwaysConfirm");
}

#[tokio::test]
async fn a_run_keeps_its_place_whoever_else_asks_for_one() {
    let desk = Desk::new().await;
    for _ in 0..10 {
        let talk = desk.begin("- stall: true\n").await;
        let message = json!({"role": "user", "content": [{"type": "text", "text": "go"}]});
        desk.post(&talk.path("/events"), message).await;
        let path = talk.path("/run");
        let run = || desk.ask(Method::POST, &path, None);
        let answers = join_all((0..6).map(|_| run())).await;
        let begun = answers.iter().filter(|(status, _)| status.is_success());
        assert_eq!(begun.count(), 1, "{answers:?}");
        let count = async || {
            let request = desk.request(Method::GET, "/metrics").bearer_auth(KEY);
            request.send().await.unwrap().text().await.unwrap()
        };
        assert!(count().await.contains("deft_conversations_running 1"));
        desk.post(&talk.path("/interrupt"), Value::Null).await;
        while !count().await.contains("deft_conversations_running 0") {
            tokio::task::yield_now().await;
        }
    }
}
