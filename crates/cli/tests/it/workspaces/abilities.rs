//! What can be done in every kind of workspace, beside running commands.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use deft_executor::{Against, ChangeStatus, Client, ShellCommand};
use deft_tools::Overwrite;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use uuid::Uuid;

use super::attacks::{git, whole};
use super::{LIMIT, run};

/// More than any of the streams on the way holds at a time.
const MUCH: usize = 3_000_000;
/// A program that serves one page, with nothing but what Perl has by itself.
pub(super) const SERVER: &str = r#"socket(S, 2, 1, 0); bind(S, pack("Sna4x8", 2, $ARGV[0], "\x7f\0\0\1")) or die $!;
listen(S, 9); while (accept(C, S)) { while (<C>) { last if /^\r?\n/ }
print C "HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nserved"; close C }"#;

/// Tries them all, in a directory of its own. The workspace's files are in `files` on this machine.
pub(super) async fn are_there(client: &Client, files: &Path) {
    let place = files.join("able");
    run(client, "able", "mkdir able; echo before > able/kept").await;
    files_go_up_and_down(client, &place).await;
    changes_are_told(client, &place).await;
    ports_are_reached(client).await;
    files_come_back(client, &place).await;
    fs::remove_dir_all(&place).unwrap();
}

async fn files_go_up_and_down(client: &Client, place: &Path) {
    let content: Vec<u8> = (0..=250).cycle().take(MUCH).collect();
    let mut upload = client.write("able/in/much", Some(0o640)).await.unwrap();
    for piece in content.chunks(100_000) {
        upload.send(Bytes::copy_from_slice(piece)).await.unwrap();
    }
    assert_eq!(upload.finish().await.unwrap(), MUCH as u64);
    let written = place.join("in/much");
    assert!(fs::read(&written).unwrap() == content);
    assert_eq!(written.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(whole(client.read("able/in/much", 0, None).await).await.unwrap() == content);

    let archive = whole(client.archive("able/in", Vec::new()).await).await.unwrap();
    let mut unpack = client.unpack("able/out", 2 * MUCH as u64).await.unwrap();
    unpack.send(archive.into()).await.unwrap();
    unpack.finish().await.unwrap();
    assert!(fs::read(place.join("out/much")).unwrap() == content);
}

async fn changes_are_told(client: &Client, place: &Path) {
    let root = place.join("repo");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("file"), "before\n").unwrap();
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "--all"]);
    git(&root, &["commit", "--quiet", "--message", "first"]);
    fs::write(root.join("file"), "after\n").unwrap();
    let changes = client.git_changes("able/repo", None).await.unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(
        (changes[0].status, changes[0].path.as_str()),
        (ChangeStatus::Updated, "file")
    );
    let diff = client.git_diff("able/repo/file", Against::Base).await.unwrap();
    assert_eq!(
        (diff.original.as_deref(), diff.modified.as_deref()),
        (Some("before\n"), Some("after\n"))
    );
}

async fn ports_are_reached(client: &Client) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let id = Uuid::new_v4();
    let command = ShellCommand {
        command: format!("exec perl -e '{SERVER}' {port}"),
        ..ShellCommand::default()
    };
    client.start_command(id, command).await.unwrap();
    let begun = Instant::now();
    while client
        .ports()
        .await
        .unwrap()
        .iter()
        .all(|listed| listed.port != port)
    {
        assert!(begun.elapsed() < LIMIT, "{:?}", client.commands().await);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let mut stream = client.connect_port(port).await.unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("served"), "{answer}");
    client.stop_command(id).await.unwrap();
}

async fn files_come_back(client: &Client, place: &Path) {
    let before = client.checkpoint("a turn".to_owned()).await.unwrap();
    run(client, "change", "echo after > able/kept; echo new > able/new").await;
    client.settle().await.unwrap();
    let told = client.preview(before).await.unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    let restored = client.restore(before, Overwrite::Refuse).await.unwrap();
    assert!(restored.failed.is_empty(), "{restored:?}");
    assert_eq!(fs::read_to_string(place.join("kept")).unwrap(), "before\n");
    assert!(!place.join("new").exists());
}
