//! What it costs to edit a large file.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use deft_tools::{Call, FileEditor, Tool};
use deft_types::{EditorCommand, FileEditorAction};

use crate::place::{Place, runtime};
use crate::report::{Figure, Goal, Section, Unit};
use crate::times::Times;

/// A megabyte in lines of 64 bytes.
const LINES: usize = 16_384;
const EDITS: usize = 100;

pub(crate) fn measure(_: &Path) -> anyhow::Result<Section> {
    let place = Place::new()?;
    let file = place.work().join("large.rs");
    let text: String = (0..LINES).map(|line| format!("{line:<63}\n")).collect();
    fs::write(&file, text)?;
    let editor = FileEditor::new(place.work());
    let runtime = runtime()?;
    let mut times = Vec::with_capacity(EDITS);
    for edit in 0..EDITS {
        let line = LINES / 2 + edit;
        let action = FileEditorAction {
            command: EditorCommand::StrReplace,
            path: file.to_string_lossy().into_owned(),
            old_str: Some(format!("\n{line} ")),
            new_str: Some(format!("\n{line}!")),
            ..FileEditorAction::default()
        };
        let begun = Instant::now();
        let seen = runtime.block_on(editor.run(Call::of(action)))?;
        times.push(begun.elapsed());
        if seen.is_error() {
            bail!("the edit failed: {seen:?}");
        }
    }
    let times = Times::new(times);
    Ok(Section {
        title: "Edits",
        method: "100 times `str_replace` in the middle of a file of 1 MB with 16,384 lines, in this process as in an \
                 executor, from the call until its observation, which holds the old and the new text.",
        figures: vec![
            Figure::new(
                "`str_replace` in a file of 1 MB, p50",
                times.percentile(50),
                Unit::Milliseconds,
                Goal::AtMost(5.0),
            ),
            Figure::new(
                "`str_replace` in a file of 1 MB, p99",
                times.percentile(99),
                Unit::Milliseconds,
                Goal::None,
            ),
        ],
    })
}
