//! Where the reference is right, ours does the same: compared with what was recorded of it.

use deft_tools::Call;
use deft_tools::Toolbox;
use deft_types::{Action, FileEditorAction, Observation};
use serde_json::{Value, json};

use super::bench::{Bench, numbered_lines, text};

pub(crate) fn recording(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn schemas_have_the_recorded_fields_enums_and_annotations() {
    fn without_descriptions(mut schema: Value) -> Value {
        for property in schema["properties"].as_object_mut().unwrap().values_mut() {
            let description = property.as_object_mut().unwrap().remove("description");
            assert!(description.is_some_and(|text| !text.as_str().unwrap().is_empty()));
        }
        assert_eq!(
            schema.as_object_mut().unwrap().remove("additionalProperties"),
            Some(json!(false))
        );
        schema
    }
    let recorded = recording(include_str!("../recordings/tool_schemas.json"));
    let specs = Bench::new().toolbox.specs();
    for spec in specs.into_iter().chain(Toolbox::host().specs()) {
        let expected = &recorded[spec.name()];
        let definition = serde_json::to_value(&spec.definition).unwrap();
        assert_eq!(definition["kind"], expected["class"]);
        for field in ["annotations", "action_type", "observation_type"] {
            assert_eq!(definition[field], expected[field], "{field} of {}", spec.name());
        }
        let mut schema = without_descriptions(spec.parameters);
        // Ours alone: several shells.
        schema["properties"].as_object_mut().unwrap().remove("shell");
        assert_eq!(schema, expected["inputSchema"]);
    }
}

#[tokio::test]
async fn commands_give_the_recorded_output_and_exit_code() {
    let bench = Bench::new();
    std::fs::create_dir(bench.workspace().join("sub dir")).unwrap();
    let root = bench.workspace().to_str().unwrap().to_owned();
    for case in recording(include_str!("../recordings/terminal.json"))
        .as_array()
        .unwrap()
    {
        let seen = bench.sh(case["command"].as_str().unwrap()).await;
        let expected = case["text"]
            .as_str()
            .unwrap()
            .replace("/ws-root/ws_subprocess", &root)
            // Colours are for those who watch; the model is spared them.
            .replace("\x1b[31m", "")
            .replace("\x1b[0m", "");
        assert_eq!(text(&seen), expected, "{}", case["label"]);
        assert_eq!(json!(seen.exit_code), case["exit_code"], "{}", case["label"]);
        assert!(!seen.is_error && !seen.timeout, "{}", case["label"]);
    }
    bench.toolbox.close().await;
}

/// Cases in which ours differs on purpose, with the reason.
const BETTER: [(&str, &str); 8] = [
    ("create in missing dir", "parents are made"),
    (
        "str_replace missing new",
        "new_str may be left out, which deletes",
    ),
    ("undo loop 3", "the first undo after `create` removes the file"),
    ("undo after create", "the same"),
    ("undo after create again", "the same"),
    (
        "view fake image",
        "a file is an image by its bytes, not by its name",
    ),
    ("view cp1251", "shown as Windows-1252; no byte is changed"),
    ("insert at end without trailing newline", "lines are never joined"),
];

#[tokio::test]
async fn edits_give_the_recorded_fields() {
    let bench = Bench::new();
    let root = bench.workspace();
    let root = root.to_str().unwrap();
    fixtures(root);
    let editor = bench.toolbox.get("file_editor").unwrap();
    let recorded = include_str!("../recordings/file_editor.json").replace("/ws-root/fe", root);
    let mut compared = 0;
    for case in recording(&recorded).as_array().unwrap() {
        let label = case["label"].as_str().unwrap();
        if BETTER.iter().any(|(better, _)| label == *better) || label.starts_with("undo loop") {
            continue;
        }
        let action: FileEditorAction = serde_json::from_value(case["action"].clone()).unwrap();
        let seen = editor.run(Call::of(Action::from(action))).await.unwrap();
        let Observation::FileEditor(seen) = seen else {
            panic!("{seen:?}");
        };
        let expected = &case["observation"];
        assert_eq!(json!(seen.is_error), expected["is_error"], "{label}: {seen:?}");
        assert_eq!(json!(seen.command), expected["command"], "{label}");
        assert_eq!(json!(seen.path), expected["path"], "{label}");
        assert_eq!(json!(seen.prev_exist), expected["prev_exist"], "{label}");
        if expected["old_content"] != "(long)" {
            assert_eq!(json!(seen.old_content), expected["old_content"], "{label}");
            assert_eq!(json!(seen.new_content), expected["new_content"], "{label}");
        }
        compared += 1;
    }
    assert!(compared > 50, "only {compared} cases were compared");
}

/// The files that the recording began with.
fn fixtures(root: &str) {
    let write = |name: &str, bytes: &[u8]| std::fs::write(format!("{root}/{name}"), bytes).unwrap();
    write("nt.txt", b"a\nb");
    write("crlf.txt", b"one\r\ntwo\r\nthree\r\n");
    write("bom.txt", b"\xEF\xBB\xBFhello\nworld\n");
    write("l1.txt", b"caf\xE9 se\xF1or \xFCber na\xEFve\n");
    write(
        "u16.txt",
        &"\u{feff}hello utf16\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>(),
    );
    write("b.bin", b"\x00\x01\x02abc\xFF");
    write("big.txt", &vec![b'x'; 10 * 1024 * 1024 + 1]);
    let long = numbered_lines("line number ", 5000);
    write("long.txt", long.as_bytes());
    write("i.png", b"\x89PNG\r\n\x1a\n....");
    write("target.txt", b"T1\n");
    write("ff.txt", "a\u{c}b\u{2028}c\nd\n".as_bytes());
    std::fs::create_dir_all(format!("{root}/d/e/f")).unwrap();
    for name in ["d/x.py", "d/e/y.py", "d/.hidden"] {
        write(name, b"");
    }
    write("link-target.txt", b"T1\n");
    std::os::unix::fs::symlink("link-target.txt", format!("{root}/link.txt")).unwrap();
}
