//! Files and repositories of workspaces.

use std::fs;
use std::path::Path;
use std::process::Command;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::{Desk, FINISH, KEY};

async fn send(desk: &Desk, method: Method, path: &str, body: Option<&str>) -> Response {
    let mut request = desk.request(method, path).header("X-Session-API-Key", KEY);
    if let Some(content) = body {
        let kind = "multipart/form-data; boundary=edge";
        let form = format!(
            "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n{content}\r\n--edge--\r\n"
        );
        request = request.header("Content-Type", kind).body(form);
    }
    request.send().await.unwrap()
}

async fn refusal(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap();
    (status, body["detail"].clone())
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// A directory that belongs to no conversation.
fn elsewhere() -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display().to_string();
    (directory, path)
}

#[tokio::test]
async fn files_go_up_and_down() {
    let desk = Desk::new().await;
    let (directory, path) = elsewhere();
    let upload = format!("/api/file/upload?path={path}/sub/a.txt");
    let answer = send(&desk, Method::POST, &upload, Some("hello")).await;
    assert_eq!(
        answer.json::<Value>().await.unwrap(),
        json!({"success": true, "file_size": 5})
    );
    assert_eq!(
        fs::read_to_string(directory.path().join("sub/a.txt")).unwrap(),
        "hello"
    );
    let down = send(
        &desk,
        Method::GET,
        &format!("/api/file/download?path={path}/sub/a.txt"),
        None,
    )
    .await;
    assert_eq!(
        down.headers()["content-disposition"],
        "attachment; filename=\"a.txt\""
    );
    assert_eq!(down.text().await.unwrap(), "hello");
    fs::write(directory.path().join("Größe 1.txt"), "x").unwrap();
    let named = format!("/api/file/download?path={path}/Gr%C3%B6%C3%9Fe%201.txt");
    let down = send(&desk, Method::GET, &named, None).await;
    assert_eq!(
        down.headers()["content-disposition"],
        "attachment; filename=\"Gr__e 1.txt\"; filename*=utf-8''Gr%C3%B6%C3%9Fe%201.txt"
    );
    let large = "x".repeat(3_000_000);
    let upload = format!("/api/file/upload?path={path}/large");
    assert_eq!(
        send(&desk, Method::POST, &upload, Some(&large)).await.status(),
        200
    );
    let down = send(
        &desk,
        Method::GET,
        &format!("/api/file/download?path={path}/large"),
        None,
    )
    .await;
    assert_eq!(down.text().await.unwrap().len(), large.len());
    for (method, rest, body, status, reason) in [
        (
            Method::POST,
            "upload?path=relative.txt".to_owned(),
            Some("x"),
            400,
            "Path must be absolute",
        ),
        (
            Method::POST,
            format!("upload?path={path}/sub"),
            Some("x"),
            400,
            "Path is a directory",
        ),
        (
            Method::GET,
            format!("download?path={path}/none"),
            None,
            404,
            "File not found",
        ),
        (
            Method::GET,
            format!("download?path={path}"),
            None,
            400,
            "Path is not a file",
        ),
        (
            Method::POST,
            format!("create_directory?path={path}/sub/a.txt"),
            None,
            400,
            "Path exists and is not a directory",
        ),
        (
            Method::GET,
            "search_subdirs?path=/tmp/no-such-directory".to_owned(),
            None,
            404,
            "Directory not found",
        ),
        (
            Method::GET,
            format!("search_subdirs?path={path}/sub/a.txt"),
            None,
            400,
            "Path is not a directory",
        ),
    ] {
        let answer = send(&desk, method, &format!("/api/file/{rest}"), body).await;
        assert_eq!(refusal(answer).await, (status, json!(reason)), "{rest}");
    }
}

#[tokio::test]
async fn directories_are_made_and_listed_page_by_page() {
    let desk = Desk::new().await;
    let (directory, path) = elsewhere();
    for name in ["sub", "Zebra", "a.d", "A.d"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    let made = format!("/api/file/create_directory?path={path}/newdir");
    assert_eq!(send(&desk, Method::POST, &made, None).await.status(), 200);
    let names = ["A.d", "a.d", "newdir", "sub", "Zebra"];
    let mut next = json!("");
    for pair in names.chunks(2) {
        let from = next.as_str().unwrap();
        let url = format!("/api/file/search_subdirs?path={path}&limit=2&page_id={from}");
        let page = desk.get(&url).await;
        let items: Vec<_> = pair
            .iter()
            .map(|name| json!({"name": name, "path": format!("{path}/{name}")}))
            .collect();
        assert_eq!(page["items"], json!(items));
        next = page["next_page_id"].clone();
    }
    assert_eq!(next, Value::Null);
    assert!(desk.get("/api/file/home").await["home"].is_string());
}

#[tokio::test]
async fn nobody_gets_out_of_the_directories_that_may_be_used() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    fs::write(desk.work().join("own.txt"), "own").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", desk.work().join("link")).unwrap();
    let work = desk.work().display().to_string();
    let own = talk.path(&format!("/file/download?path={work}/own.txt"));
    assert_eq!(
        send(&desk, Method::GET, &own, None).await.text().await.unwrap(),
        "own"
    );
    for path in [
        "/etc/hostname".to_owned(),
        format!("{work}/../vault-key"),
        format!("{work}/link"),
    ] {
        let answer = send(
            &desk,
            Method::GET,
            &talk.path(&format!("/file/download?path={path}")),
            None,
        )
        .await;
        let expected = json!("path must be inside the conversation workspace");
        assert_eq!(refusal(answer).await, (422, expected), "{path}");
    }
    let key = desk.root.path().join("vault-key");
    for path in ["/etc/hostname", key.to_str().unwrap()] {
        let answer = send(
            &desk,
            Method::GET,
            &format!("/api/file/download?path={path}"),
            None,
        )
        .await;
        assert_eq!(answer.status(), 403, "{path}");
    }
    let shared = send(
        &desk,
        Method::GET,
        &format!("/api/file/download?path={work}/own.txt"),
        None,
    )
    .await;
    assert_eq!(
        shared.text().await.unwrap(),
        "own",
        "a known workspace may be used"
    );
}

#[tokio::test]
async fn a_repository_tells_what_changed() {
    let desk = Desk::new().await;
    let (directory, path) = elsewhere();
    fs::write(directory.path().join("a.txt"), "hello\n").unwrap();
    git(directory.path(), &["init", "-q"]);
    git(directory.path(), &["add", "."]);
    git(directory.path(), &["commit", "-qm", "first"]);
    fs::write(directory.path().join("a.txt"), "changed\n").unwrap();
    fs::write(directory.path().join("new.txt"), "new\n").unwrap();
    let changes = desk.get(&format!("/api/git/changes?path={path}&ref=HEAD")).await;
    let expected = json!([{"status": "UPDATED", "path": "a.txt"}, {"status": "ADDED", "path": "new.txt"}]);
    assert_eq!(changes, expected);
    let diff = desk
        .get(&format!("/api/git/diff?path={path}/a.txt&ref=HEAD"))
        .await;
    assert_eq!(diff["modified"].as_str().unwrap().trim(), "changed");
    assert_eq!(diff["original"].as_str().unwrap().trim(), "hello");
    let commits = desk.get(&format!("/api/git/commits?path={path}")).await;
    assert_eq!(commits["commits"][0]["subject"], "first");
    let sha = commits["commits"][0]["sha"].as_str().unwrap();
    let first = desk
        .get(&format!("/api/git/commits/{sha}/changes?path={path}"))
        .await;
    assert_eq!(first, json!([{"status": "ADDED", "path": "a.txt"}]));
    let bogus = send(
        &desk,
        Method::GET,
        &format!("/api/git/changes?path={path}&ref=bogusref"),
        None,
    )
    .await;
    assert_eq!(bogus.status(), 400);
    let difference = send(
        &desk,
        Method::GET,
        &format!("/api/file/archive?path={path}&base_ref=HEAD"),
        None,
    )
    .await;
    let difference = difference.text().await.unwrap();
    assert!(
        difference.contains("+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"),
        "{difference}"
    );
    let tar = send(
        &desk,
        Method::GET,
        &format!("/api/file/archive?path={path}&format=tar.gz"),
        None,
    )
    .await;
    assert!(
        tar.bytes().await.unwrap().starts_with(&[0x1f, 0x8b]),
        "it is a gzip"
    );
    let (_plain, path) = elsewhere();
    assert_eq!(
        desk.get(&format!("/api/git/changes?path={path}")).await,
        json!([])
    );
    let none = send(
        &desk,
        Method::GET,
        &format!("/api/file/archive?path={path}"),
        None,
    )
    .await;
    assert_eq!(none.status(), 400);
}

#[tokio::test]
async fn a_browser_sees_files_with_a_cookie_that_opens_nothing_else() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    fs::write(desk.work().join("index.html"), "<h1>hi</h1>").unwrap();
    fs::create_dir(desk.work().join("sub")).unwrap();
    let session = send(&desk, Method::POST, "/api/auth/workspace-session", None).await;
    assert_eq!(session.status(), 204);
    let cookie = session.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(KEY));
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let ask = async |path: String| {
        let request = desk.request(Method::GET, &path).header("Cookie", &cookie);
        request.send().await.unwrap()
    };
    for path in ["/workspace", "/workspace/", "/workspace/index.html"] {
        let shown = ask(talk.path(path)).await;
        assert!(
            shown.headers()["content-security-policy"]
                .to_str()
                .unwrap()
                .starts_with("sandbox")
        );
        assert_eq!(shown.text().await.unwrap(), "<h1>hi</h1>", "{path}");
    }
    let expected = (404, json!("No index.html in directory"));
    assert_eq!(refusal(ask(talk.path("/workspace/sub")).await).await, expected);
    assert_eq!(
        ask(talk.path("/workspace/..%2f..%2fetc/passwd")).await.status(),
        404
    );
    assert_eq!(ask(talk.path("")).await.status(), 401, "the cookie is no key");
}

#[tokio::test]
async fn a_conversation_can_be_kept_as_an_archive() {
    let desk = Desk::new().await;
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let path = format!("/api/file/download-trajectory/{}", talk.0);
    let archive = send(&desk, Method::GET, &path, None).await.bytes().await.unwrap();
    let file = desk.root.path().join("t.zip");
    fs::write(&file, &archive).unwrap();
    let listed = Command::new("python3")
        .args(["-m", "zipfile", "-l"])
        .arg(&file)
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let hex = talk.0.replace('-', "");
    assert!(listed.contains(&format!("{hex}/meta.json")), "{listed}");
    assert!(listed.contains(&format!("{hex}/events/event-00000-")), "{listed}");
    let unknown = "/api/file/download-trajectory/0c21fe3b-e5cf-490e-a0d2-77595f716327";
    assert_eq!(send(&desk, Method::GET, unknown, None).await.status(), 404);
}
