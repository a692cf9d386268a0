//! Podman, which has the API of Docker: the same workspace on it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use deft_docker::{Docker, Files};
use deft_workspace::Workspace;

use super::conformance::{container, container_conforms, somebodys_directory};
use super::{open, or_skip, output, podman_server};

#[tokio::test]
async fn a_container_of_podman_conforms() {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("podman");
    let Some(engine) = or_skip(podman_server::start(&data)) else {
        return;
    };
    engine.make_image().unwrap();
    let docker = Docker::at(engine.socket());
    // What a run that was killed left behind.
    let left = docker.collect_orphans("tests", |_| false, Duration::ZERO, SystemTime::now());
    left.await.unwrap();

    container_conforms(&engine).await;

    // Found, asleep and gone, with a volume of its own.
    let files = somebodys_directory();
    let workspace = container(&engine, Files::Directory(files.path().to_owned()));
    let client = open(&workspace).await;
    assert_eq!(output(&client, "1", "echo hi").await, "hi");
    drop(client);
    workspace.pause().await.unwrap();
    assert_eq!(output(&open(&workspace).await, "2", "echo woken").await, "woken");
    workspace.remove().await.unwrap();
    assert!(workspace.find().await.is_none());
    assert!(docker.containers("tests").await.unwrap().is_empty());
}
