//! Pushes and pull requests, against real git over HTTP and the three languages of forges.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method as HttpMethod, Response, Uri};
use base64::Engine as _;
use deft_server::Role;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::task::AbortOnDropHandle;

use crate::desk::{Desk, FINISH, Talk};

pub(crate) const TOKEN: &str = "tok-SECRET-0123456789";

/// A forge with one repository, `ann/project`.
pub(crate) struct ForgeServer {
    pub(crate) host: String,
    pub(crate) root: TempDir,
    /// Method, path, how it was shown who asks, and the body.
    asked: Arc<Mutex<Vec<(String, String, String)>>>,
    _task: AbortOnDropHandle<()>,
}

impl ForgeServer {
    pub(crate) async fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        git(root.path(), &["init", "-q", "--bare", "ann/project.git"]).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<_>>> = Arc::default();
        let (place, noted) = (root.path().to_owned(), Arc::clone(&asked));
        let answer = move |method: HttpMethod, uri: Uri, headers: HeaderMap, body: Bytes| async move {
            let shown = |name: &str| {
                headers
                    .get(name)
                    .and_then(|value| value.to_str().ok())
                    .unwrap_or_default()
            };
            let who = format!("{}{}", shown("authorization"), shown("private-token"));
            let path = uri.path().to_owned();
            noted.lock().unwrap().push((
                format!("{method} {uri}"),
                who.clone(),
                String::from_utf8_lossy(&body).into_owned(),
            ));
            if path.starts_with("/api/") {
                return api(&method, &path, &who);
            }
            if who.is_empty() {
                let asking = Response::builder()
                    .status(401)
                    .header("WWW-Authenticate", "Basic realm=\"forge\"");
                return asking.body(Body::empty()).unwrap();
            }
            let given = who.strip_prefix("Basic ").unwrap_or_default();
            let given = base64::engine::general_purpose::STANDARD
                .decode(given)
                .unwrap_or_default();
            if !given.ends_with(format!(":{TOKEN}").as_bytes()) {
                return Response::builder().status(403).body(Body::empty()).unwrap();
            }
            backend(&place, &method, &uri, &headers, &body).await
        };
        let task = tokio::spawn(async move {
            axum::serve(listener, Router::new().fallback(answer))
                .await
                .unwrap();
        });
        Self {
            host,
            root,
            asked,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// The commit that a branch of the repository stands at.
    async fn branch(&self, name: &str) -> String {
        git(&self.root.path().join("ann/project.git"), &["rev-parse", name]).await
    }

    pub(crate) fn asked(&self, start: &str) -> Vec<(String, String, String)> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .filter(|(what, ..)| what.starts_with(start))
            .cloned()
            .collect()
    }
}

/// What a forge answers to questions about repositories.
fn api(method: &HttpMethod, path: &str, who: &str) -> Response<Body> {
    let is_known = who.contains(TOKEN);
    let (status, body) = match (is_known, method.as_str()) {
        (false, _) => (401, json!({"message": "Bad credentials"})),
        (true, "GET") => match path {
            "/api/v3/search/repositories" => (200, json!({"items": [found()]})),
            "/api/v3/user/repos" | "/api/v4/projects" => (200, json!([found()])),
            "/api/v1/repos/search" => (200, json!({"data": [found()]})),
            _ => (200, json!({"default_branch": "main"})),
        },
        (true, _) if path.ends_with("/merge_requests") => {
            (201, json!({"web_url": "https://forge.example/mr/1"}))
        }
        (true, _) => (201, json!({"html_url": "https://forge.example/pulls/1"})),
    };
    let answer = Response::builder()
        .status(status)
        .header("Content-Type", "application/json");
    answer.body(Body::from(body.to_string())).unwrap()
}

/// A repository in the words of every forge.
fn found() -> Value {
    json!({"id": 7, "full_name": "ann/project", "path_with_namespace": "ann/project", "private": true,
        "visibility": "private", "stargazers_count": 3, "star_count": 3, "stars_count": 3,
        "pushed_at": "2026-01-02T03:04:05Z", "last_activity_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z", "default_branch": "main"})
}

/// Git's own server.
async fn backend(
    root: &Path,
    method: &HttpMethod,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Response<Body> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "ann")
        .env("REQUEST_METHOD", method.as_str())
        .env("PATH_INFO", uri.path())
        .env("QUERY_STRING", uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let written = body.to_vec();
    let writing = tokio::spawn(async move {
        let _ = stdin.write_all(&written).await;
    });
    let output = child.wait_with_output().await.unwrap().stdout;
    writing.await.unwrap();
    let end = output.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let head: BTreeMap<_, _> = head.lines().filter_map(|line| line.split_once(": ")).collect();
    let status = head
        .get("Status")
        .and_then(|status| status.get(..3))
        .unwrap_or("200");
    let answer = Response::builder()
        .status(status)
        .header("Content-Type", head["Content-Type"]);
    answer.body(Body::from(output[end + 4..].to_vec())).unwrap()
}

pub(crate) async fn git(directory: &Path, arguments: &[&str]) -> String {
    let run = Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(directory)
        .output();
    let output = run.await.unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A conversation whose workspace has a repository with a branch of its own, and its directory.
async fn repository(desk: &Desk, origin: &str) -> (Talk, PathBuf) {
    let talk = desk.begin(FINISH).await;
    desk.run(&talk).await;
    let work = desk.work();
    git(&work, &["init", "-q", "."]).await;
    git(&work, &["checkout", "-q", "-b", "feature"]).await;
    std::fs::write(work.join("a.txt"), "a").unwrap();
    git(&work, &["add", "-A"]).await;
    git(&work, &["commit", "-qm", "first"]).await;
    git(&work, &["remote", "add", "origin", origin]).await;
    (talk, work)
}

pub(crate) async fn add_account(desk: &Desk, host: &str, kind: &str, token: &str) -> Value {
    let account = json!({"address": format!("http://{host}"), "kind": kind, "token": token});
    let (status, answer) = desk
        .ask(Method::PUT, "/api/settings/git_accounts", Some(account))
        .await;
    assert_eq!(status, 200, "{answer}");
    answer
}

fn to(work: &Path, host: &str) -> Value {
    json!({"path": work, "host": host, "repository": "ann/project", "title": "My work", "text": "What it does."})
}

#[tokio::test]
async fn a_branch_is_pushed_with_a_token_that_stands_nowhere() {
    let desk = Desk::new().await;
    let forge = ForgeServer::new().await;
    let (talk, work) = repository(&desk, &format!("http://{}/ann/project.git", forge.host)).await;
    let path = talk.path(&format!("/git/remote?path={}", work.display()));
    let seen = desk.get(&path).await;
    assert_eq!(
        seen,
        json!({"branch": "feature", "host": forge.host, "repository": "ann/project", "kind": null})
    );
    let push = talk.path("/git/push");
    let refused = desk.refusal(Method::POST, &push, to(&work, &forge.host)).await;
    assert!(
        refused.1.as_str().unwrap().contains("add one in the settings"),
        "{refused:?}"
    );
    let listed = add_account(&desk, &forge.host, "gitea", TOKEN).await;
    assert!(!listed.to_string().contains(TOKEN) && listed["accounts"][0]["kind"] == "gitea");
    assert_eq!(desk.get(&path).await["kind"], "gitea");

    let pushed = desk.post(&push, to(&work, &forge.host)).await;
    let head = git(&work, &["rev-parse", "HEAD"]).await;
    assert_eq!(pushed, json!({"branch": "feature", "commit": head}));
    assert_eq!(forge.branch("feature").await, head);
    assert_eq!(
        git(&work, &["rev-parse", "refs/remotes/origin/feature"]).await,
        head
    );
    let config = std::fs::read_to_string(work.join(".git/config")).unwrap();
    let commands = desk.get(&talk.path("/bash/bash_events/search")).await;
    let events = json!(desk.events(&talk).await);
    for told in [config, commands.to_string(), events.to_string()] {
        assert!(!told.contains(TOKEN), "{told}");
    }
    assert!(
        forge.asked("").iter().all(|(what, ..)| !what.contains(TOKEN)),
        "not in an address"
    );

    add_account(&desk, &forge.host, "gitea", "tok-WRONG").await;
    std::fs::write(work.join("a.txt"), "b").unwrap();
    git(&work, &["commit", "-qam", "second"]).await;
    let (status, sentence) = desk.refusal(Method::POST, &push, to(&work, &forge.host)).await;
    let sentence = sentence.as_str().unwrap();
    assert!(
        status == 502 && sentence.contains("did not take the branch"),
        "{sentence}"
    );
    assert!(!sentence.contains("tok-WRONG"));
    assert_eq!(forge.branch("feature").await, head, "nothing was pushed");
}

#[tokio::test]
async fn what_a_repository_is_configured_to_do_does_not_get_the_token() {
    let desk = Desk::new().await;
    let [forge, thief] = [ForgeServer::new().await, ForgeServer::new().await];
    let own = format!("http://{}/ann/project.git", forge.host);
    let (talk, work) = repository(&desk, &own).await;
    add_account(&desk, &forge.host, "gitea", TOKEN).await;
    let stolen = work.join("stolen");
    let steal = format!("tee -a {}", stolen.display());
    let elsewhere = format!("url.http://{}/.insteadOf", thief.host);
    let own_root = format!("http://{}/", forge.host);
    for (name, value) in [
        (elsewhere.as_str(), own_root.as_str()),
        ("http.proxy", &format!("http://{}", thief.host)),
        ("credential.helper", &format!("!{steal}")),
        ("core.hooksPath", "hooks"),
        ("core.fsmonitor", &steal),
        ("core.askPass", &steal),
        ("http.extraHeader", "X-Stolen: 1"),
    ] {
        git(&work, &["config", "--add", name, value]).await;
    }
    std::fs::create_dir(work.join("hooks")).unwrap();
    for hook in ["pre-push", "reference-transaction"] {
        use std::os::unix::fs::PermissionsExt as _;
        let file = work.join("hooks").join(hook);
        std::fs::write(&file, format!("#!/bin/sh\n{steal} <&3\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    desk.post(&talk.path("/git/push"), to(&work, &forge.host)).await;
    assert!(!forge.branch("feature").await.is_empty());
    assert!(thief.asked("").is_empty(), "nobody else was asked");
    assert!(!stolen.exists(), "nothing of the repository's was run");

    // A remote that is another one by now than the person saw.
    git(
        &work,
        &[
            "remote",
            "set-url",
            "origin",
            &format!("http://{}/ann/project.git", thief.host),
        ],
    )
    .await;
    let (status, _) = desk
        .refusal(Method::POST, &talk.path("/git/push"), to(&work, &forge.host))
        .await;
    assert_eq!(status, 409);
}

#[tokio::test]
async fn a_pull_request_is_opened_in_the_language_of_each_forge() {
    let desk = Desk::new().await;
    let forge = ForgeServer::new().await;
    let (talk, work) = repository(&desk, &format!("http://{}/ann/project", forge.host)).await;
    let request = talk.path("/git/pull_request");
    let github = json!({"title": "My work", "body": "What it does.", "head": "feature", "base": "main"});
    let gitlab = json!({"title": "My work", "description": "What it does.", "source_branch": "feature",
        "target_branch": "main"});
    for (kind, place, who, body, page) in [
        (
            "github",
            "/api/v3/repos/ann/project/pulls",
            format!("Bearer {TOKEN}"),
            &github,
            "https://forge.example/pulls/1",
        ),
        (
            "gitea",
            "/api/v1/repos/ann/project/pulls",
            format!("token {TOKEN}"),
            &github,
            "https://forge.example/pulls/1",
        ),
        (
            "gitlab",
            "/api/v4/projects/ann%2Fproject/merge_requests",
            TOKEN.to_owned(),
            &gitlab,
            "https://forge.example/mr/1",
        ),
    ] {
        add_account(&desk, &forge.host, kind, TOKEN).await;
        let opened = desk.post(&request, to(&work, &forge.host)).await;
        assert_eq!(opened, json!({ "url": page }));
        let asked = forge.asked(&format!("POST {place}"));
        let [(_, shown, sent)] = &asked[..] else {
            panic!("{kind}: {:?}", forge.asked(""));
        };
        assert_eq!(*shown, who);
        assert_eq!(serde_json::from_str::<Value>(sent).unwrap(), *body, "{kind}");
    }
    add_account(&desk, &forge.host, "github", "tok-WRONG").await;
    let (status, sentence) = desk.refusal(Method::POST, &request, to(&work, &forge.host)).await;
    assert!(status == 502 && sentence.as_str().unwrap().contains("does not accept the token"));
    let (status, _) = desk
        .ask(
            Method::DELETE,
            &format!("/api/settings/git_accounts/{}", forge.host),
            None,
        )
        .await;
    assert_eq!(status, 200);
    assert_eq!(
        desk.get("/api/settings/git_accounts").await,
        json!({"accounts": []})
    );
}

#[tokio::test]
async fn repositories_are_found_with_the_account_of_their_provider() {
    let desk = Desk::new().await;
    let forge = ForgeServer::new().await;
    let search = "/api/git/repositories/search";
    for (kind, words, asked) in [
        (
            "github",
            "",
            "GET /api/v3/user/repos?sort=pushed&per_page=1&page=2",
        ),
        (
            "github",
            "pro",
            "GET /api/v3/search/repositories?q=pro&per_page=1&page=2",
        ),
        (
            "gitlab",
            "pro",
            "GET /api/v4/projects?membership=true&search=pro&per_page=1&page=2",
        ),
        ("gitea", "pro", "GET /api/v1/repos/search?q=pro&limit=1&page=2"),
    ] {
        let path = format!("{search}?provider={kind}&query={words}&limit=1&page_id=2");
        if words.is_empty() {
            let none = json!({"items": [], "next_page_id": null, "missing_token": true});
            assert_eq!(desk.get(&path).await, none);
        }
        add_account(&desk, &forge.host, kind, TOKEN).await;
        let page = desk.get(&path).await;
        let project = json!({"id": "7", "full_name": "ann/project", "git_provider": kind, "is_public": false,
            "stargazers_count": 3, "pushed_at": "2026-01-02T03:04:05Z", "main_branch": "main"});
        assert_eq!(
            page,
            json!({"items": [project], "next_page_id": "3", "missing_token": false})
        );
        assert_eq!(forge.asked(asked).len(), 1, "{:?}", forge.asked("GET"));
    }
    assert_eq!(desk.refusal(Method::GET, search, Value::Null).await.0, 422);
    assert_eq!(
        desk.refusal(Method::GET, &format!("{search}?provider=x"), Value::Null)
            .await
            .0,
        422
    );
}

#[tokio::test]
async fn a_member_leads_the_server_to_no_forge_within_its_network_but_those_of_its_owner() {
    let desk = Desk::new().await;
    desk.add_user("root", Role::Admin).await;
    let key = desk.add_user("ann", Role::Member).await;
    let forge = ForgeServer::new().await;
    let ask = async |method: Method, path: &str, body: Value| {
        let request = desk.request(method, path).header("X-Session-API-Key", &key);
        let answer = request.json(&body).send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.json().await.unwrap_or(Value::Null),
        )
    };
    let named = forge.host.replace("127.0.0.1", "localhost");
    for host in [&forge.host, &named] {
        let account = json!({"address": format!("http://{host}"), "kind": "gitea", "token": TOKEN});
        let path = "/api/settings/git_accounts";
        assert_eq!(ask(Method::PUT, path, account).await.0, 200);
        let (status, refusal) = ask(Method::GET, &format!("{path}/{host}/repositories"), Value::Null).await;
        assert_eq!(status, 403, "{host}: {refusal}");
        assert!(refusal.to_string().contains("owner of the server"), "{refusal}");
    }
    let (status, _) = ask(
        Method::GET,
        "/api/git/repositories/search?provider=gitea",
        Value::Null,
    )
    .await;
    assert_eq!(status, 403);
    assert!(forge.asked("").is_empty(), "{:?}", forge.asked(""));

    add_account(&desk, &forge.host, "gitea", TOKEN).await;
    let path = format!("/api/settings/git_accounts/{}/repositories", forge.host);
    let (status, found) = ask(Method::GET, &path, Value::Null).await;
    assert_eq!(
        (status, &found["repositories"][0]["name"]),
        (200, &json!("ann/project"))
    );
}
