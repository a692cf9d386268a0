//! A registry with one small image in it, which any name of a repository gets.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::json;

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// Serves until the process ends, and tells where.
pub(super) fn serve() -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("etc")).unwrap();
    let tar = Command::new("tar")
        .arg("-C")
        .arg(directory.path())
        .args(["-cf", "-", "etc"])
        .output();
    let layer = tar.unwrap().stdout;
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let config = json!({
        "architecture": arch, "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [digest(&layer)]},
    })
    .to_string();
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": {
            "mediaType": "application/vnd.docker.container.image.v1+json",
            "size": config.len(), "digest": digest(config.as_bytes()),
        },
        "layers": [{
            "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
            "size": layer.len(), "digest": digest(&layer),
        }],
    })
    .to_string();
    let contents = HashMap::from([
        ("latest".to_owned(), manifest.clone().into_bytes()),
        (digest(manifest.as_bytes()), manifest.into_bytes()),
        (digest(config.as_bytes()), config.into_bytes()),
        (digest(&layer), layer),
        (String::new(), b"{}".to_vec()), // `/v2/`
    ]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &contents); // it first tries TLS, which we do not speak
        }
    });
    address
}

fn answer(mut stream: TcpStream, contents: &HashMap<String, Vec<u8>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let [method, path, _] = first.split(' ').collect::<Vec<_>>()[..] else {
        return Ok(());
    };
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let Some(content) = contents.get(path.rsplit('/').next().unwrap_or_default()) else {
        let body =
            json!({"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}).to_string();
        return write!(
            stream,
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
    };
    let kind = if path.contains("/manifests/") {
        MANIFEST
    } else {
        "application/octet-stream"
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nDocker-Content-Digest: {}\r\n\
         Docker-Distribution-Api-Version: registry/2.0\r\nConnection: close\r\n\r\n",
        content.len(),
        digest(content)
    )?;
    if method == "GET" {
        stream.write_all(content)?;
    }
    Ok(())
}

fn digest(content: &[u8]) -> String {
    let mut sum = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    sum.stdin.take().unwrap().write_all(content).unwrap();
    let output = sum.wait_with_output().unwrap().stdout;
    format!(
        "sha256:{}",
        String::from_utf8(output).unwrap().split(' ').next().unwrap()
    )
}
