//! Users and keys by HTTP: for admins alone.

use deft_server::{NewAccount, Quota, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::Desk;

async fn ask(desk: &Desk, key: &str, method: Method, path: &str, body: Value) -> (u16, Value) {
    let request = desk.request(method, path).header("X-Session-API-Key", key);
    let answer = request.json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

/// Adds a user by HTTP; gives back a key.
async fn added(desk: &Desk, name: &str, role: &str) -> (String, String) {
    let user = desk
        .post(
            "/api/users",
            json!({"name": name, "role": role, "folders": ["/srv/../tmp"]}),
        )
        .await;
    assert_eq!(
        (&user["role"], &user["folders"]),
        (&json!(role), &json!(["/tmp"])),
        "{user}"
    );
    let key = desk
        .post("/api/keys", json!({"user": name, "label": "laptop", "days": 3}))
        .await;
    let text = |field: &str| key[field].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

#[tokio::test]
async fn users_and_keys_are_added_listed_changed_and_taken_away() {
    let desk = Desk::new().await;
    let (status, reason) = desk
        .refusal(
            Method::POST,
            "/api/users",
            json!({"name": "ann", "role": "member"}),
        )
        .await;
    assert!(
        status == 422 && reason.to_string().contains("first user"),
        "{reason}"
    );
    added(&desk, "me", "admin").await;
    let (id, key) = added(&desk, "ann", "member").await;
    let count = "/api/conversations/count";
    assert_eq!(ask(&desk, &key, Method::GET, count, json!({})).await.0, 200);

    let users = desk.get("/api/users").await;
    assert_eq!(users["users"].as_array().unwrap().len(), 2, "{users}");
    let keys = desk.get("/api/keys").await;
    let listed = keys["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["id"] == id.as_str());
    let listed = listed.unwrap();
    assert_eq!(
        (&listed["user"], &listed["label"]),
        (&json!("ann"), &json!("laptop"))
    );
    assert!(
        listed.get("hash").is_none() && !keys.to_string().contains(&key),
        "{keys}"
    );

    let ann = "/api/users/ann";
    let (_, changed) = desk
        .ask(Method::PATCH, ann, Some(json!({"quota": {"conversations": 0}})))
        .await;
    assert_eq!(changed["quota"]["conversations"], 0, "{changed}");
    let (status, _) = ask(
        &desk,
        &key,
        Method::POST,
        "/api/conversations",
        desk.start_request("demo"),
    )
    .await;
    assert!(status == 403 || status == 429, "{status}");
    desk.ask(Method::PATCH, ann, Some(json!({"disabled": true})))
        .await;
    assert_eq!(ask(&desk, &key, Method::GET, count, json!({})).await.0, 401);
    desk.ask(Method::PATCH, ann, Some(json!({"disabled": false})))
        .await;
    assert_eq!(ask(&desk, &key, Method::GET, count, json!({})).await.0, 200);
    assert_eq!(
        desk.ask(Method::DELETE, &format!("/api/keys/{id}"), None).await.0,
        200
    );
    assert_eq!(ask(&desk, &key, Method::GET, count, json!({})).await.0, 401);

    let audit = desk.get("/api/audit?days=1").await.to_string();
    assert!(
        audit.contains("PATCH /api/users/ann") && !audit.contains(&key),
        "{audit}"
    );
    for (method, path, body, expected) in [
        (Method::PATCH, "/api/users/nobody", json!({}), 404),
        (Method::PATCH, "/api/users/me", json!({"role": "viewer"}), 422),
        (Method::PATCH, ann, json!({"rank": "king"}), 422),
        (
            Method::POST,
            "/api/users",
            json!({"name": "ann", "role": "member"}),
            409,
        ),
        (Method::DELETE, "/api/keys/none", json!({}), 404),
    ] {
        assert_eq!(desk.refusal(method, path, body).await.0, expected, "{path}");
    }
}

#[tokio::test]
async fn nobody_but_an_admin_has_a_way_to_users() {
    let desk = Desk::new().await;
    added(&desk, "me", "admin").await;
    let viewer = NewAccount {
        name: "vic".to_owned(),
        role: Role::Viewer,
        email: None,
        sees: Some("me".to_owned()),
        folders: Vec::new(),
        quota: Quota::default(),
    };
    desk.accounts().add(viewer).await.unwrap();
    let (_, looks) = desk.accounts().create_key("vic", "", None, None).await.unwrap();
    let (_, ann) = added(&desk, "ann", "member").await;
    for path in ["/api/users", "/api/keys", "/api/audit"] {
        let refused = ask(&desk, &ann, Method::GET, path, json!({})).await;
        assert_eq!(refused.0, 404, "{path}");
        let refused = ask(&desk, looks.expose(), Method::GET, path, json!({})).await;
        assert_eq!(refused.0, 403, "{path}: a viewer of an admin is none");
    }
    let (status, _) = ask(&desk, &ann, Method::POST, "/api/keys", json!({"user": "me"})).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn who_is_no_admin_any_more_may_work_in_their_own_folders_alone() {
    let desk = Desk::new().await;
    added(&desk, "me", "admin").await;
    let (_, key) = added(&desk, "ann", "admin").await;
    let mut request = desk.start_request("demo");
    request["workspace"]["working_dir"] = json!(desk.root.path().join("anywhere"));
    let begin = || ask(&desk, &key, Method::POST, "/api/conversations", request.clone());
    assert_eq!(begin().await.0, 201);
    let (status, _) = desk
        .ask(
            Method::PATCH,
            "/api/users/ann",
            Some(json!({"role": "member", "folders": []})),
        )
        .await;
    assert_eq!(status, 200);
    let (status, refused) = begin().await;
    assert!((400..500).contains(&status), "{status} {refused}");
}

#[tokio::test]
async fn of_those_who_are_added_first_at_once_one_owns_the_store() {
    let desk = Desk::new().await;
    let add = |number: usize| {
        let accounts = desk.accounts();
        let admin = NewAccount {
            name: format!("admin{number}"),
            role: Role::Admin,
            email: None,
            sees: None,
            folders: Vec::new(),
            quota: Quota::default(),
        };
        async move { accounts.add(admin).await }
    };
    futures::future::join_all((0..8).map(add)).await;
    let users = desk.accounts().users().await.unwrap();
    let owners = users.iter().filter(|user| user.owns_the_store).count();
    assert_eq!(owners, 1, "{users:?}");
}
