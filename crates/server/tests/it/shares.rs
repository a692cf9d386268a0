//! Links that show one conversation: what they show, what they do not open, and how they end.

use std::time::{Duration, Instant};

use deft_server::{Access, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::{Desk, FINISH, Socket, Talk};

/// How soon what a link has opened is closed after it was taken back.
const SOON: Duration = Duration::from_secs(10);

async fn share(desk: &Desk, talk: &Talk, body: Value) -> (String, String) {
    let made = desk.post(&talk.path("/shares"), body).await;
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("id"), text("token"))
}

async fn look(desk: &Desk, path: &str, token: &str) -> (u16, Value) {
    let request = desk.request(Method::GET, path).header("X-Share-Token", token);
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn follow(desk: &Desk, token: &str) -> Socket {
    let mut socket = desk.connect("/sockets/shared?after_seq=-1", &[]).await.unwrap();
    socket.send(&json!({"type": "auth", "share_token": token})).await;
    socket
}

#[tokio::test]
async fn a_link_shows_what_happened_and_nothing_of_how_the_agent_is_set_up() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let (id, token) = share(&desk, &talk, json!({})).await;
    let (status, info) = look(&desk, "/api/shared", &token).await;
    assert_eq!((status, &info["expires_at"]), (200, &Value::Null));
    let (status, page) = look(&desk, "/api/shared/history", &token).await;
    assert_eq!(status, 200);
    let kinds: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["event"]["kind"].clone())
        .collect();
    for kind in ["MessageEvent", "ActionEvent", "ObservationEvent"] {
        assert!(kinds.contains(&json!(kind)), "{kinds:?}");
    }
    let mut socket = follow(&desk, &token).await;
    let frames = socket.until(|frame| frame["type"] == "transient").await;
    assert_eq!(
        frames.last().unwrap()["event"]["value"]["execution_status"],
        "finished"
    );
    let work = desk.work().display().to_string();
    for told in [page.to_string(), json!(frames).to_string()] {
        for private in ["sk-fake-key", "api_key", &work, "\"tools\":"] {
            assert!(!told.contains(private), "{private} in {told}");
        }
    }
    let listed = desk.get(&talk.path("/shares")).await;
    assert_eq!(listed["shares"][0]["id"], json!(id));
    assert!(!listed.to_string().contains(&token), "it is told once");
    let secret = token.rsplit('.').next().unwrap();
    for file in ["deft.db", "deft.db-wal"] {
        let kept = std::fs::read(desk.root.path().join(file)).unwrap_or_default();
        assert!(
            !kept.windows(secret.len()).any(|part| part == secret.as_bytes()),
            "only a hash is kept"
        );
    }
}

#[tokio::test]
async fn a_link_is_no_key_to_anything_else() {
    let desk = Desk::new().await;
    let [talk, other] = [desk.begin(FINISH).await, desk.begin(FINISH).await];
    let (_, token) = share(&desk, &talk, json!({})).await;
    let (_, others) = share(&desk, &other, json!({})).await;
    let mut tried = 0;
    for (method, path, access) in deft_server::routes() {
        if matches!(
            access,
            Access::Open | Access::SignIn | Access::Socket | Access::Guest
        ) {
            continue;
        }
        let path = path.replace("{conversation_id}", &talk.0);
        let request = desk.request(method.clone(), &format!("{path}?session_api_key={token}"));
        let request = request
            .header("X-Share-Token", &token)
            .header("X-Session-API-Key", &token);
        let answer = request.bearer_auth(&token).json(&json!({})).send().await.unwrap();
        assert_eq!(answer.status(), 401, "{method} {path}");
        tried += 1;
    }
    assert!(tried > 100, "only {tried}");
    for kind in ["events", "session", "executor"] {
        let path = format!("/sockets/{kind}/{}?session_api_key={token}", talk.0);
        assert!(desk.connect(&path, &[]).await.is_err(), "{kind}");
    }
    // No part of one link goes with another.
    let [own, foreign] = [&token, &others].map(|token| token.split('.').collect::<Vec<_>>());
    for forged in [
        format!("{}.{}.{}", foreign[0], foreign[1], own[2]),
        format!("{}.{}.{}", foreign[0], own[1], own[2]),
        format!("{}.{}.", own[0], own[1]),
        format!("{}.{}", own[0], own[1]),
        String::new(),
    ] {
        assert_eq!(
            look(&desk, "/api/shared/history", &forged).await.0,
            401,
            "{forged}"
        );
        let mut socket = follow(&desk, &forged).await;
        assert_eq!(socket.closed().await.0, 4001);
    }
}

#[tokio::test]
async fn a_guest_follows_what_happens_can_say_nothing_and_is_out_when_the_link_is_taken_back() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let (id, token) = share(&desk, &talk, json!({})).await;
    let mut socket = follow(&desk, &token).await;
    socket.until(|frame| frame["type"] == "transient").await;
    socket
        .send(&json!({"role": "user", "content": [{"type": "text", "text": "rm -rf"}], "run": true}))
        .await;
    assert_eq!(
        socket
            .until(|frame| frame["type"] == "error")
            .await
            .last()
            .unwrap()["code"],
        "Forbidden"
    );
    desk.run(&talk).await;
    let frames = socket
        .until(|frame| frame["event"]["value"]["execution_status"] == "finished")
        .await;
    assert!(frames.iter().any(|frame| frame["event"]["kind"] == "ActionEvent"));
    assert!(!json!(desk.events(&talk).await).to_string().contains("rm -rf"));
    let begun = Instant::now();
    let (status, _) = desk
        .ask(Method::DELETE, &talk.path(&format!("/shares/{id}")), None)
        .await;
    assert_eq!(status, 200);
    assert_eq!(look(&desk, "/api/shared", &token).await.0, 401);
    assert_eq!(socket.closed().await.0, 4001);
    assert!(begun.elapsed() < SOON);
    assert_eq!(follow(&desk, &token).await.closed().await.0, 4001);
}

#[tokio::test]
async fn a_link_ends_in_its_time_and_with_its_conversation() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    for wrong in [json!("x"), json!(-5), json!(0), json!(1.5), json!(u64::MAX)] {
        let body = json!({"expires_in": wrong});
        let refused = desk.refusal(Method::POST, &talk.path("/shares"), body).await;
        assert_eq!(refused.0, 422, "it would be a link that never ends: {wrong}");
    }
    let (_, short) = share(&desk, &talk, json!({"expires_in": 1})).await;
    let mut socket = follow(&desk, &short).await;
    assert_eq!(socket.closed().await.0, 4001, "open or not, it ends");
    assert_eq!(look(&desk, "/api/shared", &short).await.0, 401);
    let (_, lasting) = share(&desk, &talk, json!({"expires_in": 3600})).await;
    assert_eq!(look(&desk, "/api/shared", &lasting).await.0, 200);
    let mut socket = follow(&desk, &lasting).await;
    socket.until(|frame| frame["type"] == "transient").await;
    desk.ask(Method::DELETE, &talk.path(""), None).await;
    assert_eq!(socket.closed().await.0, 1000);
    assert_eq!(look(&desk, "/api/shared", &lasting).await.0, 401);
}

#[tokio::test]
async fn a_link_of_a_users_conversation_ends_with_the_user() {
    let desk = Desk::new().await;
    desk.add_user("root", Role::Admin).await;
    let key = desk.add_user("ann", Role::Member).await;
    let ask = async |path: &str, body: Value| {
        let request = desk.request(Method::POST, path).header("X-Session-API-Key", &key);
        request
            .json(&body)
            .send()
            .await
            .unwrap()
            .json::<Value>()
            .await
            .unwrap()
    };
    let model = desk.script("script.yaml", FINISH);
    let mut begin = desk.start_request(&model);
    begin["workspace"]["working_dir"] = "work".into();
    let talk = Talk(
        ask("/api/conversations", begin).await["id"]
            .as_str()
            .unwrap()
            .to_owned(),
    );
    let token = ask(&talk.path("/shares"), json!({})).await["token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(look(&desk, "/api/shared", &token).await.0, 200);
    desk.accounts()
        .change("ann", |ann| ann.disabled = true)
        .await
        .unwrap();
    let ended = async {
        while look(&desk, "/api/shared", &token).await.0 != 401 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, ended).await.unwrap();
}
