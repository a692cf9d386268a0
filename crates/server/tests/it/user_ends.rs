//! What ends when a user may not use the server any more, and what does not.

use std::time::Duration;

use deft_server::{Quota, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, Talk};
use crate::user::User;

async fn disable(desk: &Desk, name: &str) {
    desk.accounts()
        .change(name, |account| account.disabled = true)
        .await
        .unwrap();
}

#[tokio::test]
async fn who_sees_somebody_who_is_disabled_sees_nothing_of_anybody() {
    let desk = Desk::new().await;
    let owners = desk.begin(FINISH).await;
    let root = User::add(&desk, "root", Role::Admin).await;
    User::add(&desk, "ann", Role::Member).await;
    let vic = User::add_with(&desk, "vic", Role::Viewer, Some("ann"), Quota::default()).await;
    vic.get("/api/conversations/count").await;
    let change = json!({"disabled": true});
    assert_eq!(root.ask(Method::PATCH, "/api/users/ann", change).await.0, 200);
    let (status, _) = vic.ask(Method::GET, &owners.path(""), Value::Null).await;
    assert_eq!(status, 401);
    for path in ["/sockets/events", "/sockets/session", "/sockets/browser"] {
        let path = format!("{path}/{}", owners.0);
        let with_key = format!("{path}?session_api_key={}", vic.key);
        assert!(desk.connect(&with_key, &[]).await.is_err(), "{path}");
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        socket
            .send(&json!({"type": "auth", "session_api_key": vic.key}))
            .await;
        let closed = socket.message().await.to_string();
        assert_eq!(closed, "Authentication failed", "{path}");
    }
}

#[tokio::test]
async fn the_agents_of_who_is_disabled_stop() {
    let desk = Desk::new().await;
    let root = User::add(&desk, "root", Role::Admin).await;
    for (name, by_route) in [("ann", true), ("bob", false)] {
        let user = User::add(&desk, name, Role::Member).await;
        let step = "[{repeat: 100000, tool_calls: [{name: think, arguments: {thought: 'more {{n}}'}}]}]";
        let mut request = desk.start_request(&desk.script("endless.yaml", step));
        request["workspace"]["working_dir"] = "work".into();
        request["max_iterations"] = 100_000.into();
        request["initial_message"] = json!({"content": [{"type": "text", "text": "go"}]});
        let (status, info) = user.ask(Method::POST, "/api/conversations", request).await;
        assert_eq!(status, 201, "{info}");
        let talk = Talk(info["id"].as_str().unwrap().to_owned());
        let status = async || {
            let id = talk.0.parse().unwrap();
            let record = desk.store().conversation(id).await.unwrap();
            record.unwrap().status.as_str().to_owned()
        };
        while status().await != "running" {
            tokio::task::yield_now().await;
        }
        if by_route {
            let change = json!({"disabled": true});
            let path = format!("/api/users/{name}");
            assert_eq!(root.ask(Method::PATCH, &path, change).await.0, 200);
        } else {
            disable(&desk, name).await; // as the command line does
        }
        let stopped = async {
            while status().await == "running" {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let soon = tokio::time::timeout(Duration::from_secs(20), stopped).await;
        soon.expect("it goes on and on");
        assert_eq!(status().await, "paused");
    }
}

#[tokio::test]
async fn what_was_spent_is_spent_though_its_conversation_is_gone() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add_with_dollar(&desk, "ann").await;
    let script = "[{cost: 2, tool_calls: [{name: finish, arguments: {message: done}}]}]";
    let mut request = desk.start_request(&desk.script("dear.yaml", script));
    request["workspace"]["working_dir"] = "work".into();
    let begin = async || {
        let (_, info) = ann.ask(Method::POST, "/api/conversations", request.clone()).await;
        Talk(info["id"].as_str().unwrap().to_owned())
    };
    let message = json!({"role": "user", "content": [{"type": "text", "text": "go"}], "run": true});
    let talk = begin().await;
    let (status, _) = ann
        .ask(Method::POST, &talk.path("/events"), message.clone())
        .await;
    assert_eq!(status, 200);
    while ann.get(&talk.path("")).await["execution_status"] != "finished" {
        tokio::task::yield_now().await;
    }
    assert_eq!(ann.ask(Method::DELETE, &talk.path(""), Value::Null).await.0, 200);
    let next = begin().await;
    let (status, refusal) = ann.ask(Method::POST, &next.path("/events"), message).await;
    assert_eq!(status, 403, "{refusal}");
}

/// A conversation of a member's, whose agent begins to work.
async fn at_work(ann: &User<'_>, script: &str) -> Talk {
    let mut request = ann.desk.start_request(&ann.desk.script("work.yaml", script));
    request["workspace"]["working_dir"] = "work".into();
    request["initial_message"] = json!({"content": [{"type": "text", "text": "Do it."}]});
    let (status, info) = ann.ask(Method::POST, "/api/conversations", request).await;
    assert_eq!(status, 201, "{info}");
    Talk(info["id"].as_str().unwrap().to_owned())
}

/// Whoever ends idle servers would end somebody's work, or what it came to.
#[tokio::test]
async fn a_server_is_not_idle_while_anybodys_agent_works_nor_as_soon_as_it_is_done() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = at_work(&ann, "- {text: done, delay_ms: 2500}\n").await;
    let status = async || ann.get(&talk.path("")).await["execution_status"].clone();
    let mut longest = 0.0_f64;
    loop {
        let is_over = status().await == "finished";
        let idle = desk.get("/server_info").await["idle_time"].as_f64().unwrap();
        longest = longest.max(idle);
        if is_over {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(longest < 2.0, "{longest}");
}

#[tokio::test]
async fn all_users_agents_rest_before_the_machine_is_put_to_sleep() {
    let desk = Desk::new().await;
    let root = User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let bob = User::add(&desk, "bob", Role::Member).await;
    let talk = at_work(&ann, "- {text: slow, delay_ms: 500}\n- text: never\n").await;
    let rest = "/api/conversations/prepare-for-sandbox-pause";
    assert_eq!(bob.ask(Method::POST, rest, Value::Null).await.0, 204);
    let status = async || ann.get(&talk.path("")).await["execution_status"].clone();
    assert_eq!(status().await, "running", "it is none of his");
    assert_eq!(root.ask(Method::POST, rest, Value::Null).await.0, 204);
    assert_ne!(status().await, "running");
}
