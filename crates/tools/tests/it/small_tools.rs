//! The tools that other models are trained on, the plan and the list of tasks.

use std::os::unix::fs::symlink;

use deft_tools::{ToolContext, Toolbox};
use serde_json::{Value, json};

use super::bench::{Bench, numbered_lines};

fn text(seen: &Value) -> &str {
    seen["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn a_long_file_is_read_in_pages() {
    let bench = Bench::new();
    bench.write("long", numbered_lines("line ", 2500));
    let mut offset = 0;
    let mut pages = 0;
    loop {
        let seen = bench
            .json(
                "read_file",
                "ReadFileAction",
                json!({ "file_path": "long", "offset": offset }),
            )
            .await;
        assert!(text(&seen).len() < 17_000);
        let [first, last] = [0, 1].map(|index| seen["lines_shown"][index].as_i64().unwrap());
        assert_eq!(first, offset + 1);
        let shown = seen["file_content"].as_str().unwrap();
        assert!(shown.ends_with(&format!("{last:6}  line {last}\n")), "{shown}");
        pages += 1;
        offset = last;
        if last == 2500 {
            break;
        }
        assert!(
            text(&seen).contains(&format!("`offset` {last}")),
            "{}",
            text(&seen)
        );
    }
    assert!(pages >= 3);
    bench.write("endless", "x".repeat(100_000));
    let seen = bench
        .json("read_file", "ReadFileAction", json!({ "file_path": "endless" }))
        .await;
    assert!(
        text(&seen).contains("more characters") && text(&seen).len() < 3_000,
        "{}",
        text(&seen).len()
    );
}

#[tokio::test]
async fn an_empty_file_is_read_and_a_binary_one_is_not() {
    let bench = Bench::new();
    bench.write("empty", "");
    bench.write("binary", b"a\0b");
    let seen = bench
        .json("read_file", "ReadFileAction", json!({ "file_path": "empty" }))
        .await;
    assert_eq!(
        (&seen["is_error"], &seen["total_lines"]),
        (&json!(false), &json!(0))
    );
    let seen = bench
        .json("read_file", "ReadFileAction", json!({ "file_path": "binary" }))
        .await;
    assert_eq!(seen["is_error"], json!(true));
}

#[tokio::test]
async fn written_files_keep_their_line_ends_and_links() {
    let bench = Bench::new();
    let path = bench.write("dos", "a\r\nb\r\n");
    symlink("dos", bench.workspace().join("link")).unwrap();
    let seen = bench
        .json(
            "write_file",
            "WriteFileAction",
            json!({ "file_path": "link", "content": "c\nd\n" }),
        )
        .await;
    assert_eq!(
        (&seen["old_content"], &seen["new_content"]),
        (&json!("a\nb\n"), &json!("c\nd\n"))
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"c\r\nd\r\n");
    assert!(bench.workspace().join("link").is_symlink());
    let edit = json!({ "file_path": "dos", "old_string": "c\nd", "new_string": "e\nf" });
    assert_eq!(
        bench.json("edit", "EditAction", edit).await["replacements_made"],
        json!(1)
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"e\r\nf\r\n");
}

#[tokio::test]
async fn a_listing_shows_its_entries_within_bounds() {
    let bench = Bench::new();
    bench.write("d/.hidden", "12345");
    bench.write("d/sub/deep/x", "");
    let seen = bench
        .json(
            "list_directory",
            "ListDirectoryAction",
            json!({ "dir_path": "d", "recursive": true }),
        )
        .await;
    let listed = text(&seen).split_once('\n').unwrap().1;
    assert_eq!(listed, ".hidden  5 bytes\nsub/\nsub/deep/\n");
    for number in 0..600 {
        bench.write(&format!("many/{number:03}"), "");
    }
    let seen = bench
        .json(
            "list_directory",
            "ListDirectoryAction",
            json!({ "dir_path": "many" }),
        )
        .await;
    assert_eq!(
        (&seen["total_count"], &seen["is_truncated"]),
        (&json!(600), &json!(true))
    );
    assert_eq!(seen["entries"].as_array().unwrap().len(), 500);
    assert!(text(&seen).ends_with("499  0 bytes\n[… 100 more; list a directory in it …]\n"));
}

#[tokio::test]
async fn only_the_plan_can_be_changed() {
    let bench = Bench::new();
    let code = bench.write("code.rs", "fn main() {}\n");
    let plan = bench.workspace().join(".agents_tmp/PLAN.md");
    let call = async |arguments: Value| {
        bench
            .json("planning_file_editor", "PlanningFileEditorAction", arguments)
            .await
    };
    let replace = |path: &std::path::Path, old: &str| json!({ "command": "str_replace", "path": path, "old_str": old, "new_str": "changed" });
    let seen = call(replace(&code, "main")).await;
    assert!(
        seen["is_error"] == true && text(&seen).contains(plan.to_str().unwrap()),
        "{seen}"
    );
    assert!(!plan.exists(), "it is made when it is needed");
    assert!(text(&call(json!({ "command": "view", "path": code })).await).contains("fn main"));
    assert!(text(&call(json!({ "command": "view", "path": plan })).await).contains("# 1. OBJECTIVE"));
    let seen = call(replace(&plan, "# 1. OBJECTIVE")).await;
    assert!(
        seen["new_content"].as_str().unwrap().starts_with("changed\n"),
        "{seen}"
    );

    // A link that has the plan's name is not the plan.
    std::fs::remove_file(&plan).unwrap();
    symlink(&code, &plan).unwrap();
    assert_eq!(call(replace(&plan, "main")).await["is_error"], true);
    assert_eq!(std::fs::read_to_string(&code).unwrap(), "fn main() {}\n");

    let at_the_top = bench.write("PLAN.md", "old plan\n");
    assert_eq!(call(replace(&at_the_top, "old")).await["is_error"], false);
}

#[tokio::test]
async fn the_task_list_survives_a_restart() {
    let bench = Bench::new();
    let list = json!([{ "title": "A", "notes": "n\nm", "status": "In Progress" }, { "title": "B", "status": "completed" }]);
    let seen = bench
        .json(
            "task_tracker",
            "TaskTrackerAction",
            json!({ "command": "plan", "task_list": list }),
        )
        .await;
    assert_eq!(seen["is_error"], false);
    let context = ToolContext {
        workspace: bench.workspace(),
        private_dir: bench.private_dir(),
        env: Vec::new(),
    };
    let again = Toolbox::standard(context).unwrap();
    let view = deft_tools::Call::of(deft_types::TaskTrackerAction::default());
    let seen = serde_json::to_value(again.get("task_tracker").unwrap().run(view).await.unwrap()).unwrap();
    assert_eq!(text(&seen), "1. [in progress] A\n   n\n   m\n2. [done] B\n");
    assert_eq!(seen["task_list"][0]["status"], "in_progress");

    let bad = json!({ "command": "plan", "task_list": [{ "title": "A", "status": "blocked" }] });
    let seen = bench.json("task_tracker", "TaskTrackerAction", bad).await;
    assert!(seen["is_error"] == true && text(&seen).contains("todo"), "{seen}");
    std::fs::write(bench.private_dir().join("TASKS.json"), "{").unwrap();
    let seen = bench.json("task_tracker", "TaskTrackerAction", json!({})).await;
    assert!(
        seen["is_error"] == true && text(&seen).contains("`plan`"),
        "{seen}"
    );
}
