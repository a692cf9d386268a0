//! Several users on one server: each has what is theirs, and nothing else exists for them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use deft_server::{Access, KeyScope, NewAccount, Quota, Role};
use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::desk::{Desk, FINISH, Talk};
use crate::user::User;

/// How soon what a key has opened is closed after it was revoked.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_member_is_shown_the_directories_that_are_theirs_and_not_the_servers() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let shown = ann.get("/api/file/home").await;
    let own = json!([{"label": shown["home"], "path": shown["home"]}]);
    assert!(shown["home"].as_str().unwrap().ends_with("/homes/ann"), "{shown}");
    assert_eq!(shown["locations"], own);
}

#[tokio::test]
async fn what_was_there_before_belongs_to_the_first_admin_and_to_nobody_else() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    desk.ask(
        Method::PUT,
        "/api/settings/secrets",
        Some(json!({"name": "TOK", "value": "v1"})),
    )
    .await;
    let ann = NewAccount {
        name: "ann".to_owned(),
        role: Role::Member,
        email: None,
        sees: None,
        folders: Vec::new(),
        quota: Quota::default(),
    };
    let refused = desk.accounts().add(ann).await.unwrap_err();
    assert!(refused.to_string().contains("admin"));
    let admin = User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    assert_eq!(admin.get("/api/conversations/count").await, 1);
    assert_eq!(admin.get(&talk.path("")).await["execution_status"], "finished");
    assert_eq!(admin.get("/api/settings/secrets/TOK").await, "v1");
    // The keys that the server was started with stay good, for the same.
    assert_eq!(desk.get("/api/conversations/count").await, 1);
    assert_eq!(ann.get("/api/conversations/count").await, 0);
    assert_eq!(ann.get("/api/settings/secrets").await, json!({"secrets": []}));
    let anns = ann.talk().await;
    assert_eq!(admin.ask(Method::GET, &anns.path(""), Value::Null).await.0, 404);
    assert_eq!(desk.ask(Method::GET, &anns.path(""), None).await.0, 404);
    assert_eq!(
        desk.get("/api/conversations/search").await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn on_every_route_another_users_conversation_is_as_one_that_does_not_exist() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let bob = User::add(&desk, "bob", Role::Member).await;
    let talk = ann.talk().await;
    let before = ann.get(&talk.path("")).await;
    let body = json!({"role": "user", "content": [], "run": true, "accept": true, "policy": {"kind": "NeverConfirm"},
        "secrets": {"A": "b"}, "question": "x", "task": "x", "isolation": "shared", "objective": "x", "title": "x",
        "llm": {"model": "demo"}, "profile_name": "x", "model": "x", "command": "true", "security_analyzer": null});
    let nobodys = Uuid::new_v4().to_string();
    let (mut tried, mut refused) = (0, 0);
    for (method, path, access) in deft_server::routes() {
        if !path.contains("{conversation_id}") || access == Access::Socket {
            continue;
        }
        let answer = async |id: &str| {
            let path = path
                .replace("{conversation_id}", id)
                .replace("{event_id}", "e1")
                .replace("{command_id}", "c1");
            let path = path.replace("{*file_path}", "a.txt");
            let query = "?path=/x&ids=e1";
            let (status, body) = bob
                .ask(method.clone(), &format!("{path}{query}"), body.clone())
                .await;
            // Only the id may differ, and that of a failure in the log.
            let text = body
                .to_string()
                .replace(id, "ID")
                .replace(&id.replace('-', ""), "ID");
            (status, text)
        };
        let told = answer(&talk.0).await;
        refused += usize::from((400..500).contains(&told.0));
        assert_eq!(told, answer(&nobodys).await, "{method} {path}");
        tried += 1;
    }
    // Some lists about one that does not exist are empty.
    assert!(
        tried > 30 && refused * 10 > tried * 8,
        "{refused} of {tried} routes refuse it"
    );
    for path in ["/sockets/events", "/sockets/session"] {
        let path = format!("{path}/{}", talk.0);
        let mut socket = desk
            .connect(&format!("{path}?session_api_key={}", bob.key), &[])
            .await
            .unwrap();
        assert_eq!(socket.closed().await.0, 4004);
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        socket
            .send(&json!({"type": "auth", "session_api_key": bob.key}))
            .await;
        assert_eq!(socket.closed().await.0, 4004);
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        socket
            .send(&json!({"type": "auth", "session_api_key": ann.key}))
            .await;
        socket.next().await;
    }
    assert_eq!(bob.get("/api/conversations/search").await["items"], json!([]));
    assert_eq!(
        bob.get(&format!("/api/conversations?ids={}", talk.0)).await,
        json!([null])
    );
    let mut same_id = desk.start_request("demo");
    same_id["conversation_id"] = talk.0.as_str().into();
    same_id["workspace"]["working_dir"] = "work".into();
    assert_eq!(bob.ask(Method::POST, "/api/conversations", same_id).await.0, 409);
    let mut child = desk.start_request("demo");
    child["parent_conversation_id"] = talk.0.as_str().into();
    child["workspace"]["working_dir"] = "work".into();
    assert_eq!(bob.ask(Method::POST, "/api/conversations", child).await.0, 422);
    assert_eq!(ann.get(&talk.path("")).await, before, "nothing has changed");
}

#[tokio::test]
async fn a_key_does_what_it_is_good_for_and_a_viewer_only_looks() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = ann.talk().await;
    ann.ask(
        Method::PUT,
        "/api/settings/secrets",
        json!({"name": "TOK", "value": "v1"}),
    )
    .await;
    let viewer = User::add_with(&desk, "vic", Role::Viewer, Some("ann"), Quota::default()).await;
    let reader = User::with_key(&desk, "ann", Some(BTreeSet::from([KeyScope::Read]))).await;
    for looker in [&viewer, &reader] {
        assert_eq!(looker.get(&talk.path("")).await["id"], talk.0.as_str());
        let message = json!({"role": "user", "content": [], "run": false});
        assert_eq!(
            looker
                .ask(Method::POST, &talk.path("/events"), message.clone())
                .await
                .0,
            403
        );
        assert_eq!(
            looker.ask(Method::DELETE, &talk.path(""), Value::Null).await.0,
            403
        );
        assert_eq!(looker.begin("work").await.0, 403);
        assert_eq!(
            looker
                .ask(Method::GET, "/api/settings/secrets/TOK", Value::Null)
                .await
                .0,
            403
        );
        assert_eq!(
            looker.ask(Method::GET, "/api/file/home", Value::Null).await.0,
            403
        );
        let path = format!("/sockets/events/{}?session_api_key={}", talk.0, looker.key);
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        socket.send(&message).await;
        let complaint = socket.until(|frame| frame["kind"] == "ServerErrorEvent").await;
        assert_eq!(complaint.last().unwrap()["code"], "Forbidden");
        let path = format!("/sockets/console/{}?session_api_key={}", talk.0, looker.key);
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        assert_eq!(socket.closed().await.0, 4001, "a terminal is more than a look");
    }
    let writer = User::with_key(
        &desk,
        "ann",
        Some(BTreeSet::from([KeyScope::Read, KeyScope::Write])),
    )
    .await;
    assert_eq!(
        writer.ask(Method::POST, &talk.path("/pause"), json!({})).await.0,
        200
    );
    assert_eq!(
        writer
            .ask(Method::GET, "/api/settings/secrets/TOK", Value::Null)
            .await
            .0,
        403
    );
    assert_eq!(ann.get("/api/settings/secrets/TOK").await, "v1");
    let write = Some(BTreeSet::from([KeyScope::Write]));
    let beyond = desk
        .accounts()
        .create_key("vic", "", write, None)
        .await
        .unwrap_err();
    assert!(beyond.to_string().contains("viewer"));
}

#[tokio::test]
async fn what_a_key_has_opened_is_closed_soon_after_it_is_revoked_or_expires() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let talk = ann.talk().await;
    let begin = async |key: &str| {
        let path = format!("/sockets/session/{}?session_api_key={key}", talk.0);
        let mut socket = desk.connect(&path, &[]).await.unwrap();
        socket.next().await;
        let stream = desk
            .request(Method::GET, &talk.path("/stream"))
            .header("X-Session-API-Key", key);
        (socket, stream.send().await.unwrap().bytes_stream())
    };
    let revoke = async || {
        let keys = desk.accounts().keys().await.unwrap();
        let newest = keys.iter().max_by_key(|key| key.created_at).unwrap();
        desk.accounts().revoke(&newest.id).await.unwrap();
    };
    let disable = async || {
        desk.accounts()
            .change("ann", |account| account.disabled = true)
            .await
            .unwrap();
    };
    let second = User::with_key(&desk, "ann", None).await;
    let (mut socket, mut stream) = begin(&second.key).await;
    revoke().await;
    let revoked = Instant::now();
    assert_eq!(socket.closed().await.0, 4001);
    while stream.next().await.is_some() {}
    assert!(revoked.elapsed() < SOON, "{:?}", revoked.elapsed());
    assert_eq!(
        second
            .ask(Method::GET, "/api/conversations/count", Value::Null)
            .await
            .0,
        401
    );
    let (mut socket, _stream) = begin(&ann.key).await; // another key of the same user is still good
    disable().await;
    assert_eq!(socket.closed().await.0, 4001);
    assert_eq!(
        ann.ask(Method::GET, "/api/conversations/count", Value::Null)
            .await
            .0,
        401
    );
    let expired = desk
        .accounts()
        .create_key("root", "", None, Some(Duration::ZERO))
        .await
        .unwrap();
    let key = expired.1.expose().clone();
    let late = User { desk: &desk, key };
    assert_eq!(
        late.ask(Method::GET, "/api/conversations/count", Value::Null)
            .await
            .0,
        401
    );
}

#[tokio::test]
async fn quotas_are_asked_before_anything_is_used() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let quota = Quota {
        conversations: Some(2),
        workspaces: Some(1),
        spend: None,
    };
    let ann = User::add_with(&desk, "ann", Role::Member, None, quota).await;
    let talk = ann.talk().await;
    let refused = |(status, body): (u16, Value), what: &str| {
        assert_eq!(status, 403, "{body}");
        assert!(body["detail"].as_str().unwrap().contains(what), "{body}");
    };
    refused(ann.begin("elsewhere").await, "workspaces");
    ann.talk().await;
    refused(ann.begin("work").await, "conversations");
    let copy = ann.ask(Method::POST, &talk.path("/fork"), json!({})).await;
    refused(copy, "conversations");
    ann.ask(Method::DELETE, &talk.path(""), Value::Null).await;
    ann.talk().await;
}

#[tokio::test]
async fn quotas_hold_for_what_is_begun_and_spent_at_the_same_time() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let quota = Quota {
        conversations: Some(3),
        spend: "1".parse().ok(),
        ..Quota::default()
    };
    let ann = User::add_with(&desk, "ann", Role::Member, None, quota).await;
    let step = "[{repeat: 20, cost: 0.2, tool_calls: [{name: think, arguments: {thought: 'more {{n}}'}}]}]";
    let mut request = desk.start_request(&desk.script("dear.yaml", step));
    request["workspace"]["working_dir"] = "work".into();
    request["initial_message"] = json!({"content": [{"type": "text", "text": "go"}]});
    let begin = |_| ann.ask(Method::POST, "/api/conversations", request.clone());
    let answers = futures::future::join_all((0..8).map(begin)).await;
    let count = answers.iter().filter(|(status, _)| *status == 201).count();
    assert_eq!(count, 3, "{answers:?}");
    let spent = async || {
        let found = ann.get("/api/conversations/search").await;
        let all = found["items"].as_array().unwrap().clone();
        let cost = |info: &Value| info["stats"]["usage_to_metrics"]["agent"]["accumulated_cost"].as_f64();
        let runs = all.iter().any(|info| info["execution_status"] == "running");
        (all.iter().filter_map(cost).sum::<f64>(), runs)
    };
    let since = Instant::now();
    while spent().await.1 {
        assert!(since.elapsed() < Duration::from_secs(60), "it goes on and on");
        tokio::task::yield_now().await;
    }
    let (spent, _) = spent().await;
    // Calls that were under way when the last of it was spent end.
    assert!((1.0..1.5).contains(&spent), "{spent}");
}

#[tokio::test]
async fn a_run_ends_when_what_a_user_may_spend_is_spent_and_none_begins_then() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add_with_dollar(&desk, "ann").await;
    let script = "[{repeat: 20, cost: 0.4, tool_calls: [{name: think, arguments: {thought: 'more {{n}}'}}]}]";
    let mut request = desk.start_request(&desk.script("dear.yaml", script));
    request["workspace"]["working_dir"] = "work".into();
    let (_, info) = ann.ask(Method::POST, "/api/conversations", request).await;
    let talk = Talk(info["id"].as_str().unwrap().to_owned());
    let message = json!({"role": "user", "content": [{"type": "text", "text": "go"}], "run": true});
    assert_eq!(
        ann.ask(Method::POST, &talk.path("/events"), message.clone())
            .await
            .0,
        200
    );
    let ended = async {
        while ann.get(&talk.path("")).await["execution_status"] == "running" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .expect("it goes on and on");
    let info = ann.get(&talk.path("")).await;
    let spent = info["stats"]["usage_to_metrics"]["agent"]["accumulated_cost"]
        .as_f64()
        .unwrap();
    assert!((1.0..1.5).contains(&spent), "{spent}");
    for (path, body) in [("/run", json!({})), ("/events", message)] {
        let (status, refusal) = ann.ask(Method::POST, &talk.path(path), body).await;
        assert_eq!(status, 403);
        assert!(
            refusal["detail"].as_str().unwrap().contains("spending"),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn members_work_in_folders_of_their_own_and_have_settings_of_their_own() {
    let desk = Desk::new().await;
    User::add(&desk, "root", Role::Admin).await;
    let ann = User::add(&desk, "ann", Role::Member).await;
    let bob = User::add(&desk, "bob", Role::Member).await;
    let home = ann.get("/api/app").await["folder"].as_str().unwrap().to_owned();
    assert!(home.ends_with("homes/ann"), "{home}");
    let info = ann.begin("project").await.1;
    assert_eq!(info["workspace"]["working_dir"], "project");
    assert!(std::path::Path::new(&home).join("project").is_dir());
    std::os::unix::fs::symlink("/", std::path::Path::new(&home).join("way-out")).unwrap();
    for elsewhere in ["/tmp", "..", "../bob", "way-out/tmp", "new/../../../x"] {
        assert_eq!(ann.begin(elsewhere).await.0, 403, "{elsewhere}");
    }
    let upload = format!("/api/file/download?path={home}/secret.txt");
    std::fs::write(std::path::Path::new(&home).join("secret.txt"), "mine").unwrap();
    assert_eq!(ann.get(&upload).await, "mine");
    assert_eq!(bob.ask(Method::GET, &upload, Value::Null).await.0, 403);
    let remember = json!({"path": home, "name": "anns"});
    bob.ask(Method::POST, "/api/workspaces", remember).await;
    assert_eq!(
        bob.ask(Method::GET, &upload, Value::Null).await.0,
        403,
        "to remember it opens nothing"
    );
    ann.ask(
        Method::POST,
        "/api/profiles/p1",
        json!({"llm": {"model": "demo"}}),
    )
    .await;
    assert_eq!(ann.get("/v1/models").await["data"].as_array().unwrap().len(), 1);
    assert_eq!(bob.get("/v1/models").await["data"], json!([]));
}
