//! Tells whether a program waits for somebody to type, which no silence alone can tell.

use std::fs;

use crate::process_tree::sleepers_in;

/// The numbers of the system calls that read, and of those that wait for something to read.
#[cfg(target_arch = "x86_64")]
const CALLS: (&str, &[&str]) = ("0", &["7", "23", "270", "271"]);
#[cfg(not(target_arch = "x86_64"))]
const CALLS: (&str, &[&str]) = ("63", &["72", "73"]);

/// How a program has set its terminal.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Input {
    /// It gets whole lines, as at the start.
    Lines,
    /// It gets single keys: an editor, or a prompt with one.
    Keys,
}

/// Whether a process of the foreground group is in the middle of reading from a terminal, or waits and gets single
/// keys. False where the system does not let us see that.
pub(super) fn is_awaited_by(group: u32, input: Input) -> bool {
    sleepers_in(group)
        .into_iter()
        .any(|pid| awaits(pid, input).unwrap_or(false))
}

fn awaits(pid: u32, input: Input) -> Option<bool> {
    // `0 0x3 0x7ffc… …`: the call and its arguments, the first of which is the file here.
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let mut words = call.split_whitespace();
    let (call, file) = (words.next()?, words.next()?);
    if call != CALLS.0 {
        return Some(input == Input::Keys && CALLS.1.contains(&call));
    }
    let number = u32::from_str_radix(file.trim_start_matches("0x"), 16).ok()?;
    let file = fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
    Some(file.starts_with("/dev/pts") || file.starts_with("/dev/tty"))
}
