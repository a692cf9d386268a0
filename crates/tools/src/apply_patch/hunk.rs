//! Finds the places of hunks in a text, and makes their changes.

use super::parse::{Hunk, Line};
use super::problem::Problem;
use crate::file::text::{Edit, Text};

/// The part of a line that must be the same, and what it counts that it is not the whole.
type Likeness = (fn(&str) -> &str, i64);

/// From the strictest on.
const LIKENESS: [Likeness; 3] = [(|line| line, 0), (str::trim_end, 1), (str::trim, 100)];
/// What it counts when lines that should be at the end are found elsewhere.
const NOT_AT_END: i64 = 10_000;

/// Lines that go and lines that come, at a line counted from 0.
#[derive(Debug)]
struct Splice {
    at: usize,
    removed: usize,
    added: Vec<String>,
}

/// The text with the changes of all hunks, and how far the hunks were from fitting exactly.
pub(super) fn apply(path: &str, text: &Text, hunks: &[Hunk]) -> Result<(Text, i64), Problem> {
    // A line break at the end makes an empty last line: the lines joined again are the text to the byte.
    let lines: Vec<&str> = text.plain().split('\n').collect();
    let mut splices: Vec<Splice> = Vec::new();
    let mut fuzz = 0;
    let mut line = 0;
    for hunk in hunks {
        let (at, hunk_fuzz) = place(path, &lines, line, hunk)?;
        fuzz += hunk_fuzz;
        line = at;
        for part in &hunk.lines {
            match part {
                Line::Keep(_) => line += 1,
                Line::Remove(_) => {
                    splice_at(&mut splices, line).removed += 1;
                    line += 1;
                }
                Line::Add(new) => splice_at(&mut splices, line).added.push(new.clone()),
            }
        }
    }
    let edits: Vec<Edit> = edits(&lines, &splices);
    Ok((text.edited(&edits), fuzz))
}

/// The last splice if it reaches to the line, or a new one: neighbours are one.
fn splice_at(splices: &mut Vec<Splice>, line: usize) -> &mut Splice {
    let last = splices.last().map(|last| last.at + last.removed);
    if last != Some(line) {
        splices.push(Splice {
            at: line,
            removed: 0,
            added: Vec::new(),
        });
    }
    let end = splices.len() - 1;
    &mut splices[end]
}

/// The line where a hunk begins, and how far it was from fitting exactly.
fn place(path: &str, lines: &[&str], from: usize, hunk: &Hunk) -> Result<(usize, i64), Problem> {
    let mut start = from;
    let mut fuzz = 0;
    let mut lost_anchor = false;
    for anchor in &hunk.anchors {
        if let Some((at, anchor_fuzz)) = find(lines, &[anchor], start) {
            start = at + 1;
            fuzz += anchor_fuzz.min(1);
        } else if find(&lines[..start], &[anchor], 0).is_none() {
            lost_anchor = true;
        }
    }
    let old: Vec<&str> = hunk
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Keep(text) | Line::Remove(text) => Some(text.as_str()),
            Line::Add(_) => None,
        })
        .collect();
    if hunk.at_end
        && let Some((at, likeness)) = find_at_end(lines, &old, start)
    {
        return Ok((at, fuzz + likeness));
    }
    let shown = || (path.to_owned(), old.join("\n"));
    let Some((at, likeness)) = find(lines, &old, start) else {
        let (path, lines_shown) = shown();
        return Err(match find(lines, &old, 0) {
            Some(_) => Problem::Order {
                path,
                lines: lines_shown,
            },
            None => Problem::NoPlace {
                path,
                lines: lines_shown,
            },
        });
    };
    if lost_anchor && find(lines, &old, at + 1).is_some() {
        let (path, lines) = shown();
        return Err(Problem::ManyPlaces { path, lines });
    }
    let misplaced = if hunk.at_end { NOT_AT_END } else { 0 };
    Ok((at, fuzz + likeness + misplaced))
}

/// Where lines stand, as exactly as possible, and how exactly.
fn find(lines: &[&str], old: &[&str], from: usize) -> Option<(usize, i64)> {
    let last = lines.len().checked_sub(old.len())?;
    let search = |(part, fuzz): Likeness| {
        let mut starts = from..=last;
        let at = starts.find(|at| alike(&lines[*at..*at + old.len()], old, part))?;
        Some((at, fuzz))
    };
    LIKENESS.into_iter().find_map(search)
}

/// As [`find`], but only at the end of the text, before or behind its last line break.
fn find_at_end(lines: &[&str], old: &[&str], from: usize) -> Option<(usize, i64)> {
    let end = if lines.last() == Some(&"") {
        lines.len() - 1
    } else {
        lines.len()
    };
    let search = |(part, fuzz): Likeness| {
        [end, lines.len()].into_iter().find_map(|end| {
            let at = end.checked_sub(old.len()).filter(|at| *at >= from)?;
            alike(&lines[at..end], old, part).then_some((at, fuzz))
        })
    };
    LIKENESS.into_iter().find_map(search)
}

fn alike(lines: &[&str], old: &[&str], part: fn(&str) -> &str) -> bool {
    lines.iter().zip(old).all(|(line, old)| part(line) == part(old))
}

/// The splices as edits of the joined lines.
fn edits(lines: &[&str], splices: &[Splice]) -> Vec<Edit> {
    let mut starts = Vec::with_capacity(lines.len());
    let mut place = 0;
    for line in lines {
        starts.push(place);
        place += line.len() + 1;
    }
    let total = place - 1; // there is always a line, and no break behind the last one
    let start = |line: usize| starts.get(line).copied();
    let end = |line: usize| start(line + 1).map_or(total, |next| next - 1);
    let edit = |splice: &Splice| {
        let new = splice.added.join("\n");
        let (first, behind) = (splice.at, splice.at + splice.removed);
        match (splice.removed, splice.added.is_empty(), start(behind)) {
            (0, _, Some(at)) => Edit {
                from: at,
                to: at,
                new: new + "\n",
            },
            (0, _, None) => Edit {
                from: total,
                to: total,
                new: format!("\n{new}"),
            },
            (_, true, Some(to)) => Edit {
                from: starts[first],
                to,
                new,
            },
            // The last lines go with the break before them.
            (_, true, None) => Edit {
                from: first.checked_sub(1).map_or(0, end),
                to: total,
                new,
            },
            (_, false, _) => Edit {
                from: starts[first],
                to: end(behind - 1),
                new,
            },
        }
    };
    splices.iter().map(edit).collect()
}
