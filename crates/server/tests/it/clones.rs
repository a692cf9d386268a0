//! Repositories that are brought from a forge, by real git over HTTP.

use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::forge::{ForgeServer, TOKEN, add_account, git};

/// Far longer than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A forge whose repository has two branches.
async fn filled_forge() -> ForgeServer {
    let forge = ForgeServer::new().await;
    let work = forge.root.path().join("work");
    std::fs::create_dir(&work).unwrap();
    git(&work, &["init", "-q", "."]).await;
    std::fs::write(work.join("a.txt"), "one").unwrap();
    git(&work, &["add", "-A"]).await;
    git(&work, &["commit", "-qm", "first"]).await;
    let bare = forge.root.path().join("ann/project.git");
    let bare = bare.to_str().unwrap();
    git(&work, &["push", "-q", bare, "main", "main:next"]).await;
    forge
}

/// Clones, and gives how it ended.
async fn clone(desk: &Desk, wish: Value) -> Value {
    let (status, begun) = desk.ask(Method::POST, "/api/git/clones", Some(wish)).await;
    assert_eq!(status, 201, "{begun}");
    assert_eq!(begun["state"], "running");
    let path = format!("/api/git/clones/{}", begun["id"].as_str().unwrap());
    let ended = async {
        loop {
            let now = desk.get(&path).await;
            if now["state"] != "running" {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, ended).await.expect("it never ends")
}

#[tokio::test]
async fn a_repository_is_brought_here_with_a_token_that_stands_nowhere() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::with(|config| home.path().clone_into(&mut config.home)).await;
    let forge = filled_forge().await;
    let address = format!("http://{}/ann/project", forge.host);

    let private = clone(&desk, json!({"address": address})).await;
    assert_eq!(private["state"], "failed");
    let sentence = private["text"].as_str().unwrap();
    assert!(
        sentence.contains(&format!("add a git account for {}", forge.host)),
        "{sentence}"
    );
    assert!(
        !Path::new(private["folder"].as_str().unwrap()).exists(),
        "nothing is left of it"
    );

    add_account(&desk, &forge.host, "gitea", TOKEN).await;
    let found = desk
        .get(&format!(
            "/api/settings/git_accounts/{}/repositories?query=pro",
            forge.host
        ))
        .await;
    let offered = json!([{"name": "ann/project", "address": format!("{address}.git"), "is_public": false}]);
    assert_eq!(found["repositories"], offered);

    let done = clone(&desk, json!({"address": found["repositories"][0]["address"]})).await;
    let folder = home.path().join("repositories/project");
    assert_eq!((&done["state"], &done["text"]), (&json!("done"), &json!("")));
    assert_eq!(done["folder"], json!(folder));
    assert_eq!(std::fs::read_to_string(folder.join("a.txt")).unwrap(), "one");
    assert_eq!(
        git(&folder, &["rev-parse", "--abbrev-ref", "main@{upstream}"]).await,
        "origin/main"
    );
    assert_eq!(git(&folder, &["status", "--porcelain"]).await, "");
    let config = std::fs::read_to_string(folder.join(".git/config")).unwrap();
    assert!(config.contains(&address) && !config.contains(TOKEN), "{config}");

    let next = clone(
        &desk,
        json!({"address": format!("{address}.git"), "branch": "next"}),
    )
    .await;
    let second = home.path().join("repositories/project-2");
    assert_eq!(
        (&next["state"], &next["folder"]),
        (&json!("done"), &json!(second))
    );
    assert_eq!(git(&second, &["branch", "--show-current"]).await, "next");

    let missing = clone(&desk, json!({"address": address, "branch": "none"})).await;
    assert!(
        missing["text"]
            .as_str()
            .unwrap()
            .contains("cannot be checked out"),
        "{missing}"
    );
    assert!(
        forge.asked("").iter().all(|(what, ..)| !what.contains(TOKEN)),
        "not in an address"
    );
}

#[tokio::test]
async fn what_is_no_address_of_a_repository_is_refused() {
    let desk = Desk::new().await;
    for (address, branch, sentence) in [
        ("/etc", None, "no address of a repository"),
        ("file:///srv/a/b", None, "no address of a repository"),
        ("ext::sh -c x/y", None, "no address of a repository"),
        (
            "https://ann:secret@forge.example/a/b",
            None,
            "has a password in it",
        ),
        (
            "https://forge.example/a/b",
            Some("--upload-pack=x"),
            "no name of a branch",
        ),
    ] {
        let wish = json!({"address": address, "branch": branch});
        let (status, said) = desk.refusal(Method::POST, "/api/git/clones", wish).await;
        assert!(
            status == 422 && said.as_str().unwrap().contains(sentence),
            "{address}: {said}"
        );
    }
    let (status, _) = desk.ask(Method::GET, "/api/git/clones/none", None).await;
    assert_eq!(status, 404);
}
