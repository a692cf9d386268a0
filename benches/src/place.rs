//! A temporary place to measure in.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use deft_workspace::sandbox::{Machine, Plan};
use deft_workspace::{LocalWorkspace, Policy, Terms};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Removed with everything in it when dropped.
pub(crate) struct Place {
    files: TempDir,
    socket: TempDir,
}

impl Place {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let beside = program.parent().context("this program is in no directory")?;
        let place = Self {
            // The system's temporary directory may be in memory, where a sync costs nothing.
            files: TempDir::new_in(beside)?,
            // But a socket's path must be short.
            socket: TempDir::new()?,
        };
        fs::create_dir(place.work())?;
        Ok(place)
    }

    /// A file or directory in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// The directory that tools work in.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// A workspace whose executor is a process of the given program.
    pub(crate) fn workspace(&self, deft: &Path) -> LocalWorkspace {
        LocalWorkspace {
            program: deft.to_owned(),
            root: self.work(),
            directory: self.socket.path().join("executor"), // which makes it, for itself alone
            terms: Terms {
                linger: Duration::from_secs(5),
                ..Terms::default()
            },
            sandbox: None,
        }
    }

    /// The same, sandboxed as by default.
    pub(crate) fn sandboxed(&self, deft: &Path) -> anyhow::Result<LocalWorkspace> {
        let policy = Policy::for_user(None, &self.path("state"));
        Ok(LocalWorkspace {
            sandbox: Some(Plan::new(policy, &Machine::probe(), &self.work())?),
            ..self.workspace(deft)
        })
    }
}

/// As `deft` has it: one thread.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
