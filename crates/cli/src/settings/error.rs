//! What can be wrong with settings.

use std::io;
use std::path::PathBuf;

/// Why settings could not be read. Each says what to change.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// The file is not there or not readable.
    #[error("cannot read {}: {source}; check its name and permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a directory, a pipe or far too long.
    #[error("{} is not a plain file of at most {limit} bytes of UTF-8 text; put another in its place", path.display())]
    NotASettingsFile {
        /// The file.
        path: PathBuf,
        /// The longest that is read.
        limit: u64,
    },
    /// Not TOML.
    #[error("{place}: this is not TOML: {reason}; write lines such as `max_steps = 500`")]
    Syntax {
        /// File and line.
        place: String,
        /// What the parser says.
        reason: String,
    },
    /// No such key.
    #[error("{place}: there is no setting {key:?}; {hint}")]
    UnknownKey {
        /// File and line.
        place: String,
        /// The key as it was written.
        key: String,
        /// The nearest one, or all.
        hint: String,
    },
    /// A value that cannot be read.
    #[error("{place}: {key} must be {expected}, but is {found}")]
    WrongValue {
        /// Where it stands.
        place: String,
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A model's table that cannot be read.
    #[error(
        "{place}: {reason}; a table [models.NAME] has model, api_key or api_key_env, base_url, fallback, images, long, classes, … (docs/models.md lists them all)"
    )]
    WrongModel {
        /// File and line.
        place: String,
        /// What the parser says.
        reason: String,
    },
    /// An MCP server's table that cannot be read.
    #[error(
        "{place}: {reason}; a table [mcpServers.NAME] has command, args, env, cwd, or url, type, headers, auth"
    )]
    WrongServer {
        /// File and line.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A workspace's table that cannot be read.
    #[error("{place}: workspace: {reason}; docs/workspaces.md lists what its table has")]
    WrongWorkspace {
        /// File and line.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A webhook's table that cannot be read.
    #[error(
        "{place}: {reason}; a table [[webhooks]] has base_url, secret, headers, event_buffer_size, flush_delay, … (docs/server.md lists them all)"
    )]
    WrongWebhook {
        /// File and line.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A table for signing in that cannot be read.
    #[error(
        "{place}: {reason}; a table [oidc] has issuer, client_id, client_secret_env, redirect_url, roles, … (docs/server.md lists them all)"
    )]
    WrongSignIn {
        /// File and line.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A key that a project's file may not set.
    #[error(
        "{place}: a project may not set {what}, because whoever wrote the repository would decide it for you; \
         remove it there, and set it in ~/.deft/deft.toml or as {variable} if you want it"
    )]
    RefusedFromProject {
        /// File and line.
        place: String,
        /// What it tried to set.
        what: String,
        /// The variable that may.
        variable: &'static str,
    },
    /// `~` has no meaning.
    #[error("the default of {key} is below the home directory, and there is none; set HOME or {key}")]
    NoHome {
        /// The key.
        key: &'static str,
    },
}

impl SettingsError {
    /// Whether it is the command line that says what cannot be.
    pub(crate) fn is_of_a_flag(&self) -> bool {
        matches!(self, Self::WrongValue { place, .. } if place.starts_with("--"))
    }
}
