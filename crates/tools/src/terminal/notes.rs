//! What the model is told around the output of a command.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::keys::control_letter;

pub(super) const NOTHING_TO_READ: &str =
    "No command is running, so there is no more output to wait for. Send a command.";
pub(super) const NOTHING_TO_TALK_TO: &str =
    "No command is running, so there is nothing that could take input. Send a command without `is_input`.";
pub(super) const RESET_WITH_INPUT: &str = "`reset` and `is_input` cannot be used together: a new shell runs nothing that could take input. Nothing was done.";
pub(super) const BAD_TIMEOUT: &str = "`timeout` must be a number of seconds, 0 or more. Nothing was run.";
pub(super) const WAS_RESET: &str = "The terminal was reset: this is a new shell in the workspace, and what ran in the old one has been ended.";
pub(super) const EARLIER_OUTPUT: &str = "[More output of the running command:]\n";

const GOING_ON: &str = "It is still running. Send an empty command to wait for more output, or text or a key (C-c, C-d, C-z) with `is_input` to talk to it; a larger `timeout` waits longer. If nothing helps, `reset` gives you a new shell.";

/// Behind the output of a command that ended.
pub(super) fn ended(status: i64, input: &str) -> String {
    let key = control_letter(input)
        .map(|letter| format!(" after Ctrl+{}", char::from(letter)))
        .unwrap_or_default();
    format!("\n[The command ended with exit code {status}{key}.]")
}

/// Behind the output of a command that has printed nothing for a while.
pub(super) fn quiet(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("\n[No new output for {seconds} seconds. {GOING_ON}]")
}

/// Behind the output of a command that takes longer than asked for.
pub(super) fn timed_out(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("\n[Not finished after {seconds} seconds. {GOING_ON}]")
}

/// Behind the output of a command that was cancelled.
pub(super) const INTERRUPTED: &str =
    "\n[The command was interrupted and everything it had started was killed.]";

/// Behind the output of the running command, when another one was sent.
pub(super) fn refused(command: &str) -> String {
    let start: String = command.chars().take(200).collect();
    format!("\n[Your command `{start}` was NOT run, because the one before has not ended. {GOING_ON}]")
}

/// When the shell itself is gone.
pub(super) fn shell_ended(status: ExitStatus, directory: &Path) -> String {
    format!(
        "\n[The shell itself ended with {}: its variables, functions and options are lost. A new shell was started in {}. Use a subshell, `( … )`, for `exit`, `exec` or `set -e`.]",
        how(status),
        directory.display(),
    )
}

/// When the shell could only be stopped by killing it.
pub(super) fn shell_killed(directory: &Path) -> String {
    format!(
        "\n[The shell did not answer and was killed: its variables, functions and options are lost. A new shell was started in {}.]",
        directory.display()
    )
}

/// In front of a result: what jobs printed before the command began.
pub(super) fn aside(text: &str) -> String {
    format!("[Printed in the background since the last command:]\n{text}\n[Output of this command:]\n")
}

/// In front of a result: how the command before it went on.
pub(super) fn earlier_end(text: &str, status: i64) -> String {
    format!(
        "[The command before ended with exit code {status}; it had also printed:]\n{text}\n[Output of this command:]\n"
    )
}

/// The exit code as shells count it.
pub(super) fn code(status: ExitStatus) -> i64 {
    use std::os::unix::process::ExitStatusExt;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.map_or(-1, i64::from)
}

fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => format!("exit code {}", code(status)),
    }
}
