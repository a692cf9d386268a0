//! Going back, as people do it.

use std::fs;

use deft_executor::Client;
use tokio::net::UnixStream;

use crate::commands::{Home, lines, stderr, stdout};

#[tokio::test]
async fn a_workspace_goes_back_to_a_checkpoint_and_forward_again() {
    let home = Home::new();
    let model = home.script("[{text: Hello.}]");
    let ran = home.run(&["run", "-t", "say hello", "--model", &model]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let listed = lines(&home.run(&["list", "--json"]));
    let id = listed[0]["id"].as_str().unwrap();
    assert!(stdout(&home.run(&["checkpoints", id])).starts_with("No checkpoint yet"));

    fs::write(home.work().join("file"), "one").unwrap();
    let executors = home.root.path().join(".deft/executors");
    let socket = executors.join(id.replace('-', "")).join("in/socket"); // in: what a sandbox sees of it
    let client = Client::connect(UnixStream::connect(socket).await.unwrap())
        .await
        .unwrap();
    client.checkpoint("before\u{1b}[2J it".to_owned()).await.unwrap();
    fs::write(home.work().join("file"), "longer").unwrap();
    fs::write(home.work().join("new"), "").unwrap();

    let shown = stdout(&home.run(&["checkpoints", id]));
    assert!(
        shown.contains("   1  ") && shown.contains("before it") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    let shown = stdout(&home.run(&["restore", id, "1", "--dry-run"]));
    let marks = ": changed by somebody else meanwhile";
    assert_eq!(
        shown,
        format!("modify   file (6 → 3 bytes){marks}\ndelete   new (0 bytes){marks}\n")
    );
    let refused = home.run(&["restore", id, "1"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("nothing was restored"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(fs::read_to_string(home.work().join("file")).unwrap(), "longer");

    let restored = home.run(&["restore", id, "1", "--force"]);
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert!(
        stdout(&restored).contains(&format!("deft restore {id} 2")),
        "{}",
        stdout(&restored)
    );
    assert_eq!(fs::read_to_string(home.work().join("file")).unwrap(), "one");
    assert!(!home.work().join("new").exists());
    assert!(home.run(&["restore", id, "2"]).status.success());
    assert_eq!(fs::read_to_string(home.work().join("file")).unwrap(), "longer");

    let unknown = home.run(&["restore", id, "99"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        stderr(&unknown).contains("there is no checkpoint 99"),
        "{}",
        stderr(&unknown)
    );
    client.shutdown().await;
}
