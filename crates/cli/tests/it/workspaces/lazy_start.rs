//! Nothing starts before a tool needs it. Containers, pods and hosted sandboxes have this among their own tests.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::killed::{Case, machine, wait_until_finished};
use super::sshd::Sshd;
use super::{end, or_skip, processes};
use crate::commands::Home;
use crate::serve::Served;

const KEY: &str = "k-of-the-test";

/// The command lines of what runs for a conversation on this machine: whatever names it, and all that was started by that.
fn of_conversation(hex: &str) -> Vec<String> {
    let mut all = processes(hex);
    let mut next = 0;
    while let Some(parent) = all.get(next).copied() {
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
            let new: Vec<u32> = children.filter(|pid| !all.contains(pid)).collect();
            all.extend(new);
        }
        next += 1;
    }
    let line = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    all.iter().map(|pid| line(pid).replace('\0', " ")).collect()
}

/// A conversation whose agent has a shell and a browser, and runs these commands; gives what runs when it has finished.
fn runs_after(case: &Case<'_>, commands: &[&str], context: &Value) -> Vec<String> {
    let served = case.serve(commands);
    let agent = json!({
        "llm": {"model": "scripted"}, "agent_context": context,
        "tools": [{"name": "terminal"}, {"name": "browser_tool_set"}],
    });
    let id = case.begin_with(&served, &agent);
    let path = format!("/api/conversations/{id}");
    wait_until_finished(&served, &path);
    let running = of_conversation(&id.replace('-', ""));
    assert_eq!(served.send("DELETE", &path, KEY, &json!({})).0, 200);
    end(&id.replace('-', ""));
    running
}

/// Where only words were said nothing runs; where the project's rules were to be read, nobody but who reads them.
fn starts_nothing_before_a_tool_needs_it(case: &Case<'_>) {
    let is_executor = |line: &String| line.contains("executor ");
    let nothing = runs_after(case, &[], &json!({}));
    assert!(nothing.is_empty(), "{nothing:#?}");

    fs::write(case.files.join("AGENTS.md"), "Speak Latin.").unwrap();
    let read = runs_after(case, &[], &json!({"load_project_skills": true}));
    assert!(!read.is_empty() && read.iter().all(is_executor), "{read:#?}");

    let worked = runs_after(case, &["true"], &json!({}));
    assert!(
        worked.iter().any(|line| line.contains("bash")),
        "and a shell can be seen: {worked:#?}"
    );
    // By its name: what a sandbox hides of browsers stands among its arguments.
    let is_browser = |line: &String| {
        line.split(' ')
            .next()
            .is_some_and(|program| program.contains("chrom"))
    };
    assert!(!worked.iter().any(is_browser), "{worked:#?}");
}

fn case<'a>(
    home: &'a Home,
    workspace: Value,
    variables: &'a [(&'a str, &'a str)],
    files: &'a Path,
) -> Case<'a> {
    Case {
        home,
        variables,
        workspace,
        files,
    }
}

#[test]
fn a_sandbox_starts_nothing_before_a_tool_needs_it() {
    let home = Home::new();
    let files = home.work();
    let workspace = json!({"working_dir": files});
    starts_nothing_before_a_tool_needs_it(&case(&home, workspace, &[], &files));
}

#[test]
fn a_directory_without_a_sandbox_starts_nothing_before_a_tool_needs_it() {
    let home = Home::new();
    let files = home.work();
    let given_up = format!("local:{}", files.display());
    let workspace = json!({"kind": "local", "path": files});
    let variables = [("DEFT_WORKSPACE", given_up.as_str())];
    starts_nothing_before_a_tool_needs_it(&case(&home, workspace, &variables, &files));
}

#[test]
fn another_machine_starts_nothing_before_a_tool_needs_it() {
    let Some(server) = or_skip(Sshd::start()) else {
        return;
    };
    let home = Home::new();
    let files = tempfile::tempdir().unwrap();
    let (config, workspace, _) = machine(&server, files.path());
    let variables = [("DEFT_SSH_CONFIG", config.as_str())];
    starts_nothing_before_a_tool_needs_it(&case(&home, workspace, &variables, files.path()));
}

#[test]
fn another_server_starts_nothing_before_a_tool_needs_it() {
    let (home, other) = (Home::new(), Home::new());
    let served = Served::start(&other, &[("SESSION_API_KEY", KEY)]);
    let files = other.work();
    let workspace = json!({"kind": "remote", "url": served.address(), "dir": files});
    let variables = [("DEFT_REMOTE_KEY", KEY)];
    starts_nothing_before_a_tool_needs_it(&case(&home, workspace, &variables, &files));
}
