//! What a reviewer sees of a file, and how it becomes what it was.

use deft_executor::{RequestError, Shown};

use super::git::{git, repository};
use super::*;

/// A picture, as far as its first bytes.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\xff";

#[tokio::test]
async fn a_file_becomes_what_it_was_byte_by_byte() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    repository(
        &root,
        &[
            ("text", "old\n"),
            ("gone/file", "was here\n"),
            ("run", "#!/bin/sh\n"),
        ],
    );
    fs::write(root.join("picture"), PICTURE).unwrap();
    fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    git(&root, &["add", "--all"]);
    git(&root, &["commit", "--quiet", "--message", "second"]);
    fs::write(root.join("text"), "new\n").unwrap();
    fs::write(root.join("picture"), b"\x89other").unwrap();
    fs::remove_file(root.join("run")).unwrap();
    fs::remove_dir_all(root.join("gone")).unwrap();
    fs::write(root.join("added"), "fresh\n").unwrap();
    let review = async |path: &str| client.git_review(path, None).await.unwrap();

    let text = review("repo/text").await;
    assert_eq!(
        (text.content, text.original.as_deref(), text.modified.as_deref()),
        (Shown::Text, Some("old\n"), Some("new\n"))
    );
    let picture = review("repo/picture").await;
    assert_eq!(
        (picture.content, picture.original, picture.modified),
        (Shown::Binary, None, None)
    );
    for name in ["text", "picture", "run", "gone/file", "added"] {
        let path = format!("repo/{name}");
        let version = review(&path).await.version;
        client.git_revert(&path, None, &version).await.unwrap();
    }
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(root.join("picture")).unwrap(), PICTURE);
    assert!(!root.join("added").exists(), "it was not there before");
    let mode = fs::metadata(root.join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[tokio::test]
async fn a_file_that_has_changed_since_it_was_looked_at_is_left_alone() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    repository(&root, &[("file", "old\n")]);
    fs::write(root.join("file"), "new\n").unwrap();
    let seen = client.git_review("repo/file", None).await.unwrap().version;
    fs::write(root.join("file"), "New\n").unwrap();
    let refused = client.git_revert("repo/file", None, &seen).await;
    assert!(
        matches!(refused, Err(RequestError::Changed { .. })),
        "{refused:?}"
    );
    fs::remove_file(root.join("file")).unwrap();
    let refused = client.git_revert("repo/file", None, &seen).await;
    assert!(
        matches!(refused, Err(RequestError::Changed { .. })),
        "{refused:?}"
    );
    assert!(!root.join("file").exists());
}

#[tokio::test]
async fn what_goes_through_a_filter_or_is_elsewhere_or_large_is_told() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    repository(
        &root,
        &[("file", "old\n"), (".gitattributes", "file filter=lfs\n")],
    );
    fs::write(root.join("file"), "new\n").unwrap();
    let seen = client.git_review("repo/file", None).await.unwrap().version;
    let refused = client
        .git_revert("repo/file", None, &seen)
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("lfs"), "{refused}");
    assert_eq!(fs::read(root.join("file")).unwrap(), b"new\n");

    fs::write(root.join("large"), "x".repeat(1024 * 1024 + 1)).unwrap();
    let large = client.git_review("repo/large", None).await.unwrap();
    assert_eq!(large.content, Shown::Large);
    client
        .git_revert("repo/large", None, &large.version)
        .await
        .unwrap();
    assert!(!root.join("large").exists());

    let outside = client.git_revert("/etc/passwd", None, "absent").await;
    assert!(
        matches!(outside, Err(RequestError::Outside { .. })),
        "{outside:?}"
    );
}
