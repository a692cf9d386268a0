//! What the model is told around the output of a command.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::keys::control_letter;

pub(super) const NOTHING_TO_READ: &str =
    "No command is running in this shell, so there is no more output to wait for. Send a command.";
pub(super) const NOTHING_TO_TALK_TO: &str = "No command is running in this shell, so there is nothing that could take input. Send a command without `is_input`.";
pub(super) const RESET_WITH_INPUT: &str = "`reset` and `is_input` cannot be used together: a new shell runs nothing that could take input. Nothing was done.";
pub(super) const BAD_TIMEOUT: &str = "`timeout` must be a number of seconds, 0 or more. Nothing was run.";
pub(super) const WAS_RESET: &str =
    "The old shell was ended with all that ran in it; a new one begins in the workspace.";
pub(super) const BACKGROUND_OUTPUT: &str = "[Printed in the background since the last command:]\n";
pub(super) const EARLIER_OUTPUT: &str = "[More output of the running command:]\n";

/// How many characters of a command are shown where it is only named.
const NAME_LIMIT: usize = 80;

const GOING_ON: &str = "It is still running. Send an empty command to wait for more output, or text or a key (C-c, C-d, C-z) with `is_input` to talk to it; a larger `timeout` waits longer. If nothing helps, `reset` gives you a new shell.";

/// Behind the output of a command that ended.
pub(super) fn ended(status: i64, input: &str) -> String {
    let key = control_letter(input)
        .map(|letter| format!(" after Ctrl+{}", char::from(letter)))
        .unwrap_or_default();
    format!("\n[The command ended with exit code {status}{key}.]")
}

/// Behind the output of a command that has printed nothing for a while.
pub(super) fn quiet(limit: Duration, output: &str) -> String {
    let seconds = limit.as_secs_f64();
    let question = match output.lines().last().map(str::trim) {
        Some(line) if line.ends_with([':', '?', ']', '>']) => {
            format!(" Its last line may be a question: `{}`.", clipped(line))
        }
        Some(_) | None => String::new(),
    };
    format!("\n[No new output for {seconds} seconds.{question} {GOING_ON}]")
}

/// Behind the output of a program that reads from the terminal.
pub(super) const AWAITS_INPUT: &str = "\n[The program waits for input from the terminal: answer with text or a key and `is_input`, stop it with C-c, or send an empty command to wait.]";

/// Behind the screen of a program that fills it.
pub(super) const FILLS_SCREEN: &str = "\n[The program runs on. Send keys (UP, ENTER, ESC, C-c …) or text with `is_input`; text is sent without Enter to such a program.]";

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
    format!(
        "\n[Your command `{}` was NOT run, because the one before has not ended. {GOING_ON}]",
        clipped(command)
    )
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
    format!("{BACKGROUND_OUTPUT}{text}\n[Output of this command:]\n")
}

/// In front of a result: how the command before it went on.
pub(super) fn earlier_end(text: &str, status: i64) -> String {
    format!(
        "[The command before ended with exit code {status}; it had also printed:]\n{text}\n[Output of this command:]\n"
    )
}

/// A command, short and on one line.
pub(super) fn clipped(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(NAME_LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
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
