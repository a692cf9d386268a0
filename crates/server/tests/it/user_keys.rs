//! What a key opens and for how long, and what the audit log tells of those who show one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use deft_server::{KeyScope, Quota, Role};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::desk::{Desk, KEY};
use crate::user::User;

/// Far longer than the server takes to hear of something, and far shorter than a socket lives.
const SOON: Duration = Duration::from_secs(6);

/// The cookie for files of workspaces that a key gets.
async fn cookie(user: &User<'_>) -> String {
    let request = user.desk.request(Method::POST, "/api/auth/workspace-session");
    let answer = request.header("X-Session-API-Key", &user.key).send().await;
    let answer = answer.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// Revokes the newest key, and waits until the server knows it.
async fn revoke_newest(desk: &Desk) {
    let keys = desk.accounts().keys().await.unwrap();
    let newest = keys.iter().max_by_key(|key| key.created_at).unwrap();
    let (status, _) = desk
        .ask(Method::DELETE, &format!("/api/keys/{}", newest.id), None)
        .await;
    assert_eq!(status, 200);
}

/// What somebody sends who shows a key in the first frame.
fn shown(key: &str) -> Value {
    json!({"type": "auth", "session_api_key": key})
}

#[tokio::test]
async fn the_cookie_for_files_opens_those_of_its_user() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let bob = User::add(&desk, "bob", Role::Member).await;
    let talk = ann.talk().await;
    let home = ann.get("/api/app").await["folder"].as_str().unwrap().to_owned();
    std::fs::write(std::path::Path::new(&home).join("work/a.txt"), "anns").unwrap();
    let fetch = async |cookie: &str, origin: Option<&str>| {
        let request = desk.request(Method::GET, &talk.path("/workspace/a.txt"));
        let request = request.header("Cookie", cookie);
        let request = origin
            .into_iter()
            .fold(request, |request, origin| request.header("Origin", origin));
        request.send().await.unwrap().status().as_u16()
    };
    let (anns, bobs) = (cookie(&ann).await, cookie(&bob).await);
    assert_eq!(fetch(&anns, None).await, 200);
    assert_eq!(fetch(&bobs, None).await, 404);
    assert_eq!(fetch(&anns.replace('.', "0."), None).await, 401);
    // Pages of another port of this machine have the same cookies.
    let own = format!("http://{}", desk.address);
    assert_eq!(fetch(&anns, Some(&own)).await, 200);
    assert_eq!(fetch(&anns, Some("http://localhost:9999")).await, 401);
    // It ends with its key, and with no other.
    let second = User::with_key(&desk, "ann", None).await;
    let seconds = cookie(&second).await;
    assert_eq!(fetch(&seconds, None).await, 200);
    revoke_newest(&desk).await;
    assert_eq!(second.ask(Method::GET, "/api/app", Value::Null).await.0, 401);
    assert_eq!(fetch(&seconds, None).await, 401);
    assert_eq!(fetch(&anns, None).await, 200);
}

#[tokio::test]
async fn what_a_key_has_opened_is_closed_when_it_expires() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = ann.talk().await;
    let lifetime = Some(Duration::from_secs(1));
    let (_, key) = desk
        .accounts()
        .create_key("ann", "", None, lifetime)
        .await
        .unwrap();
    let path = format!("/sockets/session/{}?session_api_key={}", talk.0, key.expose());
    let mut socket = desk.connect(&path, &[]).await.unwrap();
    let opened = Instant::now();
    assert_eq!(socket.closed().await.0, 4001);
    assert!(opened.elapsed() < SOON, "{:?}", opened.elapsed());
}

#[tokio::test]
async fn a_key_that_is_not_good_for_looking_opens_no_socket() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = ann.talk().await;
    let writer = User::with_key(&desk, "ann", Some(BTreeSet::from([KeyScope::Write]))).await;
    for path in ["/sockets/events", "/sockets/session", "/sockets/console"] {
        let path = format!("{path}/{}", talk.0);
        let with_key = format!("{path}?session_api_key={}", writer.key);
        assert!(desk.connect(&with_key, &[]).await.is_err(), "{path}");
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        socket.send(&shown(&writer.key)).await;
        assert_eq!(socket.closed().await.0, 4001, "{path}");
    }
}

#[tokio::test]
async fn executors_are_opened_to_admins_alone() {
    let desk = Desk::new().await;
    let root = User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let vic = User::add_with(&desk, "vic", Role::Viewer, Some("root"), Quota::default()).await;
    let talk = ann.talk().await;
    // That of another user's conversation has their secrets: it is no admin's either.
    for wish in ["", "&find=true", "&forget=true"] {
        let path = format!("/sockets/executor/{}?session_api_key={}{wish}", talk.0, root.key);
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        assert_eq!(socket.closed().await.0, 4004, "{wish}");
    }
    let elsewhere = "/sockets/executor/86f28914-2e9c-4bd3-8426-6344917d2bdf";
    let mut socket = desk
        .connect(&format!("{elsewhere}?session_api_key={}", root.key), &[])
        .await
        .unwrap();
    assert!(matches!(socket.message().await, Message::Binary(_)));
    for user in [&ann, &vic] {
        let path = format!("/sockets/executor/{}", talk.0);
        let mut socket = desk
            .connect(&format!("{path}?session_api_key={}", user.key), &[])
            .await
            .unwrap();
        assert_eq!(socket.closed().await.0, 4001);
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        socket.send(&shown(&user.key)).await;
        assert_eq!(socket.closed().await.0, 4001);
    }
}

#[tokio::test]
async fn who_changed_something_or_was_refused_is_in_the_audit_log() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = ann.talk().await;
    ann.get(&talk.path("")).await;
    let wrong = desk
        .request(Method::GET, "/api/conversations/count")
        .header("X-Session-API-Key", "wrong");
    assert_eq!(wrong.send().await.unwrap().status(), 401);
    desk.post(
        &format!("/api/conversations?session_api_key={KEY}"),
        desk.start_request("demo"),
    )
    .await;
    let entries = desk.audit().last_days(1).await.unwrap();
    let lines: Vec<_> = entries
        .iter()
        .map(|entry| (entry.user.as_deref(), entry.what.as_str(), entry.status))
        .collect();
    assert_eq!(
        lines,
        [
            (Some("ann"), "POST /api/conversations", 201),
            (None, "GET /api/conversations/count", 401),
            (None, "POST /api/conversations", 201),
        ]
    );
    assert!(
        entries
            .iter()
            .all(|entry| entry.from.is_some_and(|from| from.is_loopback()))
    );
}

#[tokio::test]
async fn sockets_are_in_the_audit_log_too() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = ann.talk().await;
    let reader = User::with_key(&desk, "ann", Some(BTreeSet::from([KeyScope::Read]))).await;
    let path = format!("/sockets/events/{}", talk.0);
    let with = |key: &str| format!("{path}?session_api_key={key}");
    assert!(desk.connect(&with("wrong"), &[]).await.is_err());
    let mut socket = desk.connect(&path, &[]).await.unwrap();
    socket.send(&shown("wrong")).await;
    assert_eq!(socket.closed().await.0, 4001);
    for (key, in_frame) in [(&ann.key, false), (&ann.key, true), (&reader.key, false)] {
        let path = if in_frame { path.clone() } else { with(key) };
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        if in_frame {
            socket.send(&shown(key)).await;
        }
        socket.next().await;
    }
    let entries = desk.audit().last_days(1).await.unwrap();
    let what = format!("GET {path}");
    let told = entries.iter().filter(|entry| entry.what == what);
    let told: Vec<_> = told.map(|entry| (entry.user.as_deref(), entry.status)).collect();
    assert_eq!(
        told,
        [(None, 403), (None, 401), (Some("ann"), 101), (Some("ann"), 101)]
    );
}

#[tokio::test]
async fn a_telephone_is_let_in_with_less_than_ones_own_key_and_only_oneself_shuts_it_out() {
    let desk = Desk::new().await;
    let talk = desk.begin(crate::desk::FINISH).await;
    let paired = desk
        .post("/api/devices", json!({"scopes": ["read", "write"], "days": 7}))
        .await;
    let telephone = User {
        desk: &desk,
        key: paired["key"].as_str().unwrap().to_owned(),
    };
    assert_eq!(telephone.get(&talk.path("")).await["id"], talk.0.as_str());
    let (status, _) = telephone
        .ask(Method::POST, &talk.path("/pause"), Value::Null)
        .await;
    assert_eq!(status, 200, "it may steer");
    for (method, path) in [(Method::GET, "/api/devices"), (Method::POST, "/api/devices")] {
        let (status, _) = telephone.ask(method, path, Value::Null).await;
        assert_eq!(status, 403, "it may let nobody in");
    }
    let listed = desk.get("/api/devices").await;
    assert_eq!(listed["devices"][0]["id"], paired["id"]);
    assert_eq!(listed["devices"][0]["key"], Value::Null, "it is told once");

    let ann = User::add(&desk, "ann", Role::Member).await;
    assert_eq!(ann.get("/api/devices").await, json!({"devices": []}));
    let place = format!("/api/devices/{}", paired["id"].as_str().unwrap());
    let (status, _) = ann.ask(Method::DELETE, &place, Value::Null).await;
    assert_eq!(status, 404, "it is none of hers");
    let (status, _) = desk.ask(Method::DELETE, &place, None).await;
    assert_eq!(status, 200);
    let (status, _) = telephone.ask(Method::GET, &talk.path(""), Value::Null).await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn a_device_is_let_in_for_no_more_than_ones_own_key_and_not_for_longer() {
    let desk = Desk::new().await;
    User::add(&desk, "ann", Role::Admin).await;
    for (scopes, days, device, allowed) in [
        (
            vec![KeyScope::Secrets],
            30,
            json!({"scopes": ["write"], "days": 7}),
            422,
        ),
        (
            vec![KeyScope::Secrets, KeyScope::Read],
            1,
            json!({"scopes": ["read"], "days": 7}),
            422,
        ),
        (
            vec![KeyScope::Secrets, KeyScope::Read],
            30,
            json!({"scopes": ["read"], "days": 7}),
            200,
        ),
    ] {
        let lifetime = Some(Duration::from_hours(24 * days));
        let scopes = Some(scopes.into_iter().collect());
        let made = desk.accounts().create_key("ann", "", scopes, lifetime).await;
        let ann = User {
            desk: &desk,
            key: made.unwrap().1.expose().clone(),
        };
        let (status, answer) = ann.ask(Method::POST, "/api/devices", device).await;
        assert_eq!(status, allowed, "{answer}");
    }
}
