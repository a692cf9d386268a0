//! Packages of skills and plugins that the owner of a server has installed. The program around the server keeps them.

use std::time::{Duration, SystemTime};

use deft_skills::Plugin;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// What a package is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageKind {
    /// A folder with a `SKILL.md`.
    Skill,
    /// A folder with skills, commands and agents that belong together.
    Plugin,
}

/// What becomes of a package of the same name that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and nothing is installed.
    Kept,
    /// It goes.
    Replaced,
}

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageSource {
    /// A folder, `github:OWNER/NAME`, or the address of a git repository.
    pub source: String,
    /// A branch, tag or commit of the repository.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The folder of it in the repository.
    pub repo_path: Option<String>,
}

/// An installed package.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Package {
    /// What it is called: once among those of its kind.
    pub name: String,
    /// As its author says; empty where it does not.
    pub version: String,
    /// What it is for; empty where it does not say.
    pub description: String,
    /// Whether agents have it.
    pub enabled: bool,
    /// Where it comes from.
    #[serde(flatten)]
    pub from: PackageSource,
    /// The commit that it was taken from.
    pub resolved_ref: Option<String>,
    /// When.
    pub installed_at: SystemTime,
    /// Where it is.
    pub install_path: String,
}

/// Why nothing was installed or changed. The sentences go to the client.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// There is none of this name.
    #[error("it is not installed")]
    NotInstalled,
    /// There is one of this name already.
    #[error("{0}")]
    Exists(String),
    /// It is none, or cannot be put in its place.
    #[error("{0}")]
    Refused(String),
    /// Its source does not give it.
    #[error("{0}")]
    Unreachable(String),
    /// Its source took longer than it may.
    #[error("{0}")]
    TooSlow(String),
}

/// A plugin that was fetched for one conversation.
pub struct FetchedPlugin {
    /// What it is. Its folder stays.
    pub plugin: Plugin,
    /// The commit that it was taken from.
    pub resolved_ref: Option<String>,
}

/// Keeps the packages.
pub trait Packages: Send + Sync {
    /// All of a kind, by name.
    fn list(&self, kind: PackageKind) -> Vec<Package>;

    /// Fetches one and puts it where agents find it.
    fn install<'a>(
        &'a self,
        kind: PackageKind,
        from: &'a PackageSource,
        existing: Existing,
    ) -> BoxFuture<'a, Result<Package, PackageError>>;

    /// Fetches a plugin and leaves it where only those find it who are told. A folder of this machine stays where it is.
    fn fetch<'a>(
        &'a self,
        from: &'a PackageSource,
        limit: Duration,
    ) -> BoxFuture<'a, Result<FetchedPlugin, PackageError>>;

    /// The plugins that agents have.
    fn plugins(&self) -> Vec<Plugin>;

    /// Gives it to agents, or takes it from them and keeps it.
    fn enable(&self, kind: PackageKind, name: &str, enabled: bool) -> Result<(), PackageError>;

    /// Removes it.
    fn uninstall(&self, kind: PackageKind, name: &str) -> Result<(), PackageError>;
}
