//! What changed in a directory, to be taken elsewhere.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use reqwest::Method;
use serde_json::json;

use crate::desk::{Desk, KEY};
use crate::workspaces::git;

#[tokio::test]
async fn changes_are_taken_along_as_a_patch_with_links_and_programs() {
    let desk = Desk::new().await;
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (here, there) = (here.path(), there.path());
    std::fs::write(here.join("a"), "one\n").unwrap();
    git(here, &["init", "-q"]);
    git(here, &["add", "."]);
    git(here, &["commit", "-qm", "first"]);
    git(there, &["clone", "-q", &here.display().to_string(), "copy"]);
    std::fs::write(here.join("a"), "two").unwrap();
    std::fs::write(here.join("run"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(here.join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a", here.join("link")).unwrap();
    symlink("nowhere", here.join("lost")).unwrap();

    let path = format!(
        "/api/file/archive?path={}&format=git-delta&base_ref=HEAD",
        here.display()
    );
    let answer = desk
        .request(Method::GET, &path)
        .header("X-Session-API-Key", KEY)
        .send()
        .await
        .unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-archive-base-commit"), header("x-archive-head-commit"));
    assert_eq!(header("x-archive-base-ref"), "HEAD");
    std::fs::write(there.join("patch"), answer.text().await.unwrap()).unwrap();
    let copy = there.join("copy");
    git(&copy, &["apply", "../patch"]);
    assert_eq!(std::fs::read_to_string(copy.join("a")).unwrap(), "two");
    let mode = copy.join("run").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(copy.join("link").read_link().unwrap(), Path::new("a"));
    assert_eq!(copy.join("lost").read_link().unwrap(), Path::new("nowhere"));

    let (status, _) = desk
        .ask(Method::GET, &path.replace("git-delta", "zip"), None)
        .await;
    assert_eq!(status, 422);
    let missing = format!("/api/git/changes?path={}/missing", here.display());
    assert_eq!(desk.get(&missing).await, json!([]), "no repository is there");
}
