//! What an executor leaves that was killed and could not end what it had started.

use std::path::Path;

use crate::daemon::SOCKET;

/// Names, in the environment of an executor and of all that it starts, its private directory.
pub const DIRECTORY_VARIABLE: &str = "DEFT_EXECUTOR";

/// The same by a shell, on a machine where we have nothing but that: `$place` is the directory. The executor is ended
/// too.
pub const END_SCRIPT: &str =
    "kill -9 $(grep -lsF \"DEFT_EXECUTOR=$place\" /proc/[0-9]*/environ | cut -d/ -f3) 2>/dev/null\n";

/// Ends what the last executor of a directory has left, which does not run any more. One that ended by itself has ended
/// everything, and taken its socket away: then nothing is looked for. Waits for the disk.
pub fn end_left_behind(directory: &Path) {
    let socket = directory.join(SOCKET);
    if socket.symlink_metadata().is_ok() {
        deft_tools::kill_marked(DIRECTORY_VARIABLE, &directory.display().to_string());
    }
}
