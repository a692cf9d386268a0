//! What is told about a command and its shell.

use deft_types::{CommandMetadata, Content, TerminalObservation};

use super::super::jobs;
use super::super::setup::python_in;
use super::super::shell::Shell;
use super::Session;

impl Session {
    /// The jobs of an idle shell, if it ever had one.
    pub(super) fn told_jobs(&self) -> String {
        let shell = self.shell.as_ref().filter(|_| self.background != -1);
        shell.and_then(|shell| jobs::told(shell.pid)).unwrap_or_default()
    }

    pub(super) fn observation(&mut self, command: &str, text: String, status: i64) -> TerminalObservation {
        if let Some(directory) = self.shell.as_ref().and_then(Shell::directory) {
            self.directory = directory;
        }
        TerminalObservation {
            content: vec![Content::text(text)],
            command: Some(command.to_owned()),
            exit_code: Some(status),
            metadata: CommandMetadata {
                exit_code: status,
                pid: self.background,
                username: self.user.clone(),
                hostname: self.host.clone(),
                working_dir: Some(self.directory.to_string_lossy().into_owned()),
                py_interpreter_path: python_in(&self.path),
                ..CommandMetadata::default()
            },
            ..TerminalObservation::default()
        }
    }
}

/// An answer that nothing was run for.
pub(in super::super) fn refusal(command: &str, text: &str) -> TerminalObservation {
    TerminalObservation {
        content: vec![Content::text(text)],
        is_error: true,
        command: Some(command.to_owned()),
        ..TerminalObservation::default()
    }
}
