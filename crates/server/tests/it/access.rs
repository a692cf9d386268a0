//! Nobody gets in without a key, from a foreign page, or under a foreign name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use deft_server::{Access, NewAccount, Quota, Role};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::desk::{Desk, FINISH, KEY};

/// A path of the table with the conversation in it.
fn filled(path: &str, conversation: &str) -> String {
    let path = path.replace("{conversation_id}", conversation);
    // Whatever else a path names: nobody gets to see whether it is there.
    path.split('/')
        .map(|part| if part.starts_with('{') { "e1" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

/// A key whose time is over, and one that was taken back.
async fn former_keys(desk: &Desk) -> [String; 2] {
    let accounts = desk.accounts();
    let new = NewAccount {
        name: "root".to_owned(),
        role: Role::Admin,
        email: None,
        sees: None,
        folders: Vec::new(),
        quota: Quota::default(),
    };
    accounts.add(new).await.unwrap();
    let (_, expired) = accounts
        .create_key("root", "", None, Some(Duration::ZERO))
        .await
        .unwrap();
    let (kept, revoked) = accounts.create_key("root", "", None, None).await.unwrap();
    accounts.revoke(&kept.id).await.unwrap();
    [expired, revoked].map(|key| key.expose().clone())
}

#[tokio::test]
async fn every_route_of_the_table_refuses_who_has_no_key_or_one_that_is_wrong_or_not_good_any_more() {
    let desk = Desk::new().await;
    let former = former_keys(&desk).await;
    let talk = desk.begin(FINISH).await;
    let before = desk.get(&talk.path("")).await;
    let routes = deft_server::routes();
    assert!(routes.len() > 20, "the table is empty");
    for (method, path, access) in routes {
        let path = filled(path, &talk.0);
        let tries: [&[(&str, &str)]; 5] = [
            &[],
            &[("X-Session-API-Key", "wrong")],
            &[("X-Session-API-Key", "")],
            &[("Authorization", "Bearer k-one")],
            &[("Cookie", "oh_workspace_session_key=k-one")],
        ];
        for headers in tries {
            let mut request = desk.request(method.clone(), &path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let answer = request.send().await.unwrap();
            let (status, body) = (answer.status().as_u16(), answer.text().await.unwrap());
            match access {
                Access::Open if path == "/api/init" => assert_eq!(status, 404, "nothing is put off here"),
                Access::Open => assert_eq!(status, 200, "{method} {path}"),
                Access::SignIn => assert_eq!(status, 404, "{method} {path}: no login is under way"),
                Access::Key => {
                    assert_eq!(status, 401, "{method} {path} {headers:?}");
                    assert_eq!(body, r#"{"detail":"Unauthorized"}"#, "{method} {path}");
                }
                Access::Bearer if headers.first().is_some_and(|(name, _)| *name == "Authorization") => {
                    assert_ne!(status, 401, "{method} {path}: a token is a key here");
                }
                Access::Bearer | Access::Workspace | Access::Guest => {
                    assert_eq!(status, 401, "{method} {path} {headers:?}");
                }
                // No upgrade was asked for; with one, see the tests of sockets.
                Access::Socket => assert!((400..500).contains(&status), "{method} {path}: {status}"),
            }
        }
        let with_key_in_query = desk
            .request(method.clone(), &format!("{path}?session_api_key={KEY}"))
            .send()
            .await
            .unwrap();
        if access == Access::Key {
            assert_eq!(with_key_in_query.status(), 401, "{method} {path}");
        }
    }
    // All at once: a key that is not known is looked for in the store, which is not done at any rate.
    let with_former = deft_server::routes()
        .into_iter()
        .map(async |(method, path, access)| {
            for key in &former {
                let request = desk.request(method.clone(), &filled(path, &talk.0));
                let answer = request.header("X-Session-API-Key", key).send().await.unwrap();
                let needs_key = !matches!(access, Access::Open | Access::SignIn | Access::Socket);
                assert!(!needs_key || answer.status() == 401, "{method} {path}");
            }
        });
    futures::future::join_all(with_former).await;
    assert_eq!(desk.get(&talk.path("")).await, before, "nothing has changed");
    let (status, body) = {
        let answer = desk
            .request(Method::GET, "/api/does-not-exist")
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    assert_eq!((status, body), (404, json!({"detail": "Not Found"})));
}

#[tokio::test]
async fn wrong_keys_are_not_listened_to_for_long() {
    let desk = Desk::with(|config| config.max_wrong_keys = 3).await;
    let guess = async |key: &str| {
        let request = desk.request(Method::GET, "/api/conversations/count");
        let answer = request.header("X-Session-API-Key", key).send().await.unwrap();
        let wait = answer.headers().get("retry-after");
        (
            answer.status().as_u16(),
            wait.map(|wait| wait.to_str().unwrap().to_owned()),
        )
    };
    for _ in 0..3 {
        assert_eq!(guess("wrong").await, (401, None));
    }
    let not_now = (429, Some("60".to_owned()));
    assert_eq!(guess("wrong").await, not_now);
    assert_eq!(guess(KEY).await, not_now, "even a right guess tells nothing now");
}

/// Sends bytes and reads the status.
async fn raw(desk: &Desk, request: &str) -> u16 {
    let mut stream = TcpStream::connect(desk.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    let reading = stream.read_exact(&mut answer);
    tokio::time::timeout(Duration::from_secs(30), reading)
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(answer).unwrap()[9..].parse().unwrap()
}

#[tokio::test]
async fn only_our_own_names_are_answered_to_before_anything_else() {
    let desk = Desk::new().await;
    let port = desk.address.port();
    let get = |target: &str, hosts: &[String]| {
        let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        format!("GET {target} HTTP/1.1\r\n{hosts}X-Session-API-Key: {KEY}\r\n\r\n")
    };
    for host in [
        "localhost".to_owned(),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ] {
        assert_eq!(raw(&desk, &get("/api/conversations/count", &[host])).await, 200);
    }
    for target in ["/health", "/api/conversations/count"] {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "[::ffff:7f00:1]",
        ] {
            let host = format!("{host}:{port}");
            assert_eq!(
                raw(&desk, &get(target, std::slice::from_ref(&host))).await,
                421,
                "{host}"
            );
        }
        let two = ["localhost".to_owned(), "evil.example".to_owned()];
        assert!([400, 421].contains(&raw(&desk, &get(target, &two)).await));
        assert!([400, 421].contains(&raw(&desk, &get(target, &[])).await));
        let absolute = format!("http://evil.example{target}");
        assert_eq!(raw(&desk, &get(&absolute, &["localhost".to_owned()])).await, 421);
    }
}

#[tokio::test]
async fn pages_of_other_sites_change_nothing_and_open_nothing() {
    let desk = Desk::with(|config| config.origins = vec!["https://app.example.org".to_owned()]).await;
    let talk = desk.begin(FINISH).await;
    let with_origin = async |method: Method, path: &str, origin: &str| {
        let request = desk.request(method, path).header("Origin", origin);
        request.header("X-Session-API-Key", KEY).send().await.unwrap()
    };
    let socket = format!("/sockets/events/{}?session_api_key={KEY}", talk.0);
    for foreign in ["https://evil.example", "null", "http://localhost.evil.com"] {
        let answer = with_origin(Method::POST, &talk.path("/pause"), foreign).await;
        assert_eq!(answer.status(), 403, "{foreign}");
        let answer = with_origin(Method::GET, &talk.path(""), foreign).await;
        assert_eq!(
            answer.headers().get("access-control-allow-origin"),
            None,
            "{foreign}"
        );
        assert!(
            desk.connect(&socket, &[("origin", foreign)]).await.is_err(),
            "{foreign}"
        );
    }
    for known in ["http://localhost:9999", "https://app.example.org"] {
        let answer = with_origin(Method::POST, &talk.path("/pause"), known).await;
        assert_eq!(answer.status(), 200, "{known}");
        assert_eq!(answer.headers()["access-control-allow-origin"], known);
        desk.connect(&socket, &[("origin", known)]).await.unwrap();
    }
    let preflight = async |origin: &str| {
        let request = desk
            .request(Method::OPTIONS, "/api/conversations")
            .header("Origin", origin);
        let request = request.header("Access-Control-Request-Method", "POST");
        let request = request.header("Access-Control-Request-Headers", "x-session-api-key,content-type");
        request.send().await.unwrap()
    };
    let answer = preflight("http://localhost:3000").await;
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.headers()["access-control-allow-headers"],
        "x-session-api-key,content-type"
    );
    assert_eq!(answer.headers()["access-control-max-age"], "600");
    let answer = preflight("https://evil.example").await;
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.text().await.unwrap(), "Disallowed CORS origin");
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let desk = Desk::new().await;
    let body = "x".repeat(33 * 1024 * 1024);
    let request = desk
        .request(Method::POST, "/api/conversations")
        .header("X-Session-API-Key", KEY);
    match request.body(body).send().await {
        Ok(answer) => assert_eq!(answer.status(), 413),
        // The answer may come while the body is still on its way.
        Err(error) => assert!(error.is_request() || error.is_body(), "{error:?}"),
    }
    let long = format!(
        "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n",
        "x".repeat(512 * 1024)
    );
    assert_eq!(raw(&desk, &long).await, 431);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let request = desk
        .request(Method::POST, "/api/conversations")
        .header("X-Session-API-Key", KEY);
    assert_eq!(request.body(deep).send().await.unwrap().status(), 422);
}

#[tokio::test]
async fn without_a_configured_key_one_is_made_for_the_user_alone() {
    let mut desk = Desk::with(|config| config.keys.clear()).await;
    let file = desk.root.path().join("session-key");
    let key = fs::read_to_string(&file).unwrap();
    assert_eq!(key.len(), 64);
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    let status = async |desk: &Desk| {
        let request = desk.request(Method::GET, "/api/conversations/count");
        request
            .header("X-Session-API-Key", &key)
            .send()
            .await
            .unwrap()
            .status()
    };
    assert_eq!(status(&desk).await, 200);
    let request = desk.request(Method::GET, "/api/conversations/count");
    assert_eq!(request.send().await.unwrap().status(), 401);
    desk.stop().await;
    desk.start(|config| config.keys.clear()).await;
    assert_eq!(status(&desk).await, 200, "it is kept");
}
