//! Editing tools against plain models of what they should do, with random texts. The trials are the same each time.

use deft_types::{ApplyPatchAction, EditorCommand, FileEditorAction, Observation};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tokio::runtime::Runtime;

use super::bench::Bench;

fn check<S: Strategy>(
    trials: u32,
    strategy: &S,
    test: impl Fn(&Bench, &Runtime, S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config {
        cases: trials,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    TestRunner::new_with_rng(config, rng)
        .run(strategy, |value| test(&bench, &runtime, value))
        .unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Lf,
    CrLf,
    Marked,
    Utf16,
}

impl Form {
    fn bytes(self, text: &str) -> Vec<u8> {
        match self {
            Self::Lf => text.into(),
            Self::CrLf => text.replace('\n', "\r\n").into(),
            Self::Marked => format!("\u{feff}{text}").into(),
            Self::Utf16 => "\u{feff}"
                .encode_utf16()
                .chain(text.encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect(),
        }
    }
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Lf),
        Just(Form::CrLf),
        Just(Form::Marked),
        Just(Form::Utf16)
    ]
}

#[derive(Clone, Debug)]
enum Operation {
    Replace(String, String),
    Insert(usize, String),
    Undo,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => ("[abä\n ]{0,3}", "[abä\n ]{0,4}").prop_map(|(old, new)| Operation::Replace(old, new)),
        2 => (0..12_usize, "[abä\n ]{0,4}").prop_map(|(line, new)| Operation::Insert(line, new)),
        1 => Just(Operation::Undo),
    ]
}

/// What an operation makes of a text; `None` if it is refused.
fn modelled(text: &str, operation: &Operation) -> Option<String> {
    match operation {
        Operation::Replace(old, new) => {
            let old = [old.as_str(), old.trim()]
                .into_iter()
                .find(|old| !old.is_empty() && text.contains(old))?;
            let whole = matches!(operation, Operation::Replace(old, new) if old == new);
            (!whole && text.matches(old).count() == 1).then(|| text.replacen(old, new, 1))
        }
        Operation::Insert(line, new) => {
            let mut lines: Vec<&str> = text.split_terminator('\n').collect();
            let at_end = *line == lines.len();
            (*line <= lines.len()).then(|| lines.insert(*line, new))?;
            let end = if text.ends_with('\n') || at_end || text.is_empty() {
                "\n"
            } else {
                ""
            };
            Some(lines.join("\n") + end)
        }
        Operation::Undo => None,
    }
}

#[test]
fn the_editor_does_what_a_plain_model_does_in_every_form_of_file() {
    let strategy = (form(), "[abä\n ]{0,12}", vec(operation(), 1..10));
    check(60, &strategy, |bench, runtime, (form, text, operations)| {
        // Two line breaks that stay, so that the form of the file stays known.
        let first = format!("head\nhead\n{text}");
        // Each trial has a file that was never edited before.
        let named = tempfile::NamedTempFile::new_in(bench.workspace())
            .unwrap()
            .keep()
            .unwrap()
            .1;
        std::fs::write(&named, form.bytes(&first)).unwrap();
        let mut versions = vec![first];
        for operation in operations {
            let mut action = FileEditorAction {
                path: named.to_str().unwrap().to_owned(),
                ..FileEditorAction::default()
            };
            let before = versions.last().unwrap();
            let expected = modelled(before, &operation);
            match operation {
                Operation::Replace(old, new) => {
                    action.command = EditorCommand::StrReplace;
                    (action.old_str, action.new_str) = (Some(old), Some(new));
                    versions.extend(expected.clone());
                }
                Operation::Insert(line, new) => {
                    action.command = EditorCommand::Insert;
                    (action.insert_line, action.new_str) = (Some(i64::try_from(line).unwrap()), Some(new));
                    versions.extend(expected.clone());
                }
                Operation::Undo => {
                    action.command = EditorCommand::UndoEdit;
                    if versions.len() > 1 {
                        versions.pop();
                    }
                }
            }
            runtime.block_on(bench.call("file_editor", action.clone()));
            prop_assert_eq!(
                std::fs::read(&named).unwrap(),
                form.bytes(versions.last().unwrap()),
                "{:?}",
                action
            );
        }
        std::fs::remove_file(named).unwrap();
        Ok(())
    });
}

/// A line of a diff.
#[derive(Clone, Debug)]
enum Line {
    Keep,
    Remove,
    Add,
}

/// A patch with at most two lines around each change.
fn patch(script: &[(Line, String)]) -> String {
    let changed = |index: usize| {
        script
            .get(index)
            .is_some_and(|(line, _)| !matches!(line, Line::Keep))
    };
    let mut text = String::from("*** Begin Patch\n*** Update File: f\n");
    let mut gap = true;
    for (index, (line, content)) in script.iter().enumerate() {
        let near = (index.saturating_sub(2)..=index + 2).any(changed);
        if near && gap {
            text.push_str("@@\n");
        }
        gap = !near;
        if near {
            let mark = match line {
                Line::Keep => ' ',
                Line::Remove => '-',
                Line::Add => '+',
            };
            text.extend([mark.to_string().as_str(), content, "\n"]);
        }
    }
    text + "*** End Patch"
}

#[test]
fn a_patch_gives_the_new_text_and_its_reverse_the_old_one_to_the_byte() {
    let line = prop_oneof![3 => Just(Line::Keep), 1 => Just(Line::Remove), 1 => Just(Line::Add)];
    let strategy = (form(), any::<bool>(), vec((line, "[ab \t]{0,4}"), 1..30));
    check(80, &strategy, |bench, runtime, (form, ends_with_break, lines)| {
        let head = ["first", "second"].map(|line| (Line::Keep, line.to_owned()));
        let unique = |(index, (line, text)): (usize, (Line, String))| (line, format!("{index}{text}."));
        let script: Vec<_> = head
            .into_iter()
            .chain(lines.into_iter().enumerate().map(unique))
            .collect();
        if script.iter().all(|(line, _)| matches!(line, Line::Keep)) {
            return Ok(());
        }
        let side = |left_out: fn(&Line) -> bool| {
            let kept: Vec<&str> = script
                .iter()
                .filter(|(line, _)| !left_out(line))
                .map(|(_, text)| text.as_str())
                .collect();
            form.bytes(&(kept.join("\n") + if ends_with_break { "\n" } else { "" }))
        };
        let old = side(|line| matches!(line, Line::Add));
        let new = side(|line| matches!(line, Line::Remove));
        let reversed: Vec<_> = script
            .iter()
            .map(|(line, text)| {
                let line = match line {
                    Line::Keep => Line::Keep,
                    Line::Remove => Line::Add,
                    Line::Add => Line::Remove,
                };
                (line, text.clone())
            })
            .collect();
        let file = bench.write("f", &old);
        for (script, expected) in [(&script, &new), (&reversed, &old)] {
            let action = ApplyPatchAction {
                patch: patch(script),
                ..ApplyPatchAction::default()
            };
            let seen = runtime.block_on(bench.call("apply_patch", action));
            prop_assert!(!seen.is_error(), "{:?}", seen);
            prop_assert_eq!(&std::fs::read(&file).unwrap(), expected, "{}", patch(script));
        }
        Ok(())
    });
}

#[test]
fn no_text_makes_the_patch_reader_panic_or_hang() {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Delete File: a", "*** Update File: a",
            "*** Update File: b/c", "*** Move to: b/c", "*** End of File", "@@", "@@ x", "@@ -1 +1 @@", "***", "", " ",
            "+", "-", "+x", "-x", " x", "\r", "*** Add File: ", "*** Add File: ../x", "ä", "\u{0}",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ];
    check(
        400,
        &(any::<bool>(), vec(piece, 0..14)),
        |bench, runtime, (framed, pieces)| {
            let text = pieces.join("\n");
            let patch = if framed {
                format!("*** Begin Patch\n{text}\n*** End Patch")
            } else {
                text
            };
            let action = ApplyPatchAction {
                patch,
                ..ApplyPatchAction::default()
            };
            let tool = bench.toolbox.get("apply_patch").unwrap();
            tool.touches(&action.clone().into());
            let seen = runtime.block_on(async {
                tokio::time::timeout(
                    std::time::Duration::from_mins(1),
                    tool.run(deft_tools::Call::of(action)),
                )
                .await
            });
            prop_assert!(matches!(seen, Ok(Ok(Observation::ApplyPatch(_)))), "{:?}", seen);
            Ok(())
        },
    );
}
