//! Workspaces that are not a project's own folder, or not there, and settings that are nothing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use crate::commands::{Home, NOBODY, lines, stderr, stdout, wait_for};
use crate::workspaces::skip;

const LOOK: &str = "[{text: Look., tool_calls: [{name: terminal, arguments: {command: \"cat main.c; touch made; \
                    mkdir .vscode .git/hooks; mv .git old; echo x > .git/commondir\"}}]}]";

/// A repository of root's in a home of somebody else's.
fn with_a_repository() -> Home {
    let home = Home::new();
    fs::write(home.work().join("main.c"), "int main;\n").unwrap();
    fs::create_dir(home.work().join(".git")).unwrap();
    fs::write(home.work().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    chown(home.root.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    home
}

/// Runs it as an ordinary user.
fn run_as_nobody(home: &Home, args: &[&str]) -> Output {
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

/// An agent of nobody's looks around.
fn look_as_nobody(home: &Home) -> Output {
    run_as_nobody(home, &["run", "-t", "x", "--model", &home.script(LOOK)])
}

fn assert_it_looked_and_left_nothing(home: &Home, output: &Output) {
    assert!(output.status.success(), "{}", stderr(output));
    assert!(stdout(output).contains("int main"), "{}", stdout(output));
    let mut names: Vec<_> = fs::read_dir(home.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "main.c"]);
    assert_eq!(fs::read_dir(home.work().join(".git")).unwrap().count(), 1);
}

#[test]
fn an_agent_looks_at_a_directory_that_its_user_can_only_read() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root has directories that others cannot write to");
    }
    let home = with_a_repository();
    let output = look_as_nobody(&home);
    assert_it_looked_and_left_nothing(&home, &output);
}

#[test]
fn a_directory_that_its_owner_has_made_read_only_is_as_it_was_afterwards() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can be somebody else");
    }
    let home = with_a_repository();
    let read_only = [home.work(), home.work().join(".git")];
    for directory in &read_only {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(directory, Permissions::from_mode(0o555)).unwrap();
    }
    let output = look_as_nobody(&home);
    // Empty settings are put there for good, where there were none.
    fs::remove_file(home.work().join(".git/config")).unwrap();
    assert_it_looked_and_left_nothing(&home, &output);
    for directory in &read_only {
        assert_eq!(directory.metadata().unwrap().mode() & 0o777, 0o555);
    }
}

#[test]
fn an_agent_plans_in_a_directory_that_its_user_can_only_read() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root has directories that others cannot write to");
    }
    let home = with_a_repository();
    let [plan, source] = [".agents_tmp/PLAN.md", "main.c"].map(|name| home.work().join(name));
    let model = home.script(&format!(
        "- tool_calls:\n\
         \x20 - {{name: planning_file_editor, arguments: {{command: view, path: {}}}}}\n\
         \x20 - {{name: planning_file_editor, arguments: {{command: create, path: {}, file_text: x}}}}\n\
         - text: This is the plan.\n",
        source.display(),
        plan.display()
    ));
    let output = run_as_nobody(&home, &["run", "--plan", "-t", "x", "--model", &model]);
    let shown = stdout(&output);
    assert!(output.status.success(), "{shown}{}", stderr(&output));
    for words in ["Could not write", "This is the plan."] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
}

#[test]
fn an_agent_looks_at_a_read_only_file_system() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root mounts file systems");
    }
    let home = with_a_repository();
    let run = home.deft(&["run", "-t", "x", "--model", &home.script(LOOK)]);
    // Seen by these processes alone, and gone with them.
    let mount = "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec \"$0\" \"$@\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", mount])
        .arg(run.get_program())
        .args(run.get_args())
        .env_clear()
        .envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(home.work())
        .output()
        .unwrap();
    assert!(
        stdout(&output).contains("Read-only file system"),
        "{}",
        stdout(&output)
    );
    assert_it_looked_and_left_nothing(&home, &output);
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
fn a_conversation_whose_process_was_killed_is_listed_as_paused() {
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
    assert_eq!(lines(&home.run(&["list", "--json"]))[0]["status"], "paused");
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
