//! Git through the executor, with real and with hostile repositories.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use deft_executor::{Against, Change, ChangeStatus, Client, FileDiff, RequestError};

use super::*;

pub(super) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with one commit of the given files.
pub(super) fn repository(directory: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(directory).unwrap();
    git(directory, &["init", "--quiet"]);
    commit(directory, files, "first");
}

fn commit(directory: &Path, files: &[(&str, &str)], message: &str) {
    for (name, content) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    git(directory, &["add", "--all"]);
    git(
        directory,
        &["commit", "--quiet", "--allow-empty", "--message", message],
    );
}

async fn changes(client: &Client, path: &str) -> Vec<String> {
    let changes = client.git_changes(path, None).await.unwrap();
    changes
        .iter()
        .map(|Change { status, path }| format!("{status:?} {path}"))
        .collect()
}

#[tokio::test]
async fn changes_are_told_with_any_name_and_in_nested_repositories_too() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    assert!(matches!(
        client.git_changes("repo", None).await,
        Err(RequestError::NotFound { .. })
    ));
    repository(
        &root,
        &[
            ("has space.txt", "1"),
            ("new\nline", "1"),
            ("gone", "1"),
            ("old/name", "1"),
            ("same", "1"),
        ],
    );
    fs::write(root.join(".gitignore"), "ignored\n").unwrap();
    commit(&root, &[], "ignore");
    fs::write(root.join("has space.txt"), "2").unwrap();
    fs::write(root.join("new\nline"), "2").unwrap();
    fs::remove_file(root.join("gone")).unwrap();
    git(&root, &["mv", "old/name", "moved"]);
    fs::write(root.join("ignored"), "x").unwrap();
    fs::create_dir(root.join("fresh")).unwrap();
    fs::write(root.join("fresh/ünïcode \"quoted\""), "x").unwrap();
    repository(&root.join("inner"), &[("file", "1")]);
    fs::write(root.join("inner/file"), "2").unwrap();
    fs::write(root.join("same"), "1").unwrap(); // touched, but the same

    let expected = [
        "Added fresh/ünïcode \"quoted\"",
        "Deleted gone",
        "Updated has space.txt",
        "Updated inner/file",
        "Added moved",
        "Updated new\nline",
        "Deleted old/name",
    ];
    assert_eq!(changes(&client, "repo").await, expected);
    assert_eq!(changes(&client, "repo/fresh").await, ["Added ünïcode \"quoted\""]);
    // The workspace itself is no repository, but there is one in it.
    assert!(
        changes(&client, ".")
            .await
            .contains(&"Deleted repo/gone".to_owned())
    );
    let wire = serde_json::to_value(ChangeStatus::Added).unwrap();
    assert_eq!(wire, "ADDED");

    let found = client.git_repositories("repo").await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].branch.as_deref(), Some("main"));
    assert_eq!(
        found[0].head.as_deref(),
        Some(&*git(&root, &["rev-parse", "HEAD"]))
    );
    assert!(found[1].path.ends_with("repo/inner"));
}

#[tokio::test]
async fn the_base_of_a_comparison_is_what_people_mean() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    fs::create_dir(&root).unwrap();
    git(&root, &["init", "--quiet"]);
    fs::write(root.join("file"), "1").unwrap();
    assert_eq!(
        changes(&client, "repo").await,
        ["Added file"],
        "before the first commit: nothing"
    );
    assert!(
        client
            .git_commits("repo", 0, 10)
            .await
            .unwrap()
            .commits
            .is_empty()
    );
    commit(&root, &[], "first");
    assert!(changes(&client, "repo").await.is_empty());
    git(&root, &["checkout", "--quiet", "-b", "work"]);
    commit(&root, &[("file", "2")], "second");
    assert_eq!(
        changes(&client, "repo").await,
        ["Updated file"],
        "since the local main branch"
    );

    let origin = place.root.path().join("origin.git");
    git(
        place.root.path(),
        &["clone", "--quiet", "--bare", "repo", "origin.git"],
    );
    git(&root, &["remote", "add", "origin", origin.to_str().unwrap()]);
    git(&root, &["push", "--quiet", "origin", "main", "work"]);
    commit(&root, &[("third", "3")], "third");
    assert_eq!(changes(&client, "repo").await, ["Added third"], "since the push");
    git(&root, &["push", "--quiet", "origin", "work"]);
    assert_eq!(
        changes(&client, "repo").await,
        ["Updated file", "Added third"],
        "all was pushed: since main"
    );
    fs::write(root.join("untracked"), "").unwrap();
    assert_eq!(changes(&client, "repo").await, ["Added untracked"]);
    let since = client.git_changes("repo", Some("HEAD~2")).await.unwrap();
    assert_eq!(since.len(), 3);
    for bad in ["no-such", "--output=/tmp/x", "-x", ""] {
        let error = client.git_changes("repo", Some(bad)).await.unwrap_err();
        assert!(
            matches!(error, RequestError::UnknownRevision { .. }),
            "{bad}: {error}"
        );
    }
}

#[tokio::test]
async fn a_diff_has_both_sides_whole() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    repository(&root, &[("a b/file", "old\n"), ("gone/file", "was here\n")]);
    fs::write(root.join("a b/file"), "new\n").unwrap();
    fs::write(root.join("added"), "fresh\n").unwrap();
    fs::remove_dir_all(root.join("gone")).unwrap();
    symlink("/etc/passwd", root.join("link")).unwrap();
    let sides = |original: Option<&str>, modified: Option<&str>| FileDiff {
        original: original.map(str::to_owned),
        modified: modified.map(str::to_owned),
    };
    let diff = async |path: &str| client.git_diff(path, Against::Base).await;
    assert_eq!(
        diff("repo/a b/file").await,
        Ok(sides(Some("old\n"), Some("new\n")))
    );
    assert_eq!(diff("repo/added").await, Ok(sides(None, Some("fresh\n"))));
    assert_eq!(diff("repo/gone/file").await, Ok(sides(Some("was here\n"), None)));
    assert_eq!(
        diff("repo/link").await,
        Ok(sides(None, Some("/etc/passwd"))),
        "a link is not followed"
    );
    assert!(matches!(
        diff("repo/none").await,
        Err(RequestError::NotFound { .. })
    ));
    assert!(matches!(
        diff("/etc/passwd").await,
        Err(RequestError::Outside { .. })
    ));
    assert!(matches!(
        diff("elsewhere").await,
        Err(RequestError::NotARepository { .. })
    ));
    fs::write(root.join("added"), "x".repeat(1024 * 1024 + 1)).unwrap();
    assert!(matches!(
        diff("repo/added").await,
        Err(RequestError::TooLarge { .. })
    ));
    fs::write(root.join("added"), "fresh\n").unwrap();

    commit(&root, &[], "second: | %s\ttab");
    let page = client.git_commits("repo", 0, 1).await.unwrap();
    assert!(page.has_more);
    assert_eq!(
        (&*page.commits[0].subject, &*page.commits[0].author),
        ("second: | %s\ttab", "A")
    );
    assert!(page.commits[0].sha.starts_with(&page.commits[0].short_sha));
    let older = client.git_commits("repo", 1, 10).await.unwrap();
    assert_eq!((older.commits.len(), older.has_more), (1, false));

    let sha = &page.commits[0].short_sha;
    let changed = client.git_commit_changes("repo", sha).await.unwrap();
    let changed: Vec<_> = changed.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(changed, ["a b/file", "added", "gone/file", "link"]);
    let first = client
        .git_commit_changes("repo", &older.commits[0].sha)
        .await
        .unwrap();
    assert_eq!(first.len(), 2);
    let of_commit = client
        .git_diff("repo/a b/file", Against::Commit(sha.clone()))
        .await;
    assert_eq!(of_commit, Ok(sides(Some("old\n"), Some("new\n"))));
}

/// Asks everything that can be asked.
async fn ask_everything(client: &Client) {
    let _ = client.git_changes("repo", None).await;
    let _ = client.git_changes("repo", Some("HEAD")).await;
    for against in [
        Against::Base,
        Against::Revision("HEAD".into()),
        Against::Commit("HEAD".into()),
    ] {
        let _ = client.git_diff("repo/file", against).await;
    }
    for file in ["file", "new"] {
        let _ = client.git_patch("repo", file, None).await;
    }
    if let Ok(review) = client.git_review("repo/file", None).await {
        let _ = client.git_revert("repo/file", None, &review.version).await;
    }
    let _ = client.git_commits("repo", 0, 10).await;
    let _ = client.git_commit_changes("repo", "HEAD").await;
    let _ = client.git_repositories(".").await;
}

#[tokio::test]
async fn nothing_that_a_hostile_repository_names_is_run() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    repository(&root, &[("file", "1\n"), ("other", "1\n")]);
    let canary = place.root.path().join("ran");
    let script = place.root.path().join("evil.sh");
    fs::write(
        &script,
        format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", canary.display()),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = script.to_str().unwrap();
    fs::write(root.join(".gitattributes"), "* filter=evil.x=y diff=evil\n").unwrap();
    fs::write(root.join(".git/info/attributes"), "* filter=evil.x=y diff=evil\n").unwrap();
    let hooks = [
        "post-index-change",
        "reference-transaction",
        "post-checkout",
        "fsmonitor-watchman",
    ];
    for hook in hooks {
        let hook = root.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::copy(&script, hook).unwrap();
    }
    for (key, value) in [
        ("core.fsmonitor", evil),
        ("core.sshCommand", evil),
        ("core.pager", evil),
        ("core.editor", evil),
        ("core.askPass", evil),
        ("core.alternateRefsCommand", evil),
        ("core.gitProxy", evil),
        ("credential.helper", evil),
        ("diff.external", evil),
        ("diff.evil.command", evil),
        ("diff.evil.textconv", evil),
        ("filter.evil.x=y.clean", evil),
        ("filter.evil.x=y.smudge", evil),
        ("filter.evil.x=y.process", evil),
        ("filter.evil.x=y.required", "true"),
        ("gpg.program", evil),
        ("log.showSignature", "true"),
        ("interactive.diffFilter", evil),
        ("pager.diff", evil),
        ("pager.log", evil),
        ("pager.status", evil),
        ("status.submoduleSummary", "true"),
    ] {
        git(&root, &["config", key, value]);
    }
    fs::write(root.join("file"), "2\n").unwrap();
    fs::write(root.join("new"), "3\n").unwrap();
    // The trap works: without our care it runs.
    let careless = Command::new("git")
        .args(["diff", "HEAD"])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(canary.exists(), "{careless:?}");
    fs::remove_file(&canary).unwrap();

    ask_everything(&client).await;
    assert!(!canary.exists(), "{}", fs::read_to_string(&canary).unwrap());
    let patch = client.git_patch("repo", "new", None).await.unwrap();
    assert!(String::from_utf8(patch).unwrap().ends_with("\n+3\n"));
    let gone = client.git_patch("repo", "never", None).await.unwrap();
    assert!(gone.is_empty(), "what vanished meanwhile has no patch");
    let seen = changes(&client, "repo").await;
    assert!(seen.contains(&"Updated file".to_owned()), "{seen:?}");
    let diff = client.git_diff("repo/file", Against::Base).await.unwrap();
    assert_eq!(
        (diff.original.as_deref(), diff.modified.as_deref()),
        (Some("1\n"), Some("2\n"))
    );
}

#[tokio::test]
async fn a_hostile_submodule_and_a_partial_clone_run_nothing_either() {
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().join("repo");
    repository(&root, &[("file", "1\n")]);
    repository(&root.join("sub"), &[("file", "1\n")]);
    git(&root, &["add", "sub"]);
    git(&root, &["commit", "--quiet", "--message", "with a submodule"]);
    let canary = place.root.path().join("ran");
    let evil = format!("touch {}; false", canary.display());
    for key in ["core.fsmonitor", "core.sshCommand"] {
        git(&root.join("sub"), &["config", key, &evil]);
    }
    fs::write(root.join("sub/file"), "2\n").unwrap();
    let blob = git(&root, &["rev-parse", "HEAD:file"]);
    git(
        &root,
        &["config", "remote.origin.url", "ssh://nowhere.invalid/repo"],
    );
    git(&root, &["config", "remote.origin.promisor", "true"]);
    git(&root, &["config", "extensions.partialClone", "origin"]);
    git(&root, &["config", "core.repositoryFormatVersion", "1"]);
    git(&root, &["config", "core.sshCommand", &evil]);
    fs::remove_file(root.join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    fs::write(root.join("file"), "2\n").unwrap();
    let careless = Command::new("git")
        .args(["cat-file", "-p", "HEAD:file"])
        .current_dir(&root)
        .output();
    assert!(canary.exists(), "{careless:?}");
    fs::remove_file(&canary).unwrap();

    ask_everything(&client).await;
    let _ = client.git_changes("repo", None).await;
    assert!(!canary.exists());
}

#[tokio::test]
async fn a_repository_that_leads_elsewhere_is_refused() {
    let elsewhere = tempfile::tempdir().unwrap();
    repository(&elsewhere.path().join("private"), &[("key", "secret")]);
    let private = elsewhere.path().join("private/.git");
    let place = Place::new();
    let client = place.connect().await;
    let root = place.root.path().to_owned();
    fs::create_dir(root.join("file")).unwrap();
    fs::write(root.join("file/.git"), format!("gitdir: {}\n", private.display())).unwrap();
    fs::create_dir(root.join("link")).unwrap();
    symlink(&private, root.join("link/.git")).unwrap();
    repository(&root.join("common"), &[("a", "1")]);
    fs::write(root.join("common/.git/commondir"), private.display().to_string()).unwrap();
    for name in ["file", "link", "common"] {
        for error in [
            client.git_changes(name, None).await.map(drop).unwrap_err(),
            client.git_commits(name, 0, 5).await.map(drop).unwrap_err(),
            client
                .git_diff(&format!("{name}/key"), Against::Base)
                .await
                .map(drop)
                .unwrap_err(),
        ] {
            assert!(matches!(error, RequestError::Outside { .. }), "{name}: {error}");
        }
    }

    // A work tree elsewhere is ignored; the repository around the workspace is not ours to show.
    repository(&root.join("tree"), &[("mine", "1")]);
    git(
        &root.join("tree"),
        &["config", "core.worktree", elsewhere.path().to_str().unwrap()],
    );
    assert!(changes(&client, "tree").await.is_empty());
    // What looks like a bare repository is only files.
    fs::create_dir(root.join("bare")).unwrap();
    git(&root.join("bare"), &["init", "--quiet", "--bare"]);
    let bare = client.git_commits("bare", 0, 5).await.unwrap_err();
    assert!(matches!(bare, RequestError::NotARepository { .. }), "{bare}");
}
