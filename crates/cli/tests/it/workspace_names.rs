//! Naming a workspace, and asking what this machine can do for one.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;

use crate::commands::{Home, stderr, stdout};

#[test]
fn the_doctor_says_what_this_machine_offers() {
    let home = Home::new();
    let output = home.deft(&["doctor", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let checks: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    for name in [
        "Landlock",
        "seccomp",
        "bubblewrap",
        "cgroup v2",
        "sandbox",
        "bash",
        "uid mapping",
        "disk",
        "proxy",
        "containers",
        "Kubernetes",
    ] {
        assert!(checks.iter().any(|check| check["name"] == name), "{name}");
    }
    // Without a shell nothing works, and that is an error.
    let output = home.deft(&["doctor"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(
        stdout(&output).contains("install bash")
            && stdout(&output).contains("install the package bubblewrap")
    );
}

#[test]
fn the_doctor_tells_of_a_proxy_that_does_not_answer() {
    let home = Home::new();
    let told = |proxy: &str| {
        let doctor = home.deft(&["doctor"]).env("HTTPS_PROXY", proxy).output().unwrap();
        stdout(&doctor)
    };
    let silent = told("http://me:hidden@127.0.0.1:1");
    assert!(
        silent.contains("HTTPS_PROXY names 127.0.0.1:1, where nothing answers"),
        "{silent}"
    );
    assert!(!silent.contains("hidden"), "{silent}");
    assert!(told("http://").contains("write it as http://HOST:PORT"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || drop(listener.accept())); // it hangs up, but it is there
    assert!(told(&proxy).contains("are reached through HTTPS_PROXY"));
    answering.join().unwrap();
}

#[test]
fn the_doctor_asks_for_the_workspace_that_is_named() {
    let home = Home::new();
    let asked = |name: &str, variable: (&str, &str)| {
        let output = home
            .deft(&["doctor", "-w", name])
            .env(variable.0, variable.1)
            .output()
            .unwrap();
        let expected = i32::from(name != ".");
        assert_eq!(output.status.code(), Some(expected), "{}", stderr(&output));
        stdout(&output)
    };
    for (name, variable, words) in [
        (
            "docker:x",
            ("DOCKER_HOST", "unix:///nowhere"),
            "nothing answers at /nowhere",
        ),
        (
            "k8s:x",
            ("KUBECONFIG", "/nowhere/config"),
            "/nowhere/config cannot be used",
        ),
        (
            "remote:http://127.0.0.1:1/?dir=/x",
            ("TZ", "UTC"),
            "http://127.0.0.1:1 cannot be reached",
        ),
        (".", ("TZ", "UTC"), "is there and can be shut in"),
    ] {
        let told = asked(name, variable);
        assert!(told.contains(words), "no {words:?} in {told}");
    }
}

#[test]
fn a_workspace_is_sandboxed_unless_its_name_says_otherwise() {
    let home = Home::new();
    let script = home.root.path().join("escape.yaml");
    let command = "touch ../outside; echo";
    fs::write(
        &script,
        format!("[{{tool_calls: [{{name: terminal, arguments: {{command: {command}}}}}]}}]"),
    )
    .unwrap();
    let model = format!("script:{}", script.display());
    let run = |workspace: &[&str]| {
        let args = [&["run", "-t", "x", "--model", &model], workspace].concat();
        let output = home.deft(&args).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        home.root.path().join("outside").exists()
    };
    assert!(!run(&[]));
    assert!(!run(&["--workspace", "sandbox:."]));
    assert!(run(&["--workspace", "local:."]));
}

#[test]
fn a_name_that_cannot_be_used_is_refused_before_anything_is_begun() {
    let home = Home::new();
    let script = home.root.path().join("script.yaml");
    fs::write(&script, "[{text: yes}]").unwrap();
    let model = format!("script:{}", script.display());
    for (name, words) in [
        ("k8s:debian:12?no=1", "no option `no`"),
        ("k8s:debian:12?user=x", "`user`"),
        ("k8s:debian:12?env=HOME", "env=NAME=VALUE"),
        ("remote:https://example.org/", "?dir="),
        ("remote:https://example.org/?dir=/x&no=1", "no option `no`"),
        ("remote:https://me:key@example.org/?dir=/x", "DEFT_REMOTE_KEY"),
    ] {
        let output = home
            .deft(&["run", "-t", "x", "--model", &model, "-w", name])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    assert_eq!(stdout(&home.deft(&["list", "--json"]).output().unwrap()), "");
}
