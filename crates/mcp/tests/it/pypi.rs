//! Servers that are made with the protocol's Python SDK, from `PyPI`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use deft_types::McpServerState;
use serde_json::{Value, json};

use crate::Started;

const PACKAGES: [&str; 3] = [
    "mcp-server-fetch==2026.10.24",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
];

/// A module of one of the packages as a server. `None` where they cannot be had, which is said.
#[allow(clippy::print_stderr)]
fn server(module: &str, args: &[&str]) -> Option<Value> {
    match installed() {
        Ok(modules) => {
            let args: Vec<_> = ["-m", module].into_iter().chain(args.iter().copied()).collect();
            Some(
                json!({"command": "python3", "args": args, "env": {"PYTHONPATH": modules, "HOME": "/nonexistent"}}),
            )
        }
        Err(reason) => {
            assert!(std::env::var_os("DEFT_NO_SKIPS").is_none(), "{reason}");
            eprintln!("skipped: no {}: {reason}", PACKAGES.join(", "));
            None
        }
    }
}

/// The modules, installed on the first use. Tests run side by side, so one installs and the others wait.
fn installed() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PACKAGES.join("-"));
    let marker = directory.join("installed");
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let lock = File::create(directory.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if !marker.exists() {
        let output = Command::new("python3")
            .args(["-m", "pip", "install", "--target"])
            .arg(&directory)
            .args(PACKAGES)
            .output()
            .map_err(|error| format!("python3: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        File::create(&marker).map_err(|error| error.to_string())?;
    }
    Ok(directory)
}

#[tokio::test]
async fn a_server_tells_the_time_and_refuses_what_is_no_place() {
    let Some(server) = server("mcp_server_time", &["--local-timezone", "UTC"]) else {
        return;
    };
    let started = Started::new(&json!({ "clock": server })).await;
    let status = started.status("clock");
    assert!(matches!(status.state, McpServerState::Ready { .. }), "{status:?}");
    let when = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let converted = started.text("clock_convert_time", when).await;
    assert!(converted.contains("T21:00:00+09:00"), "{converted}");
    let nowhere = started
        .call("clock_get_current_time", json!({"timezone": "No/Where"}))
        .await;
    assert!(nowhere.is_error, "{nowhere:?}");
    started.servers.close().await;
}

#[tokio::test]
async fn a_server_sees_its_repository_and_no_other_place() {
    let repository = tempfile::tempdir().unwrap();
    let path = repository.path().canonicalize().unwrap().display().to_string();
    let made = Command::new("git").args(["init", &path]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    fs::write(repository.path().join("new.txt"), "new").unwrap();
    let Some(server) = server("mcp_server_git", &["--repository", &path]) else {
        return;
    };
    let started = Started::new(&json!({ "git": server })).await;
    let status = started.text("git_git_status", json!({"repo_path": path})).await;
    assert!(status.contains("new.txt"), "{status}");
    let outside = started.call("git_git_status", json!({"repo_path": "/"})).await;
    assert!(outside.is_error, "{outside:?}");
    started.servers.close().await;
}

#[tokio::test]
async fn a_server_fetches_a_page_as_markdown() {
    let Some(server) = server(
        "mcp_server_fetch",
        &["--ignore-robots-txt", "--allow-private-ips"],
    ) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    // Ends with the process; one page is enough.
    std::thread::spawn(move || {
        let page =
            "<html><body><article><h1>Title</h1><p>Some <b>bold</b> words.</p></article></body></html>";
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n",
                page.len()
            );
            let _ = write!(stream, "{head}Connection: close\r\n\r\n{page}");
        }
    });
    let started = Started::new(&json!({ "web": server })).await;
    let fetched = started.text("web_fetch", json!({ "url": url })).await;
    assert!(fetched.contains("**bold** words"), "{fetched}");
    started.servers.close().await;
}
