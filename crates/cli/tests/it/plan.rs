//! Agents that only plan.

use std::fs;

use crate::commands::{Home, lines, stderr, stdout};
use crate::sandbox::{Place, tiers};

#[tokio::test]
async fn nothing_of_a_workspace_can_be_changed_but_the_plan_whatever_runs_there() {
    for tier in tiers() {
        let place = Place::new();
        fs::write(place.path("work/PLAN.md"), "old").unwrap();
        let inside = place.open_to_plan(tier).await;
        for attack in [
            "touch new",
            "echo x >> deft.toml",
            "rm deft.toml",
            "mv .agents_tmp away",
            "mkdir -p a/b",
            "ln -s /etc link2",
            "echo x > .git/config",
        ] {
            let said = inside.run(&format!("{attack} && echo ESCAPED")).await;
            assert!(!said.contains("ESCAPED"), "{tier:?} {attack}: {said}");
        }
        let said = inside
            .run("echo new > .agents_tmp/PLAN.md && echo new > PLAN.md && cat deft.toml && echo fine")
            .await;
        assert!(said.contains("fine"), "{tier:?}: {said}");
        assert_eq!(fs::read_to_string(place.path("work/PLAN.md")).unwrap(), "new\n");
        assert!(!place.path("work/new").exists());
    }
}

#[tokio::test]
async fn a_link_in_the_place_of_the_plans_directory_opens_nothing() {
    for tier in tiers() {
        let place = Place::new();
        std::os::unix::fs::symlink(place.path("other"), place.path("work/.agents_tmp")).unwrap();
        assert!(place.try_to_plan(tier).await.is_err(), "{tier:?}");
    }
}

#[test]
fn a_plan_is_written_then_approved_and_carried_out() {
    let home = Home::new();
    let plan = home.work().join(".agents_tmp/PLAN.md");
    let model = home.script(&format!(
        "- tool_calls:\n\
         \x20 - {{name: terminal, arguments: {{command: touch broken}}}}\n\
         \x20 - {{name: planning_file_editor, arguments: {{command: create, path: {}, file_text: the plan}}}}\n\
         - text: This is the plan.\n\
         - tool_calls: [{{name: terminal, arguments: {{command: cp .agents_tmp/PLAN.md made}}}}]\n\
         - text: done\n",
        plan.display()
    ));
    let planned = home.run(&["run", "--plan", "-t", "make it", "--model", &model]);
    assert_eq!(
        planned.status.code(),
        Some(0),
        "{}{}",
        stdout(&planned),
        stderr(&planned)
    );
    assert_eq!(fs::read_to_string(&plan).unwrap(), "the plan");
    assert!(!home.work().join("broken").exists());
    fs::write(&plan, "the plan, edited").unwrap();

    let done = home.run(&["run", "--last", "--approve"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", stdout(&done), stderr(&done));
    assert_eq!(
        fs::read_to_string(home.work().join("made")).unwrap(),
        "the plan, edited"
    );
    let id = lines(&home.run(&["list", "--json"]))[0]["id"].clone();
    let again = home.run(&["run", "--resume", id.as_str().unwrap(), "--approve"]);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    assert!(stderr(&again).contains("no plan to approve"));
    let nowhere = home.run(&["run", "--plan", "-w", "local:.", "-t", "x", "--model", &model]);
    assert!(
        stderr(&nowhere).contains("only a sandbox"),
        "{}",
        stderr(&nowhere)
    );
}
