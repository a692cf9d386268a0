//! What is particular to other machines.

use std::fs;
use std::os::unix::fs::MetadataExt;

use deft_workspace::Workspace;

use super::conformance::over_ssh;
use super::sshd::Sshd;
use super::{LIMIT, end, open, or_skip, output};

#[tokio::test]
async fn another_machine_is_only_entered_when_it_is_known_and_each_refusal_says_what_to_do() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let files = tempfile::tempdir().unwrap();
    let refusal = async |config: &str, port: u16| {
        let mut workspace = over_ssh(&server, files.path());
        workspace.target.config = Some(server.path(config));
        workspace.target.port = Some(port);
        let Err(error) = workspace.open().await else {
            panic!("it was let in with {config}");
        };
        error.to_string()
    };

    fs::write(server.path("nobody"), "").unwrap();
    server.config("unknown", "nobody", "user").unwrap();
    let unknown = refusal("unknown", server.port).await;
    assert!(
        unknown.contains("is not known") && unknown.contains("connect once by hand"),
        "{unknown}"
    );
    assert_eq!(
        fs::read_to_string(server.path("nobody")).unwrap(),
        "",
        "nothing was accepted on the way"
    );

    let other_key = fs::read_to_string(server.path("stranger.pub")).unwrap();
    fs::write(
        server.path("other"),
        format!("[127.0.0.1]:{} {other_key}", server.port),
    )
    .unwrap();
    server.config("changed", "other", "user").unwrap();
    let changed = refusal("changed", server.port).await;
    assert!(
        changed.contains("has changed") && changed.contains("ssh-keygen -R"),
        "{changed}"
    );

    server.config("stranger-config", "known", "stranger").unwrap();
    let denied = refusal("stranger-config", server.port).await;
    assert!(
        denied.contains("does not let us in") && denied.contains("ssh-add"),
        "{denied}"
    );

    let unreachable = refusal("config", 1).await;
    assert!(unreachable.contains("cannot be reached"), "{unreachable}");

    let mut workspace = over_ssh(&server, files.path());
    workspace.root = "/nowhere at all".to_owned();
    let missing = workspace.open().await.err().unwrap().to_string();
    assert!(missing.contains("/nowhere at all"), "{missing}");
    workspace.disconnect().await.unwrap();
}

#[tokio::test]
async fn the_program_is_uploaded_once_and_goes_with_the_last_conversation() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let files = tempfile::tempdir().unwrap();
    let cache = server.path("home").join(".cache/deft");
    let uploaded = || {
        let entries = fs::read_dir(&cache).unwrap().flatten();
        let programs: Vec<_> = entries
            .filter_map(|entry| entry.path().join("deft").metadata().ok())
            .collect();
        assert_eq!(programs.len(), 1);
        programs[0].ino()
    };
    let (first, second) = (over_ssh(&server, files.path()), over_ssh(&server, files.path()));
    let client = open(&first).await;
    assert_eq!(
        output(&client, "1", "echo $HOME").await,
        server.path("home").display().to_string()
    );
    let inode = uploaded();
    drop(client);
    assert_eq!(output(&open(&second).await, "1", "echo hi").await, "hi");
    assert_eq!(uploaded(), inode);

    first.remove().await.unwrap();
    assert_eq!(uploaded(), inode, "the second one still needs it");
    assert_eq!(output(&open(&second).await, "2", "echo again").await, "again");
    second.remove().await.unwrap();
    assert!(!cache.exists());
}

#[tokio::test]
async fn a_program_that_somebody_has_moved_away_is_brought_again() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let files = tempfile::tempdir().unwrap();
    let cache = server.path("home").join(".cache/deft");
    let workspace = over_ssh(&server, files.path());
    let joined = async || {
        let opened = tokio::time::timeout(LIMIT, open(&workspace));
        opened.await.expect("it hangs")
    };
    let client = joined().await;
    let instance = client.hello().instance;
    assert_eq!(output(&client, "1", "echo first > file; cat file").await, "first");
    drop(client);

    // The program alone: the executor runs on, and is joined.
    for entry in fs::read_dir(&cache).unwrap().flatten() {
        if entry.path().join("deft").exists() {
            fs::rename(entry.path(), cache.with_file_name("moved")).unwrap();
        }
    }
    let client = joined().await;
    assert_eq!(client.hello().instance, instance);
    assert_eq!(output(&client, "2", "cat file").await, "first");
    drop(client);

    // All of it: the executor of before is out of reach, and there is another.
    fs::rename(&cache, cache.with_file_name("moved-too")).unwrap();
    let client = joined().await;
    assert_ne!(client.hello().instance, instance);
    assert_eq!(output(&client, "3", "cat file").await, "first");
    drop(client);
    workspace.remove().await.unwrap();
    assert!(!cache.exists());
    end(&workspace.conversation.hex());
}

#[tokio::test]
async fn a_disk_that_is_full_is_told_with_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        return super::skip("only root may make a small disk");
    }
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let cache = server.path("home").join(".cache");
    std::fs::create_dir_all(&cache).unwrap();
    let mut small = std::process::Command::new("mount");
    let small = small.args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&cache);
    assert!(small.status().unwrap().success());
    let files = tempfile::tempdir().unwrap();
    let full = over_ssh(&server, files.path())
        .open()
        .await
        .err()
        .unwrap()
        .to_string();
    let gone = std::process::Command::new("umount").arg(&cache).status();
    assert!(gone.unwrap().success());
    assert!(
        full.contains("has no room left") && full.contains("make room"),
        "{full}"
    );
}
