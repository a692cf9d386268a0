//! Changes of files, as people read them.

use std::time::Duration;

use anstyle::Style as Ansi;
use similar::{ChangeTag, TextDiff};

use super::clip::{Clip, MAX_LINE, shorten};
use super::neutral::with_visible_controls;
use super::page::Page;

/// How long to look for the smallest difference; after that a coarser one will do.
const MAX_SEARCH: Duration = Duration::from_millis(200);
/// Lines shown around a change.
const AROUND: usize = 3;

/// Heading with counts, then the changed lines.
pub(super) fn render_change(path: &str, old: &str, new: &str, page: &mut Page) {
    let diff = TextDiff::configure().timeout(MAX_SEARCH).diff_lines(old, new);
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .count()
    };
    let counts = format!("+{} −{}", count(ChangeTag::Insert), count(ChangeTag::Delete));
    page.styled(
        page.style.heading,
        &format!("Edited {} {counts}", with_visible_controls(path)),
    );

    let mut lines: Vec<(Ansi, String)> = Vec::new();
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        lines.push((page.style.hunk, hunk.header().to_string()));
        for change in hunk.iter_changes() {
            let style = match change.tag() {
                ChangeTag::Equal => page.style.dim,
                ChangeTag::Delete => page.style.removed,
                ChangeTag::Insert => page.style.added,
            };
            lines.push((style, format!("{}{}", change.tag(), neutral_line(change.value()))));
            if change.missing_newline() {
                lines.push((
                    page.style.dim,
                    "\\ no line break at the end of the file".to_owned(),
                ));
            }
        }
    }
    page.styled_lines(lines, Clip::DIFF);
}

/// Heading with the count, then the first lines.
pub(super) fn render_new_file(path: &str, content: &str, page: &mut Page) {
    let count = content.lines().count();
    page.styled(
        page.style.heading,
        &format!("Created {} +{count}", with_visible_controls(path)),
    );
    let lines = content
        .lines()
        .map(|line| (page.style.added, format!("+{}", neutral_line(line))))
        .collect();
    page.styled_lines(lines, Clip::NEW_FILE);
}

/// A patch in any of the forms that mark lines with `+` and `-`.
pub(super) fn render_patch(patch: &str, page: &mut Page) {
    let coloured = patch.lines().map(|line| {
        let style = match line.as_bytes().first() {
            Some(b'+') => page.style.added,
            Some(b'-') => page.style.removed,
            Some(b'@' | b'*') => page.style.hunk,
            Some(_) | None => page.style.dim,
        };
        (style, neutral_line(line))
    });
    page.styled_lines(coloured.collect(), Clip::DIFF);
}

fn neutral_line(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    with_visible_controls(&shorten(line, MAX_LINE))
}
