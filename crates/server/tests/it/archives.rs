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
    std::fs::write(here.join("kept"), "old\n").unwrap();
    std::fs::create_dir(here.join("moved")).unwrap();
    std::fs::write(here.join("moved/file"), "old\n").unwrap();
    for old in ["tool", "gone"] {
        std::fs::write(here.join(old), b"\x7fELF\0old").unwrap();
    }
    git(here, &["init", "-q"]);
    git(here, &["add", "."]);
    git(here, &["commit", "-qm", "first"]);
    git(there, &["clone", "-q", &here.display().to_string(), "copy"]);
    std::fs::write(here.join("a"), "two").unwrap();
    std::fs::write(here.join("run"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(here.join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a", here.join("link")).unwrap();
    symlink("nowhere", here.join("lost")).unwrap();
    symlink("/", here.join("to a \"directory\"")).unwrap();
    git(here, &["rm", "-q", "--cached", "kept"]);
    std::fs::write(here.join("kept"), "new\n").unwrap();
    std::fs::remove_dir_all(here.join("moved")).unwrap();
    symlink("..", here.join("moved")).unwrap();
    std::fs::write(here.join("tool"), b"\x7fELF\0new").unwrap();
    std::fs::set_permissions(here.join("tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(here.join("picture"), b"\x89PNG\0\xff new").unwrap();
    std::fs::write(here.join("latin"), b"na\xefve\n").unwrap();
    std::fs::remove_file(here.join("gone")).unwrap();
    std::fs::create_dir(here.join("target")).unwrap();
    std::fs::write(here.join("target/built"), "much").unwrap();

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
    std::fs::write(there.join("patch"), answer.bytes().await.unwrap()).unwrap();
    let copy = there.join("copy");
    git(&copy, &["apply", "../patch"]);
    assert_eq!(std::fs::read_to_string(copy.join("a")).unwrap(), "two");
    let mode = copy.join("run").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(copy.join("link").read_link().unwrap(), Path::new("a"));
    assert_eq!(copy.join("lost").read_link().unwrap(), Path::new("nowhere"));
    assert_eq!(
        copy.join("to a \"directory\"").read_link().unwrap(),
        Path::new("/")
    );
    assert_eq!(copy.join("moved").read_link().unwrap(), Path::new(".."));

    for name in ["tool", "picture", "latin", "kept"] {
        let (old, new) = (here.join(name), copy.join(name));
        assert_eq!(
            std::fs::read(&new).unwrap(),
            std::fs::read(&old).unwrap(),
            "{name}"
        );
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
        assert_eq!(mode(&new), mode(&old), "{name}");
    }
    assert!(!copy.join("gone").exists() && !copy.join("target").exists());

    let (status, _) = desk
        .ask(Method::GET, &path.replace("git-delta", "zip"), None)
        .await;
    assert_eq!(status, 422);
    let missing = format!("/api/git/changes?path={}/missing", here.display());
    assert_eq!(desk.get(&missing).await, json!([]), "no repository is there");
}

#[tokio::test]
async fn names_in_a_patch_begin_at_the_directory_or_at_the_only_repository_in_it() {
    let desk = Desk::new().await;
    let around = tempfile::tempdir().unwrap();
    let repository = around.path().join("repo");
    std::fs::create_dir_all(repository.join("sub")).unwrap();
    std::fs::write(repository.join("sub/a"), b"\0old").unwrap();
    git(&repository, &["init", "-q"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-qm", "first"]);
    for name in ["sub/a", "sub/b", "sub/b.log", "top"] {
        std::fs::write(repository.join(name), b"\0new").unwrap();
    }
    let asked = async |path: &Path, more: &str| {
        let path = format!("/api/file/archive?path={}{more}", path.display());
        let answer = desk.request(Method::GET, &path);
        let answer = answer.header("X-Session-API-Key", KEY).send().await.unwrap();
        let named = answer.headers()["content-disposition"]
            .to_str()
            .unwrap()
            .to_owned();
        let text = answer.text().await.unwrap();
        let heads = text.lines().filter(|line| line.starts_with("diff "));
        (named, heads.map(str::to_owned).collect::<Vec<_>>())
    };
    let (_, heads) = asked(&repository.join("sub"), "&exclude=*.log").await;
    assert_eq!(heads, ["diff --git a/a b/a", "diff --git a/b b/b"]);
    let (named, heads) = asked(around.path(), "&exclude=sub").await;
    assert!(named.contains("\"repo.patch\""), "{named}");
    assert_eq!(heads, ["diff --git a/top b/top"]);
}
