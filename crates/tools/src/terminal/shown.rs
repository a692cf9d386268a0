//! What the model is shown of an output.

use std::path::{Path, PathBuf};

use super::capture::{Capture, FILE_LIMIT};
use super::plain::plain;

/// How many characters of one output are shown.
pub(super) const SHOWN_LIMIT: usize = 30_000;
/// How many characters are shown of what came before the output it is about.
pub(super) const ASIDE_LIMIT: usize = 4_000;

/// What is shown of an output, and where all of it is if that is not all.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) file: Option<PathBuf>,
}

/// Decodes an output, removes what is ours in it, and cuts out its middle if it is long. All of it is in a file
/// then, which the text names.
pub(super) async fn show(mut capture: Capture, limit: usize, command_file: &Path) -> Shown {
    let (file, rest) = (capture.file(), capture.batch());
    let total = capture.kept.total();
    let (head, tail) = capture.kept.parts();
    let head = clean(&head, command_file);
    let tail = tail.map(|tail| clean(&tail, command_file));
    if tail.is_none() && head.chars().count() <= limit {
        return Shown {
            text: head,
            file: None,
        };
    }
    let saved = match rest.write().await {
        Ok(()) if total > FILE_LIMIT => format!("the first GiB is in {}", file.display()),
        Ok(()) => format!("the whole output is in {}", file.display()),
        Err(error) => format!("the whole output could not be saved: {error}"),
    };
    let text = clip(&head, tail.as_deref().unwrap_or(&head), limit, total, &saved);
    Shown {
        text,
        file: Some(file),
    }
}

/// The beginning of one text and the end of another, with a notice between them, all within the limit.
fn clip(head: &str, tail: &str, limit: usize, total: u64, saved: &str) -> String {
    let notice = format!("\n[… the middle of {total} bytes is left out here; {saved} …]\n");
    let room = limit.saturating_sub(notice.chars().count());
    let from_tail = room / 2;
    let head_end = nth_character(head, room - from_tail);
    let tail_start = nth_character(tail, tail.chars().count().saturating_sub(from_tail));
    format!("{}{notice}{}", &head[..head_end], &tail[tail_start..])
}

/// Where in a text a character begins, or its end.
fn nth_character(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// Decodes and removes what is not the command's or for no reader: the name of the file it was read from, and what
/// only a terminal understands.
fn clean(bytes: &[u8], command_file: &Path) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    let file = command_file.to_string_lossy();
    if text.contains(&*file) || text.contains("__deft_") {
        let trace = format!(". {file}");
        text = text
            .split_inclusive('\n')
            .filter(|line| !is_ours(line.trim_end(), &trace))
            .collect();
        // Errors of the shell begin with the name of the file it reads.
        text = text.replace(&format!("{file}: "), "");
    }
    let text = plain(&text);
    text.trim_end_matches(['\n', '\r']).to_owned()
}

/// Whether a line is one that `set -x` or `set -v` print about what we typed.
fn is_ours(line: &str, trace: &str) -> bool {
    line.ends_with(trace) || line.starts_with("{ \\__deft_") || line == "{ __deft_prompt; } >/dev/null 2>&1"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clipped_text_keeps_to_the_limit_in_characters() {
        let text = "é".repeat(50_000);
        let clipped = clip(&text, &text, SHOWN_LIMIT, 100_000, "nowhere");
        assert_eq!(clipped.chars().count(), SHOWN_LIMIT);
        assert!(clipped.starts_with('é') && clipped.ends_with('é') && clipped.contains("100000 bytes"));
    }

    #[test]
    fn the_command_file_is_not_shown() {
        let file = Path::new("/private/command");
        let text = b"+ . /private/command\n++ nosuch\nbash: /private/command: line 1: oops\n";
        assert_eq!(clean(text, file), "++ nosuch\nbash: line 1: oops");
    }
}
