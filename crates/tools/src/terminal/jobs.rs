//! What a shell has left in the background.

use std::fs;

use super::notes::clipped;

/// How many are told of.
const SHOWN_LIMIT: usize = 5;

/// A line about the jobs of a shell that run, if there are any.
pub(super) fn told(shell: u32) -> Option<String> {
    let children = fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).ok()?;
    let own = command_line(shell);
    let mut jobs: Vec<String> = children
        .split_whitespace()
        .filter_map(|pid| Some((pid, command_line(pid.parse().ok()?)?)))
        .map(|(pid, line)| {
            // A subshell has the command line of its shell.
            let line = if Some(&line) == own.as_ref() {
                "( … )".to_owned()
            } else {
                clipped(&line)
            };
            format!("{pid} `{line}`")
        })
        .collect();
    if jobs.is_empty() {
        return None;
    }
    let more = jobs.len().saturating_sub(SHOWN_LIMIT);
    jobs.truncate(SHOWN_LIMIT);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Some(format!(
        "\n[In the background of this shell: {}{more}.]",
        jobs.join(", ")
    ))
}

/// None of a process that has ended.
fn command_line(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line)
        .replace('\0', " ")
        .trim()
        .to_owned();
    (!line.is_empty()).then_some(line)
}
