//! What is in a directory.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// How many levels are listed.
const DEPTH: usize = 2;
/// How many entries are listed.
const ENTRY_LIMIT: usize = 1_000;

/// The directory, its files and directories, and theirs; hidden ones are only counted.
pub(super) fn list(directory: &Path) -> io::Result<String> {
    let mut entries = Vec::new();
    let hidden = collect(directory, DEPTH, &mut entries)?;
    entries.sort();
    let mut text = format!("{}/\n", directory.display());
    for (path, mark) in entries.iter().take(ENTRY_LIMIT) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{path}{mark}");
    }
    if let Some(more @ 1..) = entries.len().checked_sub(ENTRY_LIMIT) {
        let _ = writeln!(text, "[… {more} more entries …]");
    }
    if hidden > 0 {
        let _ = write!(
            text,
            "\n{hidden} hidden entries are not shown; `ls -la {}` shows them.",
            directory.display()
        );
    }
    Ok(text)
}

/// Collects what is not hidden, and counts what is.
fn collect(directory: &Path, depth: usize, found: &mut Vec<(String, &'static str)>) -> io::Result<usize> {
    let mut hidden = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            hidden += 1;
            continue;
        }
        let path = entry.path();
        let mark = if path.is_dir() { "/" } else { "" };
        found.push((path.to_string_lossy().into_owned(), mark));
        // Links are not followed: they may lead round in circles. What cannot be read is only named.
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = collect(&path, depth - 1, found);
        }
    }
    Ok(hidden)
}
