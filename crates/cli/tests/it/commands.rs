//! `deft` as people and scripts meet it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// An ordinary user, as Debian numbers them.
pub(crate) const NOBODY: u32 = 65534;

pub(crate) struct Home {
    pub(crate) root: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        Self { root }
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn script(&self, text: &str) -> String {
        let file = self.root.path().join("script.yaml");
        fs::write(&file, text).unwrap();
        format!("script:{}", file.display())
    }

    pub(crate) fn deft(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deft"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.root.path())
            .env("LLM_API_KEY", "sk-of-the-test")
            .current_dir(self.work());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.deft(args).output().unwrap()
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// One JSON value a line.
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The command fails with one sentence on standard error that has these words in it.
#[track_caller]
fn fails(output: &Output, code: i32, words: &[&str]) {
    let complaint = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    assert!(
        complaint.starts_with("deft: ") && complaint.trim_end().lines().count() == 1,
        "{complaint}"
    );
    for word in words {
        assert!(complaint.contains(word), "no {word:?} in {complaint}");
    }
}

pub(crate) fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{} never came",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_demo_repairs_its_project_without_a_key() {
    let home = Home::new();
    let output = home.run(&["demo"]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", stderr(&output));
    for words in [
        "FAIL greet.sh:3",
        "-    echo \"Helo",
        "+    echo \"Hello",
        "ok",
        "steps",
        "is kept in",
    ] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
    let list = home.run(&["list", "--json"]);
    let list = lines(&list);
    assert_eq!(list.len(), 1);
    assert_eq!(list[0]["status"], "finished");
}

#[test]
fn what_the_user_wants_to_be_asked_about_waits_until_it_is_allowed() {
    let home = Home::new();
    for (confirm, command, waits) in [
        ("risky", "find . -name made -delete; echo did", true),
        ("risky", "echo did", false),
        ("always", "echo did", true),
        ("never", "find . -name made -delete; echo did", false),
    ] {
        let model = home.script(&format!(
            "- &act {{tool_calls: [{{name: terminal, arguments: {{command: '{command}'}}}}]}}\n- text: end\n- *act\n- text: end\n"
        ));
        let run = ["run", "-t", "x", "--model", &model, "--confirm", confirm];
        let mut ran = home.run(&run);
        if waits {
            assert_eq!(ran.status.code(), Some(3), "{confirm} {}", stderr(&ran));
            assert!(!stdout(&ran).contains("\n  did"), "{}", stdout(&ran));
            ran = home.run(&["run", "--last", "--model", &model]);
        }
        assert_eq!(ran.status.code(), Some(0), "{confirm} {}", stderr(&ran));
        assert!(stdout(&ran).contains("\n  did"), "{}", stdout(&ran));
        let again = home.run(&["run", "--last", "-t", "again", "--model", &model]);
        let expected = if waits { Some(3) } else { Some(0) };
        assert_eq!(again.status.code(), expected, "{confirm}: it is kept");
    }
}

#[test]
fn what_a_file_says_of_being_asked_counts_as_it_says_it_now() {
    let home = Home::new();
    let model = home.script(
        "- &act {tool_calls: [{name: terminal, arguments: {command: echo did}}]}\n- text: end\n- *act\n",
    );
    let say = |confirm: &str| {
        fs::create_dir_all(home.root.path().join(".deft")).unwrap();
        fs::write(
            home.root.path().join(".deft/deft.toml"),
            format!("confirm = {confirm:?}\n"),
        )
        .unwrap();
    };
    say("risky");
    let ran = home.run(&["run", "-t", "x", "--model", &model]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    say("always");
    let ran = home.run(&["run", "--last", "-t", "again", "--model", &model]);
    assert_eq!(ran.status.code(), Some(3), "{}", stdout(&ran));
}

#[test]
fn a_task_runs_to_its_end_and_can_be_looked_at_afterwards() {
    let home = Home::new();
    let model =
        home.script("[{text: Well., tool_calls: [{name: terminal, arguments: {command: echo hi > made}}]}]");
    let output = home.run(&["run", "-t", "make it", "--model", &model, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(home.work().join("made")).unwrap(), "hi\n");
    let events = lines(&output);
    assert_eq!(events[0]["kind"], "SystemPromptEvent");
    assert_eq!(events.last().unwrap()["value"], "finished");

    let id = lines(&home.run(&["list", "--json"]))[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(lines(&home.run(&["show", &id[..6], "--json"])), events);
    let shown = stdout(&home.run(&["show", &id]));
    assert_eq!(shown.lines().count(), events.len(), "one line an event: {shown}");
    assert!(stdout(&home.run(&["list"])).contains("make it"));
}

#[test]
fn the_task_may_come_from_a_file_or_from_standard_input() {
    let home = Home::new();
    let model = home.script("[{text: yes}]");
    fs::write(home.root.path().join("task"), "from a file").unwrap();
    assert!(
        home.run(&["run", "-f", "../task", "--model", &model])
            .status
            .success()
    );
    let mut child = home
        .deft(&["run", "-", "--model", &model])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"from standard input")
        .unwrap();
    assert!(child.wait().unwrap().success());
    let titles: Vec<_> = lines(&home.run(&["list", "--json"]))
        .iter()
        .map(|row| row["title"].clone())
        .collect();
    assert_eq!(titles, ["from standard input", "from a file"]);
}

#[test]
fn a_finished_conversation_takes_the_next_task() {
    let home = Home::new();
    let model = home.script("[{text: one}, {text: two}]");
    assert!(
        home.run(&["run", "-t", "first", "--model", &model])
            .status
            .success()
    );
    let output = home.run(&["run", "-t", "second", "--last", "--json"]); // the model is remembered
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = |event: &&Value| event["source"] == "agent" && event["kind"] == "MessageEvent";
    assert_eq!(
        lines(&output).iter().find(said).unwrap()["llm_message"]["content"][0]["text"],
        "two"
    );
    fails(&home.run(&["run", "--last"]), 2, &["waits for a task", "-t"]);
}

#[test]
fn limits_and_loops_end_with_3_and_errors_with_1() {
    let home = Home::new();
    let model = home.script("[{repeat: 9, cost: 1, tool_calls: [{name: think, arguments: {thought: hm}}]}]");
    let code = |args: &[&str]| home.run(args).status.code();
    assert_eq!(
        code(&["run", "-t", "x", "--model", &model, "--max-steps", "2"]),
        Some(3)
    );
    assert_eq!(
        code(&["run", "-t", "x", "--model", &model, "--max-cost", "2.5"]),
        Some(3)
    );
    let empty = home.script("[{text: ''}, {text: ''}, {text: ''}]");
    assert_eq!(code(&["run", "-t", "x", "--model", &empty]), Some(3));
    let failing = home.script("[{error: {status: 500, message: oh no}}]");
    assert_eq!(code(&["run", "-t", "x", "--model", &failing]), Some(1));
    assert_eq!(code(&["run", "--surprise"]), Some(2));
    assert_eq!(code(&["run", "-t", "x", "--max-cost", "dear"]), Some(2));
}

#[test]
fn a_budget_holds_when_the_conversation_goes_on_until_another_one_is_given() {
    let home = Home::new();
    let model = home.script("[{repeat: 9, cost: 1, tool_calls: [{name: think, arguments: {thought: hm}}]}]");
    let cost = || lines(&home.run(&["list", "--json"]))[0]["cost"].as_f64().unwrap();
    let first = home.run(&["run", "-t", "- think", "--model", &model, "--max-cost", "2"]);
    assert_eq!((first.status.code(), cost()), (Some(3), 2.0));
    assert!(stdout(&first).contains("--max-cost"), "{}", stdout(&first));

    assert_eq!(
        (home.run(&["run", "--last"]).status.code(), cost()),
        (Some(3), 2.0)
    );
    let raised = home.run(&["run", "--last", "--max-cost", "4"]);
    assert_eq!((raised.status.code(), cost()), (Some(3), 4.0));
    assert_eq!(
        (home.run(&["run", "--last"]).status.code(), cost()),
        (Some(3), 4.0)
    );
}

#[test]
fn nothing_is_deleted_by_an_id_that_is_none() {
    let home = Home::new();
    let model = home.script("[{text: fine}]");
    home.run(&["run", "-t", "x", "--model", &model]);
    fails(&home.run(&["delete", ""]), 2, &["characters"]);
    fails(&home.run(&["delete", "zzzz"]), 2, &["characters"]);
    fails(&home.run(&["show", ""]), 1, &["no id", "deft list"]);
    assert_eq!(lines(&home.run(&["list", "--json"])).len(), 1);
}

#[test]
fn a_run_whose_output_nobody_reads_says_that_it_was_stopped() {
    let home = Home::new();
    let model = home.script("[{repeat: 99, tool_calls: [{name: think, arguments: {thought: hm}}]}]");
    let mut command = home.deft(&["run", "-t", "x", "--model", &model]);
    let mut task = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(task.stdout.take());
    let output = task.wait_with_output().unwrap();
    fails(&output, 1, &["nobody reads", "deft run --resume"]);
}

#[test]
fn ctrl_c_stops_everything_within_a_second_and_leaves_a_conversation_to_go_on_with() {
    let home = Home::new();
    let model = home.script(
        r#"[{tool_calls: [{name: terminal, arguments: {command: "setsid sleep 601 & (sleep 602 &) ; touch begun; sleep 603"}}]}, {text: fine}]"#,
    );
    let child = home
        .deft(&["run", "-t", "x", "--model", &model])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&home.work().join("begun"));
    let start = Instant::now();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let took = start.elapsed();
    assert_eq!(output.status.code(), Some(130), "{}", stdout(&output));
    assert!(took < Duration::from_secs(3), "took {took:?}"); // one second on an idle machine
    assert_eq!(still_running(&home), Vec::<String>::new());

    let output = home.run(&["run", "--last"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Processes that work in the workspace.
fn still_running(home: &Home) -> Vec<String> {
    let work = home.work().canonicalize().unwrap();
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let here = |path: &PathBuf| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == work);
    processes
        .filter(here)
        .map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default())
        .collect()
}

#[test]
fn invariant_7_the_executor_sees_nothing_of_our_environment_but_a_short_list() {
    let home = Home::new();
    let model = home.script("[{tool_calls: [{name: terminal, arguments: {command: env > environment}}]}]");
    let output = home
        .deft(&["run", "-t", "x", "--model", &model])
        .env("AWS_SECRET_ACCESS_KEY", "hidden")
        .output()
        .unwrap();
    assert!(output.status.success());
    let seen = fs::read_to_string(home.work().join("environment")).unwrap();
    assert!(seen.contains("HOME="));
    assert!(
        !seen.contains("sk-of-the-test") && !seen.contains("hidden"),
        "{seen}"
    );
    let log = stdout(&home.run(&[
        "show",
        "--json",
        lines(&home.run(&["list", "--json"]))[0]["id"].as_str().unwrap(),
    ]));
    assert!(!log.contains("sk-of-the-test"));
}

#[test]
fn a_second_process_on_the_same_conversation_is_turned_away() {
    let home = Home::new();
    let model =
        home.script("[{tool_calls: [{name: terminal, arguments: {command: touch begun; sleep 600}}]}]");
    let mut child = home
        .deft(&["run", "-t", "x", "--model", &model])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&home.work().join("begun"));
    fails(
        &home.run(&["run", "--last", "-t", "me too"]),
        1,
        &["process", "stop"],
    );
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn bad_input_gets_one_clear_sentence_and_loses_nothing() {
    let home = Home::new();
    let run = |args: &[&str]| home.run(&[&["run", "-t", "x"], args].concat());
    fails(&home.run(&["run"]), 2, &["-t"]);
    fails(&home.run(&["run", "-t", " "]), 2, &["empty"]);
    fails(&run(&[]), 1, &["--model", "LLM_MODEL", "deft demo"]);
    fails(&run(&["--model", "nonsense"]), 1, &["nonsense"]);
    fails(&run(&["--model", "script:none.yaml"]), 1, &["none.yaml"]);
    fs::write(home.work().join("broken.yaml"), "- text: [").unwrap();
    fails(
        &run(&["--model", "script:broken.yaml"]),
        1,
        &["broken.yaml", "line"],
    );
    fails(
        &run(&["--model", "demo", "--workspace", "/no/such/place"]),
        1,
        &["/no/such/place", "does not exist"],
    );
    fails(
        &run(&["--model", "demo", "--data-dir", "/proc/none"]),
        1,
        &["/proc/none"],
    );
    fails(&home.run(&["run", "--resume", "ffff"]), 1, &["ffff", "deft list"]);
    fails(&home.run(&["run", "-f", "no-such-file"]), 1, &["no-such-file"]);
    fs::write(home.work().join("deft.toml"), "max_steps = \n").unwrap();
    fails(&run(&["--model", "demo"]), 1, &["deft.toml"]);
    fs::remove_file(home.work().join("deft.toml")).unwrap();

    let mut unset = home.deft(&["run", "-t", "x", "--model", "openai/gpt-4o"]);
    fails(
        &unset.env_remove("LLM_API_KEY").output().unwrap(),
        1,
        &["LLM_API_KEY"],
    );
    assert_eq!(
        lines(&home.run(&["list", "--json"])).len(),
        0,
        "nothing was begun"
    );
}

#[test]
fn an_endpoint_that_cannot_be_reached_is_an_error_to_go_on_from() {
    let home = Home::new();
    let args = [
        "run",
        "-t",
        "x",
        "--model",
        "openai/any",
        "--base-url",
        "http://127.0.0.1:9",
        "--model-attempts",
        "2",
    ];
    let output = home.run(&args);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("Attempt 2 follows in"),
        "{}",
        stderr(&output)
    );
    assert!(stdout(&output).contains("127.0.0.1:9"), "{}", stdout(&output));
    let model = home.script("[{text: here}]");
    assert!(home.run(&["run", "--last", "--model", &model]).status.success());
}

#[test]
fn settings_are_shown_with_their_sources_and_without_secrets() {
    let home = Home::new();
    let shown = stdout(
        &home
            .deft(&["config", "--max-steps", "7"])
            .env("LLM_MODEL", "openai/x")
            .output()
            .unwrap(),
    );
    assert!(
        shown.contains("max_steps = 7") && shown.contains("--max-steps"),
        "{shown}"
    );
    assert!(
        shown.contains("LLM_MODEL") && shown.contains("LLM_API_KEY"),
        "{shown}"
    );
    assert!(!shown.contains("sk-of-the-test"), "{shown}");
}

#[test]
fn the_data_directory_is_private() {
    let home = Home::new();
    assert!(home.run(&["list"]).status.success());
    let mode = fs::metadata(home.root.path().join(".deft"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn version_says_its_name() {
    assert!(stdout(&Home::new().run(&["--version"])).starts_with("deft 0."));
}

/// The binary needs nothing but itself: no loader, no library, no file.
#[test]
fn it_runs_in_an_empty_root_directory() {
    if !rustix::process::geteuid().is_root() {
        return crate::workspaces::skip("only root may change the root directory");
    }
    let root = tempfile::tempdir().unwrap();
    fs::copy(env!("CARGO_BIN_EXE_deft"), root.path().join("deft")).unwrap();
    let chroot = |args: &[&str]| {
        Command::new("chroot")
            .arg(root.path())
            .arg("/deft")
            .args(args)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin")
            .output()
            .unwrap()
    };
    assert!(stdout(&chroot(&["--version"])).starts_with("deft "));
    let listed = chroot(&["list", "--data-dir", "/state"]);
    assert!(listed.status.success(), "{}", stderr(&listed));
}

#[test]
fn models_have_names_of_the_users_own_and_others_stand_in_for_them() {
    let home = Home::new();
    let failing = home.script("[{error: {status: 503}}]");
    fs::rename(
        home.root.path().join("script.yaml"),
        home.root.path().join("failing.yaml"),
    )
    .unwrap();
    let failing = failing.replace("script.yaml", "failing.yaml");
    let steady = home.script("[{text: I stood in}]");
    fs::create_dir(home.root.path().join(".deft")).unwrap();
    let tables = format!(
        "[models.strong]\nmodel = {failing:?}\nfallback = [\"fast\"]\n[models.fast]\nmodel = {steady:?}\n"
    );
    fs::write(home.root.path().join(".deft/deft.toml"), &tables).unwrap();
    let output = home.run(&["run", "-t", "x", "--model", "strong"]);
    assert!(
        output.status.success() && stdout(&output).contains("I stood in"),
        "{}",
        stderr(&output)
    );

    fs::write(home.work().join("deft.toml"), tables).unwrap();
    fails(
        &home.run(&["run", "-t", "x", "--model", "strong"]),
        1,
        &["project", "models"],
    );
    fs::remove_file(home.work().join("deft.toml")).unwrap();
    fs::write(
        home.root.path().join(".deft/deft.toml"),
        "[models.strong]\nmodle = 1\n",
    )
    .unwrap();
    fails(
        &home.run(&["run", "-t", "x", "--model", "strong"]),
        1,
        &["deft.toml:2", "modle"],
    );
}

#[test]
fn a_reader_that_leaves_stops_the_run_and_a_reader_that_sleeps_stops_nothing_else() {
    let home = Home::new();
    let model = home
        .script("[{repeat: 50, tool_calls: [{name: terminal, arguments: {command: \"seq 2000 # {{n}}\"}}]}]");
    let mut child = home
        .deft(&["run", "-t", "x", "--model", &model, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_ne!(lines(&home.run(&["list", "--json"]))[0]["status"], "running");

    // Nobody reads: the pipe is full long before the end, and yet Ctrl-C is heard.
    let mut child = home
        .deft(&["run", "-t", "x", "--model", &model, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = loop {
        let list = lines(&home.run(&["list", "--json"]));
        if list.len() == 2 && list[0]["last_seq"].as_u64() > Some(20) {
            break list[0]["id"].as_str().unwrap().to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    for _ in 0..3 {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(home.run(&["show", &id]).status.success());
}

#[test]
fn what_a_killed_run_left_is_ended_by_the_next_one() {
    let home = Home::new();
    let model =
        home.script(r#"[{tool_calls: [{name: terminal, arguments: {command: "touch begun; sleep 605"}}]}]"#);
    let mut child = home
        .deft(&["run", "-t", "x", "--model", &model])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&home.work().join("begun"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!still_running(&home).is_empty(), "the command goes on without us");
    let text = home.script("[{text: never mind}, {text: never mind}]");
    let child = home
        .deft(&["run", "--last", "-t", "stop", "--model", &text])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500)); // it collects the result of the command
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait_with_output().unwrap();
    assert_eq!(still_running(&home), Vec::<String>::new());
}

/// Root may read everything, so this is tried as somebody else where the tests are root's.
#[test]
fn s2_tools_cannot_read_our_environment_from_the_system() {
    let home = Home::new();
    let model = home.script(
        "[{tool_calls: [{name: terminal, arguments: {command: 'cat /proc/[0-9]*/environ 2>/dev/null > seen; \
         grep -ac PATH= seen > found; grep -a sk-of-the-test seen >> found; true'}}]}]",
    );
    let program = home.root.path().join("deft"); // the tests' own may lie where nobody else can go
    fs::hard_link(env!("CARGO_BIN_EXE_deft"), &program)
        .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_deft"), &program).map(drop))
        .unwrap();
    for place in ["local:.", "sandbox:."] {
        let ours = home.deft(&[]);
        let mut run = Command::new(&program);
        run.args(["run", "-t", "x", "--model", &model, "-w", place])
            .env_clear()
            .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(home.work());
        if rustix::process::geteuid().is_root() {
            for owned in [home.root.path(), &home.work()] {
                chown(owned, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            run.uid(NOBODY).gid(NOBODY);
        }
        let output = run.output().unwrap();
        assert!(output.status.success(), "{place}: {}", stderr(&output));
        let found = fs::read_to_string(home.work().join("found")).unwrap();
        let count = found.trim().parse::<u32>();
        assert!(count.is_ok_and(|seen| seen > 0), "{place}: {found}");
    }
}

#[test]
fn s2_tools_get_nothing_that_was_left_open_where_deft_was_started() {
    let home = Home::new();
    let secret = home.root.path().join("secret");
    fs::write(&secret, "LEAKED").unwrap();
    let model = home.script(
        "[{tool_calls: [{name: terminal, arguments: {command: 'cat <&9 > found; readlink /proc/self/fd/* >> found; \
         true'}}]}]",
    );
    for place in ["local:.", "sandbox:."] {
        let ours = home.deft(&[]);
        let mut run = Command::new("sh");
        run.args(["-c", "exec \"$0\" run -t x --model \"$1\" -w \"$2\" 9<\"$3\""])
            .args([env!("CARGO_BIN_EXE_deft"), &model, place])
            .arg(&secret)
            .env_clear()
            .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(home.work());
        let output = run.output().unwrap();
        assert!(output.status.success(), "{place}: {}", stderr(&output));
        let found = fs::read_to_string(home.work().join("found")).unwrap();
        assert!(found.contains("/found"), "{place}: {found}"); // its own output
        for left_open in ["LEAKED", "/secret", "/deft\n"] {
            assert!(!found.contains(left_open), "{place}: {found}");
        }
    }
}
