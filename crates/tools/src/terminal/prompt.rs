//! Tells whether a program waits for somebody to type, which no silence alone can tell.

use std::fs;

use crate::process_tree::sleepers_in;

/// The number of the system call `read`.
const READ: &str = if cfg!(target_arch = "x86_64") { "0" } else { "63" };

/// Whether a process of the foreground group is in the middle of reading from a terminal. False where the system
/// does not let us see that.
pub(super) fn is_awaited_by(group: u32) -> bool {
    sleepers_in(group)
        .into_iter()
        .any(|pid| reads_terminal(pid).unwrap_or(false))
}

fn reads_terminal(pid: u32) -> Option<bool> {
    // `0 0x3 0x7ffc… …`: the call and its arguments, the first of which is the file here.
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let mut words = call.split(' ');
    if words.next()? != READ {
        return Some(false);
    }
    let number = u32::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    let file = fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
    Some(file.starts_with("/dev/pts") || file.starts_with("/dev/tty"))
}
