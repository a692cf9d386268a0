//! Keeps a shell there for the next command, and takes from it what was printed.

use std::time::Duration;

use super::super::capture::Capture;
use super::super::marker::End;
use super::super::shell::{Shell, Taken};
use super::super::shown::{ASIDE_LIMIT, SHOWN_LIMIT, Shown, show};
use super::Session;
use crate::ToolError;
use crate::cgroup::ControlGroup;
use crate::process_tree::Family;

/// How long output of a dead shell may take to come through.
const DRAIN_LIMIT: Duration = Duration::from_millis(200);

impl Session {
    /// Ends the shell and everything that was started here.
    pub(in super::super) async fn close(&mut self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        self.family().kill().await;
        self.group = None;
        self.shell = None;
        self.running = None;
        self.background = -1;
        // Made again with the next command.
        let _ = tokio::fs::remove_file(self.setup.command_file()).await;
        let _ = tokio::fs::remove_file(self.setup.secrets_file()).await;
    }

    /// The shell, started if there is none, where the last one was if that place still exists.
    pub(super) async fn ready_shell(&mut self) -> Result<&mut Shell, ToolError> {
        if self.shell.is_none() {
            if !self.directory.is_dir() {
                self.directory.clone_from(&self.setup.workspace);
            }
            self.background = -1;
            let shell = Shell::start(&self.setup, &self.directory).await?;
            self.group = self.group.take().or_else(|| ControlGroup::create(&self.setup.id));
            if let Some(group) = &self.group {
                group.add(shell.pid);
            }
            self.shell = Some(shell);
        }
        self.shell.as_mut().ok_or(ToolError::Closed)
    }

    /// Takes the last output of a shell that is dead or shall be, and starts another one.
    pub(super) async fn replace_shell(&mut self) -> Result<String, ToolError> {
        self.running = None;
        let mut text = String::new();
        if let Some(mut shell) = self.shell.take() {
            shell.kill().await;
            shell.drain(DRAIN_LIMIT).await;
            text = self.shown(shell.take()).await;
        }
        self.ready_shell().await?;
        Ok(text)
    }

    /// Takes the rest of the output of a command that ended.
    pub(super) async fn finish(&mut self, end: &End) -> String {
        self.running = None;
        self.background = end.background;
        self.path.clone_from(&end.path);
        self.family().reap().await;
        match self.shell.as_ref().map(Shell::finish) {
            Some(taken) => self.shown(taken).await,
            None => String::new(),
        }
    }

    /// Takes what has been printed since it was taken last.
    pub(super) async fn output_so_far(&mut self) -> String {
        match self.shell.as_ref().map(Shell::take) {
            Some(taken) => self.shown(taken).await,
            None => String::new(),
        }
    }

    /// What to show of what was printed before a command began.
    pub(super) async fn shown_aside(&self, capture: Capture) -> String {
        let shown = show(capture, ASIDE_LIMIT, &self.setup.command_file()).await;
        self.kept(shown).await
    }

    async fn shown(&self, taken: Taken) -> String {
        let Taken { capture, screen } = taken;
        let room = screen.as_ref().map_or(0, |screen| screen.chars().count() + 1);
        let shown = show(
            capture,
            SHOWN_LIMIT.saturating_sub(room),
            &self.setup.command_file(),
        )
        .await;
        let text = self.kept(shown).await;
        match screen {
            Some(screen) if text.is_empty() => screen,
            Some(screen) => format!("{text}\n{screen}"),
            None => text,
        }
    }

    async fn kept(&self, shown: Shown) -> String {
        if let Some(file) = shown.file {
            self.setup.outputs.keep(file).await;
        }
        shown.text
    }

    pub(super) fn family(&self) -> Family {
        Family {
            name: self.setup.id.clone(),
            shell: self.shell.as_ref().map(|shell| shell.pid),
        }
    }
}
