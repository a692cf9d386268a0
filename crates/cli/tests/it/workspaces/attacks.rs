//! What is tried against every kind of workspace, and must not succeed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use deft_executor::{Against, Client, Download, RequestError};

use super::output;

/// Larger than anything that is kept in memory.
const SPARSE_BYTES: u64 = 1 << 40;
/// What an archive may become.
const MAX_UNPACKED: u64 = 1 << 20;

/// Tries them all, in a directory of its own. The workspace's files are in `files` on this machine.
pub(super) async fn none_succeeds(client: &Client, files: &Path) {
    let place = files.join("attacked");
    fs::create_dir(&place).unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "the secret of others").unwrap();
    let _ = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .args([outside.path(), &place])
        .status();

    no_path_leads_out(client, &place, outside.path()).await;
    what_is_no_file_holds_nobody_up(client, &place).await;
    no_archive_leads_out(client, &place, outside.path()).await;
    a_repository_runs_nothing(client, &place).await;
    output_is_text(client).await;

    let left: Vec<_> = fs::read_dir(outside.path())
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["secret"]);
    assert_eq!(
        fs::read_to_string(outside.path().join("secret")).unwrap(),
        "the secret of others"
    );
    fs::remove_dir_all(&place).unwrap();
}

pub(super) async fn whole(download: Result<Download, RequestError>) -> Result<Vec<u8>, RequestError> {
    let mut download = download?;
    let mut all = Vec::new();
    while let Some(bytes) = download.next().await? {
        all.extend_from_slice(&bytes);
    }
    Ok(all)
}

async fn write(client: &Client, path: &str) -> Result<u64, RequestError> {
    let mut upload = client.write(path, None).await?;
    upload.send(Bytes::from_static(b"overwritten")).await?;
    upload.finish().await
}

async fn no_path_leads_out(client: &Client, place: &Path, outside: &Path) {
    symlink(outside, place.join("out")).unwrap();
    symlink(outside.join("secret"), place.join("file-out")).unwrap();
    symlink(outside.join("none"), place.join("dangling-out")).unwrap();
    symlink("/proc/self/environ", place.join("environ")).unwrap();
    let up = "../".repeat(20);
    let outside = outside.display();
    for path in [
        format!("{up}{outside}/secret"),
        format!("attacked/{up}etc/passwd"),
        format!("{outside}/secret"),
        format!("/proc/self/root{outside}/secret"),
        format!("//{outside}//secret"),
        "/etc/passwd".to_owned(),
        "attacked/out/secret".to_owned(),
        "attacked/out/new/file".to_owned(),
        "attacked/file-out".to_owned(),
        "attacked/dangling-out".to_owned(),
        "attacked/environ".to_owned(),
        "attacked/nul\0byte".to_owned(),
        "x/".repeat(3000),
    ] {
        let read = whole(client.read(&path, 0, None).await).await.map(drop);
        let written = write(client, &path).await.map(drop);
        for tried in [read, written] {
            let is_refused = matches!(
                tried,
                Err(RequestError::Outside { .. } | RequestError::Invalid { .. })
            );
            assert!(is_refused, "{path:?}: {tried:?}");
        }
        client.stat(&path).await.unwrap_err();
    }
    // What only looks like a way out is a name like any other.
    for name in ["..%2f..%2fetc", "%252e%252e", "..\\..\\etc", "\u{2024}\u{2024}"] {
        write(client, &format!("attacked/{name}")).await.unwrap();
        assert!(place.join(name).is_file(), "{name}");
    }
}

async fn what_is_no_file_holds_nobody_up(client: &Client, place: &Path) {
    let special = Command::new("mkfifo").arg(place.join("pipe")).status().unwrap();
    assert!(special.success());
    let pipe = whole(client.read("attacked/pipe", 0, None).await).await;
    assert!(matches!(pipe, Err(RequestError::Special { .. })), "{pipe:?}");
    symlink("/dev/zero", place.join("zeros")).unwrap();
    let zeros = whole(client.read("attacked/zeros", 0, None).await)
        .await
        .map(drop);
    assert!(matches!(zeros, Err(RequestError::Outside { .. })), "{zeros:?}");

    fs::create_dir(place.join("holes")).unwrap();
    fs::File::create(place.join("holes/sparse"))
        .unwrap()
        .set_len(SPARSE_BYTES)
        .unwrap();
    let packed = whole(client.archive("attacked/holes", Vec::new()).await)
        .await
        .map(drop);
    assert!(matches!(packed, Err(RequestError::TooLarge { .. })), "{packed:?}");
    let part = whole(client.read("attacked/holes/sparse", SPARSE_BYTES - 3, None).await).await;
    assert_eq!(part, Ok(vec![0; 3]));
    fs::remove_dir_all(place.join("holes")).unwrap();

    // Nor does what stands in the place of files that are read unasked.
    fs::rename(place.join("zeros"), place.join(".ignore")).unwrap();
    fs::rename(place.join("pipe"), place.join(".gitignore")).unwrap();
    let gathered = tokio::time::timeout(super::LIMIT, client.gather(&["agents.md"], &[], &[])).await;
    gathered.unwrap().unwrap();
    for endless in [".ignore", ".gitignore"] {
        fs::remove_file(place.join(endless)).unwrap();
    }
}

async fn no_archive_leads_out(client: &Client, place: &Path, outside: &Path) {
    // What leads out is not in an archive of the directory.
    let packed = whole(client.archive("attacked", Vec::new()).await).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), packed).unwrap();
    let content = Command::new("tar")
        .arg("-xzOf")
        .arg(file.path())
        .output()
        .unwrap();
    assert!(content.status.success() && !content.stdout.is_empty());
    assert!(!String::from_utf8_lossy(&content.stdout).contains("the secret of others"));

    // Archives as the program makes them that people have.
    let source = tempfile::tempdir().unwrap();
    let made = source.path();
    fs::write(made.join("evil"), "evil").unwrap();
    fs::create_dir(made.join("linked")).unwrap();
    fs::write(made.join("linked/evil"), "evil").unwrap();
    symlink(outside, made.join("link")).unwrap();
    fs::hard_link(made.join("evil"), made.join("evil-too")).unwrap();
    let status = Command::new("mkfifo").arg(made.join("pipe")).status().unwrap();
    assert!(status.success());
    fs::File::create(made.join("zeros"))
        .unwrap()
        .set_len(MAX_UNPACKED + 1)
        .unwrap();
    let absolute = outside.join("evil").display().to_string();
    let target = place.join("target");
    fs::create_dir(&target).unwrap();
    let _ = Command::new("chmod").arg("a+rwX").arg(&target).status();
    symlink(outside, target.join("linked")).unwrap();
    for (what, arguments) in [
        (
            "goes up",
            vec!["--transform=s,^,../,".to_owned(), "evil".to_owned()],
        ),
        (
            "absolute",
            vec![format!("--transform=s,^evil,{absolute},"), "evil".to_owned()],
        ),
        ("a link out", vec!["link".to_owned()]),
        ("through a link that is there", vec!["linked/evil".to_owned()]),
        (
            "a hard link that leads out",
            vec![
                "--transform=s,^evil$,../evil,".to_owned(),
                "evil".to_owned(),
                "evil-too".to_owned(),
            ],
        ),
        ("a pipe", vec!["pipe".to_owned()]),
        (
            "the same twice",
            vec![
                "evil".to_owned(),
                "evil".to_owned(),
                "--hard-dereference".to_owned(),
            ],
        ),
        ("too much", vec!["zeros".to_owned()]),
    ] {
        let tar = Command::new("tar")
            .arg("-C")
            .arg(made)
            .args(["-czPf", "-"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            tar.status.success(),
            "{what}: {}",
            String::from_utf8_lossy(&tar.stderr)
        );
        let mut upload = client.unpack("attacked/target", MAX_UNPACKED).await.unwrap();
        let sent = upload.send(Bytes::from(tar.stdout)).await;
        let unpacked = match sent {
            Ok(()) => upload.finish().await,
            Err(error) => Err(error),
        };
        assert!(
            matches!(unpacked, Err(RequestError::Archive { .. })),
            "{what}: {unpacked:?}"
        );
        let left: Vec<_> = fs::read_dir(&target)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left, ["linked"], "{what}");
    }
}

/// Runs this machine's git in a directory.
pub(super) fn git(directory: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=A", "-c", "user.email=a@b"];
    let output = Command::new("git")
        .args(who)
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// As an agent makes one below its directory, of which nothing is protected; a second directory says that its data is
/// there. Where there is no git in the workspace it runs nothing either.
async fn a_repository_runs_nothing(client: &Client, place: &Path) {
    let root = place.join("repo");
    fs::create_dir(&root).unwrap();
    let git = |arguments: &[&str]| git(&root, arguments);
    git(&["init", "--quiet"]);
    fs::write(root.join("file"), "1\n").unwrap();
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "first"]);
    let trap = "touch ran ../ran; false";
    fs::write(root.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
        "diff.evil.textconv",
        "filter.evil.clean",
    ] {
        git(&["-c", "core.fsmonitor=", "config", key, trap]);
    }
    for hook in ["post-index-change", "reference-transaction", "fsmonitor-watchman"] {
        let hook = root.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{trap}\n")).unwrap();
        let _ = Command::new("chmod").arg("+x").arg(&hook).status();
    }
    let pointing = place.join("pointing");
    fs::create_dir(&pointing).unwrap();
    fs::write(pointing.join(".git"), "gitdir: ../repo/.git\n").unwrap();
    fs::write(pointing.join("file"), "3\n").unwrap();
    fs::write(root.join("file"), "2\n").unwrap();
    let _ = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .args([&root, &pointing])
        .status();
    let _ = client.git_changes("attacked", None).await; // with all that are below it
    for name in ["repo", "pointing"] {
        let repository = format!("attacked/{name}");
        let _ = client.git_changes(&repository, None).await;
        let _ = client
            .git_diff(&format!("{repository}/file"), Against::Base)
            .await;
        let _ = client.git_commits(&repository, 0, 10).await;
        let _ = client.git_commit_changes(&repository, "HEAD").await;
    }
    for directory in [&root, &pointing, place] {
        assert!(!directory.join("ran").exists(), "{}", directory.display());
    }
    // The trap works where nobody takes care.
    let _ = Command::new("git")
        .args(["status"])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(root.join("ran").exists());
}

/// What a model reads of a command has nothing that only a terminal understands, or that nobody sees.
async fn output_is_text(client: &Client) {
    let command = r"printf '\033]52;c;c3RvbGVu\007a\033]0;title\007\033]8;;http://x\033\\b\033]8;;\033\\\033[31mc\033[0m'; printf 'd\xe2\x80\xaee\xe2\x80\x8bf\xf3\xa0\x81\x81g\n'";
    assert_eq!(output(client, "attack", command).await, "abcdefg");
}
