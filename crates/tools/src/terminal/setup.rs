//! What a shell is started with.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::outputs::Outputs;
use crate::process_tree::SHELL_VARIABLE;
use crate::{Secrets, ToolContext, ToolError};

/// Settings that keep programs from waiting for a person. They win over those of the context.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("TERM", "xterm-256color"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
];
/// Settings that name the program for editing a text.
const EDITORS: [&str; 4] = ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"];
/// Settings that name the program for asking a password.
const ASKERS: [&str; 2] = ["SUDO_ASKPASS", "SSH_ASKPASS"];
/// Stands in for an editor, which would wait for keys for ever.
const NO_EDITOR: &str = "#!/bin/sh
echo 'There is no interactive editor here. Give the text as an argument (git commit -m, --no-edit) or set EDITOR for this command.' >&2
exit 1
";
/// Stands in for a window with a question.
const NO_ASKER: &str = "#!/bin/sh
echo 'There is nobody here to be asked for a password. Use a key, a token or a credential helper.' >&2
exit 1
";

/// What a shell of a terminal is made of.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) workspace: PathBuf,
    /// Shared by all shells.
    pub(super) outputs: Arc<Outputs>,
    pub(super) secrets: Secrets,
    /// Unlike that of any other shell.
    pub(super) id: String,
    private: PathBuf,
    env: Vec<(String, String)>,
}

impl Setup {
    pub(super) fn new(context: ToolContext, secrets: Secrets) -> Self {
        Self {
            workspace: context.workspace,
            outputs: Arc::new(Outputs::in_directory(context.private_dir.join("outputs"))),
            secrets,
            id: new_id(),
            private: context.private_dir,
            env: context.env,
        }
    }

    /// The same for another shell.
    pub(super) fn for_another(&self) -> Self {
        Self {
            workspace: self.workspace.clone(),
            outputs: Arc::clone(&self.outputs),
            secrets: self.secrets.clone(),
            id: new_id(),
            private: self.private.clone(),
            env: self.env.clone(),
        }
    }

    /// The file the shell reads its commands from.
    pub(super) fn command_file(&self) -> PathBuf {
        self.private.join(format!("command-{}", self.id))
    }

    /// The file it reads the secrets for a command from.
    pub(super) fn secrets_file(&self) -> PathBuf {
        self.private.join(format!("secrets-{}", self.id))
    }

    /// The search path a shell begins with.
    pub(super) fn path(&self) -> &str {
        let last = self.env.iter().rev().find(|(name, _)| name == "PATH");
        last.map_or("", |(_, path)| path)
    }

    /// Writes the files a shell needs at its start, and names the one it reads.
    pub(super) async fn write_rc(&self, prompt_token: &str) -> Result<PathBuf, ToolError> {
        let rc_file = self.private.join(format!("rc-{}", self.id));
        let write = async {
            tokio::fs::create_dir_all(self.outputs.directory()).await?;
            for (file, text) in [(self.no_editor(), NO_EDITOR), (self.no_asker(), NO_ASKER)] {
                tokio::fs::write(&file, text).await?;
                tokio::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).await?;
            }
            let rc = include_str!("rc.bash").replace("@TOKEN@", prompt_token);
            tokio::fs::write(&rc_file, rc).await
        };
        let doing = format!("write to {}", self.private.display());
        write.await.map_err(ToolError::io(doing))?;
        Ok(rc_file)
    }

    /// The whole environment of a shell.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let no_editor = self.no_editor().to_string_lossy().into_owned();
        let no_asker = self.no_asker().to_string_lossy().into_owned();
        let mut all = self.env.clone();
        all.extend(ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())));
        all.extend(EDITORS.map(|name| (name.to_owned(), no_editor.clone())));
        all.extend(ASKERS.map(|name| (name.to_owned(), no_asker.clone())));
        all.push((SHELL_VARIABLE.to_owned(), self.id.clone()));
        all
    }

    fn no_asker(&self) -> PathBuf {
        self.private.join("no-asker")
    }

    fn no_editor(&self) -> PathBuf {
        self.private.join("no-editor")
    }
}

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// The first Python that a search path leads to.
pub(super) fn python_in(path: &str) -> Option<String> {
    let is_program = |file: &Path| {
        file.metadata()
            .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    ["python", "python3"]
        .iter()
        .flat_map(|name| std::env::split_paths(path).map(move |directory| directory.join(name)))
        .find(|file| file.is_absolute() && is_program(file))
        .map(|file| file.to_string_lossy().into_owned())
}

/// The name of the user this process runs as.
pub(super) fn user_name() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&id.as_str())).then(|| fields[0].to_owned())
    })
}

/// The name of the machine, without its domain.
pub(super) fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().split('.').next()?.to_owned())
}
