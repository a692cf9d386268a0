//! Workspaces that are not a project's own folder, or not there, and settings that are nothing.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use crate::commands::{Home, NOBODY, lines, stderr, stdout, wait_for};
use crate::workspaces::skip;

const LOOK: &str = "[{text: Look., tool_calls: [{name: terminal, arguments: {command: \"cat main.c; touch made; \
                    mkdir .vscode .git/hooks; mv .git old; echo x > .git/commondir\"}}]}]";

/// Runs it as an ordinary user, who can only read the workspace.
fn run_by_nobody(home: &Home, args: &[&str]) -> Output {
    chown(home.root.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    // It lies where others than root do not get to.
    let program = home.root.path().join("deft");
    fs::hard_link(env!("CARGO_BIN_EXE_deft"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_deft"), &program).map(drop))
        .unwrap();
    let ours = home.deft(&[]);
    Command::new(&program)
        .args(args)
        .env_clear()
        .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(home.work())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap()
}

#[test]
fn an_agent_looks_at_a_directory_that_its_user_can_only_read() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root has directories that others cannot write to");
    }
    let home = Home::new();
    let model = home.script(LOOK);
    fs::write(home.work().join("main.c"), "int main;\n").unwrap();
    fs::create_dir(home.work().join(".git")).unwrap();
    fs::write(home.work().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let output = run_by_nobody(&home, &["run", "-t", "x", "--model", &model]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("int main"), "{}", stdout(&output));
    let mut names: Vec<_> = fs::read_dir(home.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "main.c"]);
    assert_eq!(fs::read_dir(home.work().join(".git")).unwrap().count(), 1);
}

#[test]
fn an_agent_plans_in_a_directory_that_its_user_can_only_read() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root has directories that others cannot write to");
    }
    let home = Home::new();
    let [plan, source] = [".agents_tmp/PLAN.md", "main.c"].map(|name| home.work().join(name));
    fs::write(&source, "int main;\n").unwrap();
    let model = home.script(&format!(
        "- tool_calls:\n\
         \x20 - {{name: planning_file_editor, arguments: {{command: view, path: {}}}}}\n\
         \x20 - {{name: planning_file_editor, arguments: {{command: create, path: {}, file_text: x}}}}\n\
         - text: This is the plan.\n",
        source.display(),
        plan.display()
    ));
    let output = run_by_nobody(&home, &["run", "--plan", "-t", "x", "--model", &model]);
    let shown = stdout(&output);
    assert!(output.status.success(), "{shown}{}", stderr(&output));
    for words in ["Could not write", "This is the plan."] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
}

#[test]
fn the_home_as_a_workspace_is_warned_of_and_a_project_in_it_is_not() {
    let home = Home::new();
    let model = home.script("[{text: fine}]");
    for (place, is_warned) in [("..", true), (".", false)] {
        let place = format!("local:{place}");
        let output = home.run(&["run", "-t", "x", "--model", &model, "-w", &place]);
        assert!(output.status.success(), "{}", stderr(&output));
        let warned = stderr(&output).contains("may change everything in");
        assert_eq!(warned, is_warned, "{place}: {}", stderr(&output));
    }
}

#[test]
fn a_conversation_whose_workspace_is_gone_says_what_can_be_done() {
    let home = Home::new();
    let model = home.script("[{text: fine}]");
    fs::create_dir(home.work().join("project")).unwrap();
    let began = home.run(&["run", "-t", "x", "--model", &model, "-w", "project"]);
    assert!(began.status.success(), "{}", stderr(&began));
    fs::rename(home.work().join("project"), home.work().join("moved")).unwrap();
    let again = ["run", "--last", "-t", "more", "--model", &model];
    let refused = home.run(&again);
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(
        said.contains("move it back") && !said.contains("name another"),
        "{said}"
    );
    fs::rename(home.work().join("moved"), home.work().join("project")).unwrap();
    let output = home.run(&again);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_conversation_whose_process_was_killed_is_listed_as_paused_and_shown_as_left() {
    let home = Home::new();
    let model = home.script(
        "[{text: Wait., tool_calls: [{name: terminal, arguments: {command: \"touch begun; sleep 20\"}}]}]",
    );
    let mut run = home.deft(&["run", "-t", "x", "--model", &model, "-w", "local:."]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for(&home.work().join("begun"));
    assert_eq!(lines(&home.run(&["list", "--json"]))[0]["status"], "running");
    run.kill().unwrap();
    run.wait().unwrap();
    let listed = lines(&home.run(&["list", "--json"]));
    assert_eq!(listed[0]["status"], "paused");
    let shown = home.run(&["show", listed[0]["id"].as_str().unwrap()]);
    assert!(stderr(&shown).contains("has ended"), "{}", stderr(&shown));
}

#[test]
fn no_settings_can_be_asked_for_and_a_goal_needs_a_round() {
    let home = Home::new();
    let model = home.script("[{text: fine}]");
    let run = ["run", "-t", "x", "--model", &model];
    let output = home.run(&[&run[..], &["--config", "/dev/null"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let refused = home.run(&[&run[..], &["--goal", "--rounds", "0"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--rounds"), "{}", stderr(&refused));
}
