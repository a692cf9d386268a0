//! The ways to another machine that people have in their configuration: over a jump host, and with the keys of an agent.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::command_line::{a_task_runs, conversation};
use super::sshd::Sshd;
use super::{LIMIT, end, or_skip};
use crate::commands::Home;

#[test]
fn another_machine_is_reached_over_a_jump_host() {
    let (Some(jump), Some(machine)) = (or_skip(Sshd::start()), or_skip(Sshd::start())) else {
        return;
    };
    let known = [&jump, &machine].map(|server| fs::read_to_string(server.path("known")).unwrap());
    fs::write(jump.path("both"), known.concat()).unwrap();
    let host = |name: &str, server: &Sshd, way: &str| {
        format!(
            "Host {name}\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {}\n{way}",
            server.port,
            server.path("user").display()
        )
    };
    let config = jump.path("jump-config");
    let text = [
        host("jump", &jump, ""),
        host("behind", &machine, "  ProxyJump jump\n"),
        format!(
            "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile none\n",
            jump.path("both").display()
        ),
    ];
    fs::write(&config, text.concat()).unwrap();

    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let name = format!("ssh:behind{}", files.path().display());
    let config = config.display().to_string();
    a_task_runs(&home, &name, &[("DEFT_SSH_CONFIG", &config)], files.path());
    for (server, why) in [
        (&jump, "the way leads over it"),
        (&machine, "the work is done there"),
    ] {
        let log = fs::read_to_string(server.path("log")).unwrap();
        assert!(log.contains("Accepted publickey"), "{why}: {log}");
    }
    assert!(
        !jump.path("home").join(".cache").exists(),
        "nothing is brought to a jump host"
    );
    end(&format!("run/{}", conversation(&home)));
}

/// An agent of the test's own, which ends with it.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_machine_is_entered_with_a_key_that_only_an_agent_has() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let socket = server.path("agent");
    let agent = Command::new("ssh-agent")
        .arg("-D")
        .arg("-a")
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn();
    let Some(_agent) = or_skip(agent.map(Agent).map_err(|error| format!("ssh-agent: {error}"))) else {
        return;
    };
    let begun = Instant::now();
    while !socket.exists() {
        assert!(begun.elapsed() < LIMIT, "the agent never listens");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let key = server.path("user");
    let added = Command::new("ssh-add")
        .arg("-q")
        .arg(&key)
        .env("SSH_AUTH_SOCK", &socket)
        .status();
    assert!(added.unwrap().success());
    fs::remove_file(&key).unwrap();
    let config = server.path("agent-config");
    let known = server.path("known");
    let text = format!(
        "IdentityFile none\nUserKnownHostsFile {}\nGlobalKnownHostsFile none\n",
        known.display()
    );
    fs::write(&config, text).unwrap();

    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let name = format!("ssh:127.0.0.1:{}{}", server.port, files.path().display());
    let (config, socket) = (config.display().to_string(), socket.display().to_string());
    let variables = [("DEFT_SSH_CONFIG", config.as_str()), ("SSH_AUTH_SOCK", &socket)];
    a_task_runs(&home, &name, &variables, files.path());
    end(&format!("run/{}", conversation(&home)));
}
