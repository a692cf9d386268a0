//! What `grep` and `glob` find, and what they leave out.

use std::time::{Duration, SystemTime};

use deft_tools::{Call, ToolError};
use deft_types::{GlobAction, GlobObservation, GrepAction, GrepObservation, Observation, text_of};
use tokio_util::sync::CancellationToken;

use super::bench::Bench;

async fn grep(bench: &Bench, pattern: &str, path: &str, include: &str) -> GrepObservation {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let action = GrepAction {
        pattern: pattern.to_owned(),
        path: given(path),
        include: given(include),
        ..GrepAction::default()
    };
    match bench.call("grep", action).await {
        Observation::Grep(seen) => *seen,
        other => panic!("{other:?}"),
    }
}

async fn glob(bench: &Bench, pattern: &str, path: &str) -> GlobObservation {
    let action = GlobAction {
        pattern: pattern.to_owned(),
        path: (!path.is_empty()).then(|| path.to_owned()),
        ..GlobAction::default()
    };
    match bench.call("glob", action).await {
        Observation::Glob(seen) => *seen,
        other => panic!("{other:?}"),
    }
}

/// The names of files in the workspace, sorted.
fn names(bench: &Bench, found: &[String]) -> Vec<String> {
    let root = bench.workspace();
    let mut names: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(root.to_str().unwrap()).unwrap()[1..].to_owned())
        .collect();
    names.sort();
    names
}

fn tree() -> Bench {
    let bench = Bench::new();
    for name in [
        "a.py",
        "src/b.py",
        "src/deep/c.ts",
        "src/t.tsx",
        ".env",
        ".github/x.yml",
        "ignored/d.py",
        "e.log",
    ] {
        bench.write(name, format!("# {name}\nneedle = 1\n"));
    }
    bench.write(".gitignore", "ignored/\n*.log\n");
    bench
}

#[tokio::test]
async fn ignored_files_are_left_out_inside_of_a_repository_only() {
    let bench = tree();
    let all = [
        "a.py",
        "e.log",
        "ignored/d.py",
        "src/b.py",
        "src/deep/c.ts",
        "src/t.tsx",
    ];
    assert_eq!(names(&bench, &grep(&bench, "needle", "", "").await.matches), all);
    std::fs::create_dir(bench.workspace().join(".git")).unwrap();
    bench.write(".git/config", "needle");
    let kept = ["a.py", "src/b.py", "src/deep/c.ts", "src/t.tsx"];
    assert_eq!(names(&bench, &grep(&bench, "needle", "", "").await.matches), kept);
    assert_eq!(names(&bench, &glob(&bench, "*", "").await.files), kept);
    assert_eq!(
        names(&bench, &glob(&bench, "*.py", "").await.files),
        ["a.py", "src/b.py"]
    );
    // What is asked for by its own path is looked at.
    assert_eq!(
        names(&bench, &grep(&bench, "needle", "ignored", "").await.matches),
        ["ignored/d.py"]
    );
    assert_eq!(
        names(&bench, &glob(&bench, ".*", "").await.files),
        [".env", ".gitignore"]
    );
}

#[tokio::test]
async fn hidden_files_are_found_when_they_are_asked_for() {
    let bench = tree();
    assert_eq!(
        names(&bench, &grep(&bench, "needle", "", ".env").await.matches),
        [".env"]
    );
    assert_eq!(
        names(
            &bench,
            &grep(&bench, "needle", "", "**/.github/*.yml").await.matches
        ),
        [".github/x.yml"]
    );
    assert_eq!(
        names(&bench, &glob(&bench, ".github/*", "").await.files),
        [".github/x.yml"]
    );
    assert!(glob(&bench, "*.yml", "").await.files.is_empty());
}

#[tokio::test]
async fn include_takes_braces_and_paths() {
    let bench = tree();
    for (include, found) in [
        ("*.{ts,tsx}", vec!["src/deep/c.ts", "src/t.tsx"]),
        ("src/*.py", vec!["src/b.py"]),
        ("src/**", vec!["src/b.py", "src/deep/c.ts", "src/t.tsx"]),
    ] {
        assert_eq!(
            names(&bench, &grep(&bench, "needle", "", include).await.matches),
            found,
            "{include}"
        );
    }
    let seen = grep(&bench, "needle", "", "{a").await;
    assert!(
        seen.is_error && text_of(&seen.content).contains("`include`"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn what_the_engine_cannot_do_is_said() {
    let bench = tree();
    for pattern in [r"foo(?=\()", r"(?<!a)b", r"(a)\1", "(", r"a\nb"] {
        let seen = grep(&bench, pattern, "", "").await;
        assert!(
            seen.is_error && text_of(&seen.content).contains("Look-around"),
            "{pattern}: {seen:?}"
        );
    }
    let seen = grep(&bench, "x", "absent", "").await;
    assert!(
        seen.is_error && text_of(&seen.content).contains("does not exist"),
        "{seen:?}"
    );
    let seen = glob(&bench, "*", "a.py").await;
    assert!(
        seen.is_error && text_of(&seen.content).contains("not a directory"),
        "{seen:?}"
    );
    assert!(glob(&bench, "~/*", "").await.is_error);
}

#[tokio::test]
async fn case_is_ignored_and_dollar_means_the_end_of_any_line() {
    let bench = Bench::new();
    bench.write("dos.txt", "First line\r\nsecond\r\n");
    for (pattern, found) in [
        ("first LINE$", true),
        ("(?-i)first", false),
        ("^second$", true),
        ("-x", false),
    ] {
        assert_eq!(
            !grep(&bench, pattern, "", "").await.matches.is_empty(),
            found,
            "{pattern}"
        );
    }
}

#[tokio::test]
async fn a_few_files_are_shown_with_their_lines_and_many_by_name() {
    let bench = tree();
    let seen = grep(&bench, "needle", "src", "*.py").await;
    let path = bench.workspace().join("src/b.py");
    assert_eq!(
        text_of(&seen.content),
        format!("1 file:\n{}\n     2: needle = 1\n", path.display())
    );
    let many = "needle\n".repeat(9);
    for number in 0..20 {
        bench.write(&format!("many/{number}"), &many);
    }
    let shown = text_of(&grep(&bench, "needle", "many", "").await.content);
    assert_eq!(shown.matches(": needle\n").count(), 100);
    assert_eq!(shown.matches("more lines match").count(), 20);
    let shown = text_of(&grep(&bench, "needle", "", "").await.content);
    assert!(
        shown.starts_with("26 files, newest first:\n") && !shown.contains(": needle"),
        "{shown}"
    );
}

#[tokio::test]
async fn one_file_is_shown_with_the_lines_around_and_within_bounds() {
    let bench = Bench::new();
    let path = bench.write("code.rs", "1\n2\n3\nneedle\n5\n6\n7\n8\n9\nNeedle\n");
    let seen = grep(&bench, "needle", "code.rs", "").await;
    let lines = "     2- 2\n     3- 3\n     4: needle\n     5- 5\n     6- 6\n    --\n     8- 8\n     9- 9\n    10: Needle\n";
    assert_eq!(
        text_of(&seen.content),
        format!("1 file:\n{}\n{lines}", path.display())
    );
    assert_eq!(seen.matches, [path.to_str().unwrap()]);
    bench.write("long.txt", format!("{}needle\n", "x".repeat(3000)).repeat(100));
    let shown = text_of(&grep(&bench, "needle", "long.txt", "").await.content);
    assert!(
        shown.len() < 17_000 && shown.contains("more lines match"),
        "{}",
        shown.len()
    );
}

#[tokio::test]
async fn binary_files_are_not_searched() {
    let bench = Bench::new();
    bench.write("binary", b"a\0needle\n");
    bench.write("text", "needle\n");
    assert_eq!(
        names(&bench, &grep(&bench, "needle", "", "").await.matches),
        ["text"]
    );
}

#[tokio::test]
async fn the_newest_hundred_come_first() {
    let bench = Bench::new();
    for number in 0..150_u64 {
        let path = bench.write(&format!("{}/f{number}", number % 7), "needle");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + number);
        std::fs::File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let newest: Vec<String> = (50..150)
        .rev()
        .map(|number| format!("{}/{}/f{number}", bench.workspace().display(), number % 7))
        .collect();
    let (grepped, globbed) = (
        grep(&bench, "needle", "", "").await,
        glob(&bench, "f*", ".").await,
    );
    assert_eq!((&grepped.matches, grepped.truncated), (&newest, true));
    assert_eq!((&globbed.files, globbed.truncated), (&newest, true));
    assert!(text_of(&globbed.content).starts_with("150 files; the newest 100:"));
}

#[tokio::test]
async fn a_search_is_cancelled_at_once() {
    let bench = Bench::new();
    bench.write("large", "abc\n".repeat(4 * 1024 * 1024)); // long enough to be in the middle of it
    let cancel = CancellationToken::new();
    let search = GrepAction {
        pattern: "[x-z]{2}".to_owned(),
        ..GrepAction::default()
    };
    let call = Call {
        cancel: cancel.clone(),
        ..Call::of(search)
    };
    let tool = bench.toolbox.get("grep").unwrap();
    let (seen, ()) = tokio::join!(tool.run(call), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(matches!(seen, Err(ToolError::Cancelled)), "{seen:?}");
}
