//! `grep` and `glob` find what the reference finds, where it is right.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::bench::Bench;
use super::recorded::recording;

/// Cases in which ours differs on purpose, with the reason.
const BETTER: [(&str, &str); 9] = [
    ("include braces", "braces work"),
    ("path is file", "the lines of one file are shown"),
    ("path relative", "relative paths are those of the workspace"),
    ("src/*.py", "patterns with a slash work"),
    ("absolute file", "a plain path is found"),
    ("~", "not expanded, as everywhere"),
    ("empty", "hidden files must be asked for"),
    ("dotdot", "leads out of the directory"),
    ("leading dash", "is searched for, and found in nothing"),
];

#[tokio::test]
async fn searches_give_the_recorded_fields() {
    let bench = Bench::new();
    fixtures(&bench);
    let root = bench.workspace();
    let recorded =
        include_str!("../recordings/search.json").replace("/ws-root/search", root.to_str().unwrap());
    let recorded = recording(&recorded);
    let mut compared = 0;
    for (tool, kind) in [("grep", "GrepAction"), ("glob", "GlobAction")] {
        for case in recorded[tool].as_array().unwrap() {
            let label = case["label"].as_str().unwrap();
            if BETTER.iter().any(|(better, _)| label == *better) {
                continue;
            }
            let seen = bench.json(tool, kind, case["action"].clone()).await;
            for (field, expected) in case["observation"].as_object().unwrap() {
                let expected = if expected.is_null() {
                    &Value::Null
                } else {
                    expected
                };
                assert_eq!(
                    seen.get(field).unwrap_or(&Value::Null),
                    expected,
                    "{tool} {label}: {field}"
                );
            }
            compared += 1;
        }
    }
    assert!(compared > 20, "only {compared} cases were compared");
}

/// The tree that the recording was made in, each file older than the one before it.
fn fixtures(bench: &Bench) {
    let many = (0..150)
        .rev()
        .map(|number| (format!("many/f{number}.txt"), "needle\n"));
    let others = [
        (".gitignore", "node_modules/\n"),
        ("bin.dat", "\0foo\n"),
        (".env", "foo=1\n"),
        (".hidden/d.py", "foo\n"),
    ];
    let sources = [
        ("src/b.py", "foo(1)\n"),
        ("src/t.tsx", "foo\n"),
        ("src/deep/c.ts", "const foo = 1\n"),
        ("node_modules/m.js", "foo\n"),
        ("a.py", "def foo(): pass\n"),
    ];
    let named = |(name, text): (&str, &'static str)| (name.to_owned(), text);
    let newest_first = others
        .map(named)
        .into_iter()
        .chain(many)
        .chain(sources.map(named));
    let mut time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for (name, text) in newest_first {
        let path = bench.write(&name, text);
        std::fs::File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
        time -= Duration::from_secs(1);
    }
}
