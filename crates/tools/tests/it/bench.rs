//! A toolbox in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deft_tools::{Call, OutputSink, TerminalOptions, ToolContext, Toolbox, become_subreaper};
use deft_types::{Action, Observation, TerminalAction, TerminalObservation, text_of};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Bench {
    pub(crate) toolbox: Toolbox,
    directory: Arc<TempDir>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_quiet_limit(Duration::from_secs(30))
    }

    pub(crate) fn with_quiet_limit(quiet_limit: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("workspace")).unwrap();
        Self::in_directory(Arc::new(directory), quiet_limit)
    }

    /// Another toolbox in the same place.
    pub(crate) fn again(&self) -> Self {
        Self::in_directory(Arc::clone(&self.directory), Duration::from_secs(30))
    }

    fn in_directory(directory: Arc<TempDir>, quiet_limit: Duration) -> Self {
        become_subreaper().unwrap();
        let workspace = directory.path().join("workspace");
        let context = ToolContext {
            workspace,
            private_dir: directory.path().join("private"),
            env: vec![
                ("PATH".to_owned(), std::env::var("PATH").unwrap()),
                ("HOME".to_owned(), directory.path().to_str().unwrap().to_owned()),
            ],
        };
        let toolbox = Toolbox::with_terminal(context, TerminalOptions { quiet_limit }).unwrap();
        Self { toolbox, directory }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace").canonicalize().unwrap()
    }

    pub(crate) fn private_dir(&self) -> PathBuf {
        self.directory.path().join("private")
    }

    /// Writes a file of the workspace, with its directories.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Uses a tool.
    pub(crate) async fn call(&self, tool: &str, action: impl Into<Action>) -> Observation {
        self.toolbox
            .get(tool)
            .unwrap()
            .run(Call::of(action))
            .await
            .unwrap()
    }

    /// Uses a tool with the arguments of an action, and gives the observation as the wire has it.
    pub(crate) async fn json(&self, tool: &str, kind: &str, arguments: Value) -> Value {
        let Value::Object(fields) = arguments else {
            panic!("{arguments}");
        };
        let seen = self.call(tool, Action::from_fields(kind, fields)).await;
        serde_json::to_value(seen).unwrap()
    }

    /// Runs a command to its end.
    pub(crate) async fn sh(&self, command: &str) -> TerminalObservation {
        self.terminal(TerminalAction {
            command: command.to_owned(),
            ..TerminalAction::default()
        })
        .await
    }

    /// Runs a command and waits for it only so long.
    pub(crate) async fn sh_for(&self, command: &str, seconds: f64) -> TerminalObservation {
        self.terminal(TerminalAction {
            command: command.to_owned(),
            timeout: Some(seconds),
            ..TerminalAction::default()
        })
        .await
    }

    /// Talks to the running command.
    pub(crate) async fn input(&self, text: &str) -> TerminalObservation {
        self.terminal(TerminalAction {
            command: text.to_owned(),
            is_input: true,
            ..TerminalAction::default()
        })
        .await
    }

    /// Runs a command in a shell beside the main one.
    pub(crate) async fn sh_in(
        &self,
        shell: &str,
        command: &str,
        seconds: Option<f64>,
    ) -> TerminalObservation {
        self.terminal(TerminalAction {
            command: command.to_owned(),
            timeout: seconds,
            shell: Some(shell.to_owned()),
            ..TerminalAction::default()
        })
        .await
    }

    pub(crate) async fn terminal(&self, action: TerminalAction) -> TerminalObservation {
        self.terminal_call(action, OutputSink::none(), CancellationToken::new())
            .await
    }

    pub(crate) async fn terminal_call(
        &self,
        action: TerminalAction,
        output: OutputSink,
        cancel: CancellationToken,
    ) -> TerminalObservation {
        let call = Call {
            output,
            cancel,
            ..Call::of(action)
        };
        match self.toolbox.get("terminal").unwrap().run(call).await.unwrap() {
            Observation::Terminal(seen) => *seen,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn text(seen: &TerminalObservation) -> String {
    text_of(&seen.content)
}

/// Waits, however long a loaded machine takes, until something is so.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(std::time::Instant::now() < until, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The processes whose command line contains a text.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(Path::new("/proc").join(format!("{pid}/cmdline"))).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains(text).then_some(pid)
        })
        .filter(|pid| *pid != std::process::id())
        .collect()
}

/// Lines with their numbers behind a text.
pub(crate) fn numbered_lines(text: &str, count: u32) -> String {
    let mut all = (1..=count)
        .map(|number| format!("{text}{number}"))
        .collect::<Vec<_>>()
        .join("\n");
    all.push('\n');
    all
}

/// The size of a test: the large one only if `DEFT_FULL_TESTS` is set, because it takes a minute.
pub(crate) fn in_full<T>(full: T, quick: T) -> T {
    if std::env::var_os("DEFT_FULL_TESTS").is_some() {
        full
    } else {
        quick
    }
}
