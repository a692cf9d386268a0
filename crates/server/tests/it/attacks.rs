//! Attacks on the server by name: `docs/security.md` lists all of them with the tests that prove them. Others stand
//! where the part that they attack is tested.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use deft_server::Access;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::desk::{Desk, FINISH, KEY};

/// Sends bytes and gives back everything that comes until the server closes, or is silent for a while.
async fn raw(desk: &Desk, bytes: &str) -> String {
    let mut stream = TcpStream::connect(desk.address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(3), stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn answers(text: &str) -> usize {
    text.matches("HTTP/1.1 ").count()
}

#[tokio::test]
async fn n6_what_a_form_of_another_page_can_send_changes_nothing() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let session = desk
        .request(Method::POST, "/api/auth/workspace-session")
        .header("X-Session-API-Key", KEY);
    let cookie = session.send().await.unwrap().headers()["set-cookie"].clone();
    let file = desk.work().join("dropped");
    let upload = talk.path(&format!("/file/upload?path={}", file.display()));
    let form = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nx\r\n--b--\r\n";
    for (path, kind, body) in [
        (upload.as_str(), "multipart/form-data; boundary=b", form),
        (&talk.path("/pause"), "application/x-www-form-urlencoded", "a=b"),
        (
            "/api/bash/execute_bash_command",
            "text/plain",
            r#"{"command": "true"}"#,
        ),
        ("/api/conversations", "text/plain", "{}"),
    ] {
        // Neither the cookie nor where the page is from stands for the header, which a form cannot send.
        for origin in [
            None,
            Some("http://localhost:9999"),
            Some("https://evil.example"),
            Some("null"),
        ] {
            let request = desk.request(Method::POST, path).header("Cookie", &cookie);
            let mut request = request.header("Content-Type", kind).body(body);
            if let Some(origin) = origin {
                request = request.header("Origin", origin);
            }
            let status = request.send().await.unwrap().status().as_u16();
            assert!([401, 403].contains(&status), "{path} {origin:?}: {status}");
        }
    }
    // A method is what it is, whatever a header or the query calls it.
    for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
        let request = desk.request(Method::GET, &talk.path("?_method=DELETE"));
        let request = request.header("X-Session-API-Key", KEY).header(name, "DELETE");
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    assert!(!file.exists());
    assert_eq!(desk.get(&talk.path("")).await["execution_status"], "idle");
}

#[tokio::test]
async fn n8_nobody_is_who_a_header_says_they_are() {
    let desk = Desk::with(|config| config.max_wrong_keys = 3).await;
    let spoofed = [
        ("X-Forwarded-User", "root"),
        ("X-Remote-User", "root"),
        ("X-User-Role", "admin"),
        ("Forwarded", "for=10.0.0.1"),
    ];
    let ask = async |number: u8, key: Option<&str>| {
        let mut request = desk.request(Method::GET, "/api/conversations/count");
        for (name, value) in spoofed {
            request = request.header(name, value);
        }
        for name in ["X-Forwarded-For", "X-Real-IP"] {
            request = request.header(name, format!("10.0.0.{number}"));
        }
        if let Some(key) = key {
            request = request.header("X-Session-API-Key", key);
        }
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask(0, None).await, 401);
    for number in 0..3 {
        assert_eq!(ask(number, Some("wrong")).await, 401);
    }
    assert_eq!(
        ask(9, Some("wrong")).await,
        429,
        "another name does not help who guesses"
    );
    let entries = desk.audit().last_days(1).await.unwrap();
    assert!(
        entries
            .iter()
            .all(|entry| entry.from.is_some_and(|from| from.is_loopback()))
    );
}

#[tokio::test]
async fn n9_packed_bodies_are_not_unpacked() {
    let desk = Desk::new().await;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![b' '; 64 * 1024 * 1024]).unwrap();
    let request = desk
        .request(Method::POST, "/api/conversations")
        .header("X-Session-API-Key", KEY)
        .header("Content-Encoding", "gzip");
    let answer = request.body(packed.finish().unwrap()).send().await.unwrap();
    assert_eq!(answer.status(), 422, "it is no JSON");
    assert_eq!(desk.get("/api/conversations/count").await, 0);
}

#[tokio::test]
async fn n9_a_socket_that_shows_no_key_is_closed_in_time() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let mut silent = desk
        .connect(&format!("/sockets/events/{}", talk.0), &[])
        .await
        .unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(20), silent.closed()).await;
    assert_eq!(closed.expect("it stays open").0, 4001);
}

#[tokio::test]
async fn n10_guesses_over_sockets_count_as_well() {
    let desk = Desk::with(|config| config.max_wrong_keys = 3).await;
    let talk = desk.begin(FINISH).await;
    let path = format!("/sockets/events/{}", talk.0);
    assert!(
        desk.connect(&format!("{path}?session_api_key=wrong"), &[])
            .await
            .is_err()
    );
    assert!(
        desk.connect(&path, &[("x-session-api-key", "wrong")])
            .await
            .is_err()
    );
    let mut socket = desk.connect(&path, &[]).await.unwrap();
    socket
        .send(&json!({"type": "auth", "session_api_key": "wrong"}))
        .await;
    assert_eq!(socket.closed().await.0, 4001);
    let count = async |key: &str| {
        let request = desk.request(Method::GET, "/api/conversations/count");
        request
            .header("x-session-api-key", key)
            .send()
            .await
            .unwrap()
            .status()
    };
    assert_eq!(count("another guess").await, 429);
    assert_eq!(count(KEY).await, 200, "it was good here before anybody guessed");
}

#[tokio::test]
async fn n11_no_request_is_hidden_in_another() {
    let desk = Desk::new().await;
    let key = format!("Host: localhost\r\nX-Session-API-Key: {KEY}\r\n");
    let hidden = format!("GET /api/conversations/count HTTP/1.1\r\n{key}\r\n");
    // Whoever went by the length would take what is hidden for a part of the first body.
    for lengths in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 4",
    ] {
        let both = format!(
            "POST /api/conversations HTTP/1.1\r\n{key}{lengths}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n{hidden}"
        );
        let text = raw(&desk, &both).await;
        assert_eq!(answers(&text), 1, "{text}");
        assert!(text.starts_with("HTTP/1.1 4"), "{text}");
    }
    for head in [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: +2",
        "Content-Length: 2, 2, 3",
        "Transfer-Encoding: identity, xchunked",
        "Transfer-Encoding : chunked",
        "X-Folded: a\r\n b: c",
    ] {
        let text = raw(
            &desk,
            &format!("POST /api/conversations HTTP/1.1\r\n{key}{head}\r\n\r\n{{}}{hidden}"),
        )
        .await;
        assert!(text.starts_with("HTTP/1.1 400"), "{head}: {text}");
        assert_eq!(answers(&text), 1, "{head}: {text}");
    }
    let preface = raw(&desk, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(!preface.contains(" 200"), "{preface}");
    let upgrade =
        "Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__";
    let text = raw(&desk, &format!("GET /health HTTP/1.1\r\n{key}{upgrade}\r\n\r\n")).await;
    assert!(!text.contains("101 Switching"), "{text}");
}

/// Names that are paths in disguise.
const HOSTILE: [&str; 8] = [
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc",
    "%252e%252e%252f",
    "..%5c..%5c",
    "a%00b",
    "%2fetc%2fpasswd",
    "%2fproc%2fself%2froot%2fetc%2fpasswd",
    "%ef%bc%8e%ef%bc%8e%ef%bc%8f",
];

#[tokio::test]
async fn f1_whatever_a_name_in_an_address_looks_like_it_is_only_a_name() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await; // or the first request makes the executor's directory
    let files = || fs::read_dir(desk.root.path()).unwrap().count();
    let (before, long) = (files(), "a".repeat(5000));
    let body = json!({"name": "x", "value": "y", "llm": {"model": "demo"}, "path": "/tmp"});
    let mut tried = 0;
    for (method, path, access) in deft_server::routes() {
        let names_something = path.replace("{conversation_id}", "").contains('{');
        if !names_something || !matches!(access, Access::Key | Access::Workspace) {
            continue;
        }
        for name in HOSTILE.iter().chain([&long.as_str()]) {
            let filled = path.replace("{conversation_id}", &talk.0);
            let parts = filled
                .split('/')
                .map(|part| if part.starts_with('{') { *name } else { part });
            let filled = parts.collect::<Vec<_>>().join("/");
            let request = desk
                .request(method.clone(), &filled)
                .header("X-Session-API-Key", KEY);
            let answer = request.json(&body).send().await.unwrap();
            let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
            assert!(!text.contains("root:"), "{method} {filled}: {text}");
            assert!(status < 500, "{method} {filled}: {status} {text}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
    // A path that cannot be read is none without a conversation, which other directories are open to.
    let path = talk.path("/git/commits/%ff/changes?path=/tmp");
    assert_eq!(desk.refusal(Method::GET, &path, json!({})).await.0, 404);
    assert_eq!(files(), before, "nothing was written beside the store");
}

#[tokio::test]
async fn f1_the_state_of_the_server_is_no_file_of_anybody() {
    let desk = Desk::new().await;
    let state = desk.root.path().display().to_string();
    // Not even to who works in its directory, or around it.
    let mut request = desk.start_request("demo");
    request["workspace"]["working_dir"] = state.as_str().into();
    let talk = desk.begin_with(request).await;
    let remembered = json!({"path": state, "name": "state"});
    let _ = desk.ask(Method::POST, "/api/workspaces", Some(remembered)).await;
    for file in ["vault-key", "deft.db", "work/../vault-key"] {
        let query = format!("?path={state}/{file}");
        for path in [
            format!("/api/file/download{query}"),
            talk.path(&format!("/file/download{query}")),
        ] {
            let (status, body) = desk.ask(Method::GET, &path, None).await;
            assert_eq!(status, 403, "{path}: {body}");
        }
        let (status, _) = desk
            .ask(Method::GET, &talk.path(&format!("/workspace/{file}")), None)
            .await;
        assert_eq!(status, 404, "{file}");
    }
    for path in [
        "file/search_subdirs",
        "file/archive",
        "git/changes",
        "git/commits",
    ] {
        let (status, body) = desk
            .ask(Method::GET, &format!("/api/{path}?path={state}"), None)
            .await;
        assert_eq!(status, 403, "{path}: {body}");
    }
    for path in ["file/create_directory", "file/upload"] {
        let path = format!("/api/{path}?path={state}/new");
        let (status, body) = desk.ask(Method::POST, &path, None).await;
        assert!(status.is_client_error(), "{path}: {body}");
    }
    assert!(!desk.root.path().join("new").exists());
}

#[tokio::test]
async fn f5_s1_an_archive_of_a_conversation_holds_no_secret() {
    let desk = Desk::new().await;
    let say = "- tool_calls: [{name: terminal, arguments: {command: 'echo $TOKEN'}}]\n";
    let mut request = desk.start_request(&desk.script("s.yaml", &format!("{say}{FINISH}")));
    request["secrets"] = json!({"TOKEN": {"kind": "StaticSecret", "value": "hunter-two"}});
    let talk = desk.begin_with(request).await;
    desk.run(&talk).await;
    let path = format!("/api/file/download-trajectory/{}", talk.0);
    let request = desk.request(Method::GET, &path).header("X-Session-API-Key", KEY);
    let archive = desk.root.path().join("t.zip");
    fs::write(&archive, request.send().await.unwrap().bytes().await.unwrap()).unwrap();
    let unpacked = desk.root.path().join("unpacked");
    let unpack = std::process::Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .args([&archive, &unpacked])
        .status();
    assert!(unpack.unwrap().success());
    let found = std::process::Command::new("grep")
        .args(["-rE", "hunter-two|sk-fake-key"])
        .arg(&unpacked)
        .output();
    assert_eq!(String::from_utf8(found.unwrap().stdout).unwrap(), "");
    let masked = std::process::Command::new("grep")
        .args(["-rq", "<secret-hidden>"])
        .arg(&unpacked)
        .status();
    assert!(masked.unwrap().success(), "the output is there, masked");
}

#[tokio::test]
async fn f6_files_that_are_shown_in_a_browser_cannot_run_as_ours() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    for name in ["page.html", "drawing.svg", "code.js", "paper.pdf", "unknown"] {
        fs::write(desk.work().join(name), "<script>alert(1)</script>").unwrap();
        let request = desk.request(Method::GET, &talk.path(&format!("/workspace/{name}")));
        let shown = request.header("X-Session-API-Key", KEY).send().await.unwrap();
        assert_eq!(shown.status(), 200, "{name}");
        let header = |name: &str| shown.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("sandbox") && !policy.contains("allow-same-origin"),
            "{policy}"
        );
        assert_eq!(header("x-content-type-options"), "nosniff");
        let path = talk.path(&format!("/file/download?path={}/{name}", desk.work().display()));
        let request = desk.request(Method::GET, &path).header("X-Session-API-Key", KEY);
        let taken = request.send().await.unwrap();
        assert!(
            taken.headers()["content-disposition"]
                .to_str()
                .unwrap()
                .starts_with("attachment")
        );
        assert_eq!(taken.headers()["content-security-policy"], "sandbox");
        assert_eq!(taken.headers()["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn n9_what_is_refused_says_nothing_of_what_was_sent_or_of_us() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    let root = desk.root.path().display().to_string();
    let secret = json!({"name": "bad name", "value": "hunter-two"});
    let odd = json!({"password": "hunter-two", "nested": {"api_key": "hunter-two"}});
    for (method, path, body) in [
        (Method::PUT, "/api/settings/secrets".to_owned(), secret),
        (Method::POST, "/api/conversations".to_owned(), odd.clone()),
        (
            Method::POST,
            talk.path("/events"),
            json!({"role": "user", "content": odd}),
        ),
        (
            Method::GET,
            "/api/file/download?path=/etc/shadow".to_owned(),
            Value::Null,
        ),
    ] {
        let (status, body) = desk.ask(method, &path, Some(body)).await;
        assert!(status.is_client_error(), "{path}: {status}");
        let text = body.to_string();
        assert!(
            !text.contains("hunter-two") && !text.contains(&root),
            "{path}: {text}"
        );
    }
}
