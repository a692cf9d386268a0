//! Conversations that are shown again, tried again from one of their steps, taken back, or sent back to their goal.

use std::fs;

use serde_json::Value;

use crate::commands::{Home, lines, stderr, stdout};

const WORK: &str = "- tool_calls: [{name: terminal, arguments: {command: echo one > a}}]\n\
     - tool_calls: [{name: terminal, arguments: {command: echo two > a}}]\n- text: done\n";

fn conversations(home: &Home) -> Vec<Value> {
    lines(&home.run(&["list", "--json"]))
}

fn id(conversation: &Value) -> String {
    conversation["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_conversation_is_shown_again_without_a_model_and_tried_again_with_another() {
    let home = Home::new();
    let first = home.run(&["run", "-t", "do it", "--model", &home.script(WORK), "--json"]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let original = id(&conversations(&home)[0]);
    fs::remove_file(home.root.path().join("script.yaml")).unwrap();
    let again = home.run(&["replay", &original, "--json"]);
    assert_eq!(lines(&again), lines(&first), "nobody is asked");
    assert!(stdout(&home.run(&["replay", &original])).contains("echo two > a"));

    let other = home.root.path().join("other.yaml");
    let text = "- text: never asked\n- tool_calls: [{name: terminal, arguments: {command: echo three > a}}]\n- text: done\n";
    fs::write(&other, text).unwrap();
    let model = format!("script:{}", other.display());
    let back = home.run(&["replay", &original, "--from", "1", "--files", "--model", &model]);
    assert!(stderr(&back).contains("deft restore"), "{}", stderr(&back));
    assert!(
        !home.work().join("a").exists(),
        "nothing was there before the first step"
    );
    let between = home.run(&["replay", &original, "--from", "2", "--files", "--model", &model]);
    let complaint = stderr(&between);
    assert!(
        complaint.contains("--from 1 --files") && complaint.contains("once a turn"),
        "{complaint}"
    );
    let tried = home.run(&["replay", &original, "--from", "2", "--model", &model]);
    assert_eq!(
        tried.status.code(),
        Some(0),
        "{}{}",
        stdout(&tried),
        stderr(&tried)
    );
    assert_eq!(fs::read_to_string(home.work().join("a")).unwrap(), "three\n");
    assert_eq!(conversations(&home).len(), 3, "in copies");
    assert!(
        stderr(&tried).contains("--files"),
        "the files are not those of the step"
    );
    let nobody = home.run(&["replay", &original, "--model", &model]);
    assert!(stderr(&nobody).contains("--from"), "{}", stderr(&nobody));
    let missing = home.run(&["replay", &original, "--from", "9", "--model", &model]);
    assert!(stderr(&missing).contains("has 3 steps"), "{}", stderr(&missing));
}

#[test]
fn what_is_tried_again_may_cost_no_more_than_the_original() {
    let home = Home::new();
    let first = home.run(&[
        "run",
        "-t",
        "do it",
        "--model",
        &home.script(WORK),
        "--max-cost",
        "0.5",
    ]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let original = id(&conversations(&home)[0]);
    let dear = WORK.replace("- tool_calls", "- cost: 0.4\n  tool_calls");
    let model = home.script(&format!("{dear}- text: more\n"));
    let tried = home.run(&["replay", &original, "--from", "1", "--model", &model]);
    assert!(
        stderr(&tried).contains("budget") || stdout(&tried).contains("budget"),
        "{}{}",
        stdout(&tried),
        stderr(&tried)
    );
    let spent: Vec<_> = conversations(&home)
        .iter()
        .map(|one| one["cost"].clone())
        .collect();
    assert!(spent.len() == 2, "{spent:?}");
}

#[test]
fn a_whole_conversation_that_was_recorded_is_played_again_without_its_model() {
    let home = Home::new();
    let cassette = home.root.path().join("run.jsonl").display().to_string();
    let recorded = format!("record:{cassette}:{}", home.script(WORK));
    let run = |model: &str| {
        let run = home.run(&["run", "-t", "do it", "--model", model, "--json"]);
        assert_eq!(run.status.code(), Some(0), "{}{}", stdout(&run), stderr(&run));
        let is_said =
            |event: &Value| ["ActionEvent", "MessageEvent"].contains(&event["kind"].as_str().unwrap_or(""));
        let events = lines(&run).into_iter().filter(is_said);
        let said = events.map(|event| {
            (
                event["tool_call"]["arguments"].clone(),
                event["llm_message"]["content"].clone(),
            )
        });
        said.collect::<Vec<_>>()
    };
    let first = run(&recorded);
    fs::remove_file(home.root.path().join("script.yaml")).unwrap();
    fs::remove_file(home.work().join("a")).unwrap();
    let again = run(&format!("replay:{cassette}"));
    assert_eq!(again, first);
    assert_eq!(fs::read_to_string(home.work().join("a")).unwrap(), "two\n");
}

#[test]
fn a_plan_is_tried_again_as_a_plan_and_only_the_steps_of_its_branch_count() {
    let home = Home::new();
    let model = home.script("[{text: the plan}, {text: another plan}, {text: a third one}]");
    home.run(&["run", "--plan", "-t", "plan it", "--model", &model]);
    let original = id(&conversations(&home)[0]);
    let events = lines(&home.run(&["show", &original, "--json"]));
    let said = events.iter().find(|event| event["source"] == "user").unwrap();
    let said = said["id"].as_str().unwrap();
    home.run(&["rewind", &original, said, "--conversation", "--model", &model]);
    home.run(&["run", "--resume", &original, "-t", "again", "--model", &model]);
    let missing = home.run(&["replay", &original, "--from", "9", "--model", &model]);
    assert!(stderr(&missing).contains("has 1 steps"), "{}", stderr(&missing));
    home.run(&["replay", &original, "--from", "1", "--model", &model]);
    let copy = id(&conversations(&home)[0]);
    assert_ne!(copy, original);
    let events = lines(&home.run(&["show", &copy, "--json"]));
    let told = events.iter().rfind(|event| event["key"] == "mode").unwrap();
    assert_eq!(told["value"], "plan", "it does not work where it was to plan");
}

#[test]
fn a_conversation_and_its_files_go_back_to_an_event() {
    let home = Home::new();
    let model = home.script(WORK);
    fs::write(home.work().join("a"), "zero\n").unwrap();
    home.run(&["run", "-t", "do it", "--model", &model]);
    let id = id(&conversations(&home)[0]);
    let events = lines(&home.run(&["show", &id, "--json"]));
    let said = events.iter().find(|event| event["source"] == "user").unwrap();
    let back = home.run(&[
        "rewind",
        &id,
        &said["id"].as_str().unwrap()[..20],
        "--model",
        &model,
    ]);
    assert_eq!(back.status.code(), Some(0), "{}{}", stdout(&back), stderr(&back));
    assert_eq!(fs::read_to_string(home.work().join("a")).unwrap(), "zero\n");
    let nowhere = home.run(&["rewind", &id, "nowhere", "--model", &model]);
    assert!(
        stderr(&nowhere).contains("no event 'nowhere'"),
        "{}",
        stderr(&nowhere)
    );
}

#[test]
fn a_task_that_is_a_goal_is_gone_on_with_until_the_judge_is_content() {
    let home = Home::new();
    let model = home.script("[{text: first try}, {text: second try}]");
    let judge = home.root.path().join("judge.yaml");
    let verdicts = "- text: never asked\n- text: '{\"complete\": false, \"missing\": \"a test\"}'\n- text: '{\"complete\": true}'\n";
    fs::write(&judge, verdicts).unwrap();
    let judge = format!("script:{}", judge.display());
    let args = [
        "run",
        "--goal",
        "-t",
        "do it",
        "--model",
        &model,
        "--judge-model",
        &judge,
    ];
    let output = home.run(&args);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", stderr(&output));
    assert!(
        shown.contains("first try") && shown.contains("second try"),
        "{shown}"
    );
    let events = lines(&home.run(&["show", &id(&conversations(&home)[0]), "--json"]));
    let goal = events.iter().rfind(|event| event["key"] == "goal").unwrap();
    assert_eq!(goal["value"]["status"], "complete");

    let output = home.run(&[&args[..], &["--rounds", "1"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("not reached; still missing: a test"),
        "{}",
        stderr(&output)
    );
}
