//! Shows a file, a picture or a directory.

use std::path::Path;

use deft_types::{Content, EditorCommand, ImageContent};

use super::command::{Seen, observation};
use super::image::{IMAGE_LIMIT, data_url, media_type};
use super::listing::list;
use super::problem::Problem;
use crate::file::numbered::{lines, number};
use crate::file::read::{FileError, existing, read_bytes};
use crate::file::text::Text;

/// Shows what is at a path, all of it or a range of lines.
pub(super) fn view(path: &Path, range: &[i64]) -> Seen {
    let data = existing(path)?;
    if data.is_dir() {
        if !range.is_empty() {
            return Err(Problem::RangeOfDirectory(path.to_owned()));
        }
        let listing = list(path).map_err(FileError::io("list", path))?;
        let note = format!(
            "Two levels of {}, without hidden entries:\n{listing}",
            path.display()
        );
        return Ok(observation(EditorCommand::View, path, note));
    }
    let bytes = read_bytes(path)?;
    if let Some(media_type) = media_type(&bytes) {
        return view_image(path, media_type, &bytes);
    }
    let text = Text::decode(&bytes).ok_or_else(|| FileError::Binary(path.to_owned()))?;
    let all = lines(text.plain());
    let (first, last) = checked_range(range, all.len())?;
    let mut note = format!("{}, with line numbers:\n", path.display());
    if all.is_empty() {
        note = format!("{} is empty.", path.display());
    } else if range
        .get(1)
        .is_some_and(|end| *end > i64::try_from(last).unwrap_or(i64::MAX))
    {
        note = format!("[The file has only {last} lines.]\n{note}");
    }
    note.push_str(&number(all.get(first - 1..last).unwrap_or_default(), first));
    Ok(observation(EditorCommand::View, path, note))
}

fn view_image(path: &Path, media_type: &str, bytes: &[u8]) -> Seen {
    if bytes.len() as u64 > IMAGE_LIMIT {
        return Err(FileError::too_large(path, bytes.len() as u64, IMAGE_LIMIT / 1024 / 1024).into());
    }
    let mut seen = observation(
        EditorCommand::View,
        path,
        format!("The image {}:", path.display()),
    );
    seen.content.push(Content::Image(ImageContent {
        image_urls: vec![data_url(media_type, bytes)],
        ..ImageContent::default()
    }));
    Ok(seen)
}

/// The first and the last line to show.
fn checked_range(range: &[i64], lines: usize) -> Result<(usize, usize), Problem> {
    let problem = |why: String| Problem::Range {
        given: range.to_vec(),
        why,
    };
    let (first, last) = match *range {
        [] => return Ok((1, lines)),
        [first, last] => (first, last),
        _ => {
            return Err(problem(
                "it must be two numbers, the first and the last line".to_owned(),
            ));
        }
    };
    let start = usize::try_from(first)
        .ok()
        .filter(|start| (1..=lines).contains(start))
        .ok_or_else(|| problem(format!("the first line must be from 1 to {lines}")))?;
    match usize::try_from(last) {
        Ok(end) if end >= start => Ok((start, end.min(lines))),
        Err(_) if last == -1 => Ok((start, lines)),
        Ok(_) | Err(_) => Err(problem(format!(
            "the last line must be {start} or more, or -1 for the end"
        ))),
    }
}
