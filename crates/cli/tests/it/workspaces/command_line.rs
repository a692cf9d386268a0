//! `deft run -w NAME`: a task from the command line to its end in each kind of workspace.

use std::fs;
use std::path::Path;

use super::dockerd::{Dockerd, IMAGE};
use super::sshd::Sshd;
use super::{end, or_skip};
use crate::commands::{Home, lines, stderr, stdout};
use deft_docker::Docker;

/// Runs a task in a workspace and goes on with the conversation once. The files are in `files`.
pub(super) fn a_task_runs(home: &Home, name: &str, variables: &[(&str, &str)], files: &Path) {
    let call = |command: &str| {
        format!("{{tool_calls: [{{name: terminal, arguments: {{command: '{command}'}}}}]}}, {{text: Done.}}")
    };
    let first = call("echo made > made");
    let model = home.script(&format!("[{first}, {}]", call("cat made; pwd > place")));
    let run = |more: &[&str]| {
        let args = [&["run", "-t", "do it", "--json", "--model", &model], more].concat();
        let output = home.deft(&args).envs(variables.iter().copied()).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}{}",
            stdout(&output),
            stderr(&output)
        );
        lines(&output)
    };
    let mut doctor = home.deft(&["doctor", "-w", name]);
    let doctor = doctor.envs(variables.iter().copied()).output().unwrap();
    assert_eq!(doctor.status.code(), Some(0), "{}", stdout(&doctor));
    run(&["-w", name]);
    assert_eq!(fs::read_to_string(files.join("made")).unwrap(), "made\n");
    let events = run(&["--last"]);
    let result = events
        .iter()
        .find(|event| event["tool_name"] == "terminal" && event["observation"].is_object());
    assert_eq!(result.unwrap()["observation"]["content"][0]["text"], "made");
    assert!(files.join("place").exists());
}

/// Has a question answered in words, for which nothing of the workspace needs to be started; gives what was stored.
pub(super) fn words_are_answered(home: &Home, name: &str, variables: &[(&str, &str)]) -> String {
    let model = home.script("[{text: Salve.}]");
    let mut run = home.deft(&["run", "-t", "hello", "--json", "--model", &model, "-w", name]);
    let output = run.envs(variables.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

/// The setting that says what `fetch` may reach counts there too.
pub(super) fn fetch_reaches_what_was_set(home: &Home, name: &str, variables: &[(&str, &str)]) {
    let call = "{tool_calls: [{name: fetch, arguments: {url: 'http://127.0.0.1:1/'}}]}";
    let model = home.script(&format!("[{call}, {{text: Done.}}]"));
    for (setting, is_refused) in [("public", true), ("loopback", false)] {
        let mut run = home.deft(&["run", "-t", "look", "--json", "--model", &model, "-w", name]);
        let run = run
            .envs(variables.iter().copied())
            .env("DEFT_WEB_ADDRESSES", setting);
        let output = run.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let events = lines(&output);
        let result = events
            .iter()
            .find(|event| event["tool_name"] == "fetch" && event["observation"].is_object());
        let said = result.unwrap()["observation"]["content"][0]["text"]
            .as_str()
            .unwrap();
        assert_eq!(said.contains("may not reach"), is_refused, "{setting}: {said}");
        let mut delete = home.deft(&["delete", &conversation(home)]);
        assert!(delete.envs(variables.iter().copied()).status().unwrap().success());
    }
}

/// The conversation that was begun last, as it stands in paths.
pub(super) fn conversation(home: &Home) -> String {
    let list = lines(&home.run(&["list", "--json"]));
    list[0]["id"].as_str().unwrap().replace('-', "")
}

pub(super) async fn a_task_runs_in_a_container(engine: &Dockerd) {
    let home = Home::new();
    let work = home.work();
    let address = format!("unix://{}", engine.socket().display());
    let (name, variables) = (
        format!("docker:{IMAGE}?pids=300"),
        [("DOCKER_HOST", address.as_str())],
    );
    let docker = Docker::at(engine.socket());
    let data_dir = home.root.path().join(".deft").display().to_string();

    fs::write(work.join("AGENTS.md"), "Speak Latin.").unwrap();
    let said = words_are_answered(&home, &name, &variables);
    assert!(said.contains("Speak Latin."), "{said}");
    words_are_answered(&home, &format!("docker:{IMAGE}?volume="), &variables); // a new one
    assert!(docker.containers(&data_dir).await.unwrap().is_empty());
    fetch_reaches_what_was_set(&home, &name, &variables);
    for _ in 0..2 {
        let mut delete = home.deft(&["delete", &conversation(&home)]);
        assert!(delete.envs(variables).status().unwrap().success());
    }

    a_task_runs(&home, &name, &variables, &work);
    assert_eq!(fs::read_to_string(work.join("place")).unwrap(), "/workspace\n");
    assert_eq!(docker.containers(&data_dir).await.unwrap().len(), 1);
    let deleted = home
        .deft(&["delete", &conversation(&home)])
        .env("DOCKER_HOST", &address)
        .output()
        .unwrap();
    assert!(deleted.status.success(), "{deleted:?}");
    assert!(docker.containers(&data_dir).await.unwrap().is_empty());
    let listed = home.run(&["list", "--json"]);
    assert!(listed.stdout.is_empty(), "{listed:?}");
    assert!(work.join("place").exists(), "files of the user's stay");
}

#[tokio::test]
async fn a_task_runs_on_another_machine() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let config = server.path("config").display().to_string();
    let name = format!("ssh:127.0.0.1:{}{}", server.port, files.path().display());
    fetch_reaches_what_was_set(&home, &name, &[("DEFT_SSH_CONFIG", &config)]);
    a_task_runs(&home, &name, &[("DEFT_SSH_CONFIG", &config)], files.path());

    // Machines that were worked on are asked without being named.
    let known = format!("127.0.0.1:{}: 127.0.0.1 lets us in", server.port);
    let doctor = || {
        stdout(
            &home
                .deft(&["doctor"])
                .env("DEFT_SSH_CONFIG", &config)
                .output()
                .unwrap(),
        )
    };
    assert!(doctor().contains(&known), "{}", doctor());
    drop(server);
    assert!(doctor().contains("127.0.0.1 cannot be reached"), "{}", doctor());

    end(&format!("run/{}", conversation(&home)));
}

#[test]
fn a_project_is_known_though_the_engine_of_its_container_is_down() {
    let home = Home::new();
    fs::write(home.work().join("AGENTS.md"), "Speak Latin.").unwrap();
    let nobody = ("DOCKER_HOST", "unix:///nowhere/docker.sock");
    for path in [std::env::var("PATH").unwrap().as_str(), "/nowhere"] {
        // Also where no bubblewrap is.
        let said = words_are_answered(&home, "docker:debian:12", &[nobody, ("PATH", path)]);
        assert!(said.contains("Speak Latin."), "{said}");
    }
    let left: Vec<_> = fs::read_dir(home.work()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "whoever reads leaves nothing: {left:?}");
}
