//! The other tools for files and the list of tasks do what the reference does, where it is right.

use serde_json::{Value, json};

use super::bench::Bench;
use super::recorded::recording;

/// Cases in which ours differs on purpose, with the reason.
const BETTER: [(&str, &str); 5] = [
    ("leading newline", "blank lines around a patch do no harm"),
    (
        "ls recursive",
        "in the order of their paths, and new files have a line break at their end",
    ),
    ("read empty file", "an empty file can be read"),
    ("read binary", "binary files are refused"),
    ("read 1500 lines default", "a page is bounded by characters too"),
];

/// Fields that ours fills where the reference does not, or that differ from run to run.
const NOT_COMPARED: [&str; 4] = ["kind", "path", "file_path", "dir_path"];

async fn compare(bench: &Bench, label: &str, tool: &str, action: &Value, expected: &Value) {
    let mut arguments = action.clone();
    let Some(Value::String(kind)) = arguments.as_object_mut().unwrap().remove("kind") else {
        panic!("{label} has no kind");
    };
    let seen = bench.json(tool, &kind, arguments).await;
    let is_error = expected["is_error"] == true;
    for (field, expected) in expected.as_object().unwrap() {
        if NOT_COMPARED.contains(&field.as_str()) || is_error && field != "is_error" {
            continue;
        }
        let ours = seen.get(field).cloned().unwrap_or(Value::Null);
        assert_eq!(
            without_noise(ours),
            without_noise(expected.clone()),
            "{label}: {field} of {seen}"
        );
    }
}

/// Ours ends new files with a line break and says what an added file replaced, so contents are compared without.
fn without_noise(value: Value) -> Value {
    match value {
        Value::String(text) => json!(text.trim_end()),
        Value::Array(all) => all.into_iter().map(without_noise).collect(),
        Value::Object(mut all) => {
            for noise in ["modified_time", "old_content", "extra"] {
                all.remove(noise);
            }
            all.sort_keys();
            all.into_iter()
                .map(|(name, value)| (name, without_noise(value)))
                .collect()
        }
        other => other,
    }
}

#[tokio::test]
async fn patches_plans_and_small_tools_give_the_recorded_fields() {
    let bench = Bench::new();
    bench.write("e.txt", "");
    bench.write("many.txt", "x\n".repeat(1500));
    bench.write("bin.dat", (0..=255).collect::<Vec<u8>>());
    let root = bench.workspace();
    let recorded = include_str!("../recordings/files.json").replace("/ws-root/misc", root.to_str().unwrap());
    let recorded = recording(&recorded);
    let mut compared = 0;
    for (group, cases) in recorded.as_object().unwrap() {
        for case in cases.as_array().unwrap() {
            let label = case["label"].as_str().unwrap();
            if BETTER.iter().any(|(better, _)| label == *better) {
                continue;
            }
            let tool = match (group.as_str(), label.split(' ').next().unwrap()) {
                ("planning", _) => "planning_file_editor",
                ("gemini", "write") => "write_file",
                ("gemini", "read") => "read_file",
                ("gemini", "edit") => "edit",
                ("gemini", "ls") => "list_directory",
                (group, _) => group,
            };
            // What the reference leaves out of a plan's observation, ours says.
            let mut expected = case["observation"].clone();
            if group == "planning" {
                for field in ["old_content", "new_content"] {
                    expected.as_object_mut().unwrap().remove(field);
                }
            }
            compare(&bench, label, tool, &case["action"], &expected).await;
            compared += 1;
        }
    }
    assert!(compared > 45, "only {compared} cases were compared");
}
