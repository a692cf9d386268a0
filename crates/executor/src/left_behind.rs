//! What an executor leaves that was killed and could not end what it had started.

use std::path::Path;

use crate::daemon::SOCKET;

/// Names, in the environment of an executor and of all that it starts, its private directory.
pub const DIRECTORY_VARIABLE: &str = "DEFT_EXECUTOR";

/// The same by a shell, on a machine where we have nothing but that: `$place` is the directory. The executor is ended
/// too. Looked for until none is left, for they may start others meanwhile; those that do nothing else are given up.
pub const END_SCRIPT: &str = "for round in 1 2 3 4 5 6 7 8 9 10; do\n\
     marked=$(grep -lsF \"DEFT_EXECUTOR=$place\" /proc/[0-9]*/environ | cut -d/ -f3)\n\
     [ -n \"$marked\" ] || break\n\
     kill -9 $marked 2>/dev/null\n\
     done\n";

/// Ends what the last executor of a directory has left, which does not run any more. One that ended by itself has ended
/// everything, and taken its socket away: then nothing is looked for. Waits for the disk.
pub fn end_left_behind(directory: &Path) {
    let socket = directory.join(SOCKET);
    if socket.symlink_metadata().is_ok() {
        deft_tools::kill_marked(DIRECTORY_VARIABLE, &directory.display().to_string());
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Before the first is ended it starts another one.
    const BORN_MEANWHILE: &str = "kill() {\n\
         if [ -z \"$born\" ]; then\n\
         DEFT_EXECUTOR=$place sleep 20 & born=$!\n\
         until grep -qsF \"DEFT_EXECUTOR=$place\" /proc/$born/environ; do :; done\n\
         fi\n\
         command kill \"$@\"\n\
         }\n";

    #[test]
    fn what_starts_others_meanwhile_is_ended_with_them() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().display().to_string();
        let sh = |script: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", script]).env("place", &place);
            sh
        };
        let mut first = sh("exec sleep 20")
            .env(DIRECTORY_VARIABLE, &place)
            .spawn()
            .unwrap();
        let ended = sh(&format!("{BORN_MEANWHILE}{END_SCRIPT}")).status();
        assert!(ended.unwrap().success());
        first.wait().unwrap();
        let left = sh("grep -lsF \"DEFT_EXECUTOR=$place\" /proc/[0-9]*/environ").output();
        assert_eq!(String::from_utf8(left.unwrap().stdout).unwrap(), "");
    }
}
