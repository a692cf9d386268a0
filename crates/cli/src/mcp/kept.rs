//! What is kept of MCP servers between runs, in the data directory: what was approved, and tokens.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use deft_mcp::TokenStore;
use deft_types::{McpApprovals, McpPin, McpServerStatus, Secret};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether a person agrees to what the servers are now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    /// Yes.
    Given,
    /// They are held to what was agreed to before, or seen first.
    Checked,
}

/// What was approved so far.
pub(crate) fn approvals(data_dir: &Path) -> anyhow::Result<McpApprovals> {
    let path = approvals_file(data_dir);
    read(&path).with_context(|| {
        format!(
            "cannot read what was approved of MCP servers from {}",
            path.display()
        )
    })
}

/// Keeps what servers are held to: what they are if a person agrees, otherwise what was approved or seen first.
pub(crate) fn remember(
    data_dir: &Path,
    statuses: &[McpServerStatus],
    approval: Approval,
) -> anyhow::Result<()> {
    let mut approvals = approvals(data_dir)?;
    let before = approvals.clone();
    for status in statuses {
        let pin = match approval {
            Approval::Given => &status.pin,
            Approval::Checked => &status.approved,
        };
        let Some(pin) = pin else { continue };
        let grows = |kept: &McpPin| {
            kept.tools
                .iter()
                .all(|(tool, digest)| pin.tools.get(tool) == Some(digest))
        };
        let kept = approvals.get(&status.name);
        // What a person has agreed to meanwhile stays.
        if approval == Approval::Given || kept.is_none_or(|kept| kept.target == pin.target && grows(kept)) {
            approvals.insert(status.name.clone(), pin.clone());
        }
    }
    if approvals == before {
        return Ok(());
    }
    write(&approvals_file(data_dir), &approvals).context("cannot keep what was approved of MCP servers")
}

fn approvals_file(data_dir: &Path) -> PathBuf {
    data_dir.join("mcp-approvals.json")
}

/// Tokens in a file that only its owner can read.
pub(crate) struct Tokens(PathBuf);

impl Tokens {
    pub(crate) fn of(data_dir: &Path) -> Self {
        Self(data_dir.join("mcp-tokens.json"))
    }

    fn save_now(&self, url: &str, tokens: Option<Secret<String>>) -> io::Result<()> {
        let mut kept: BTreeMap<String, String> = read(&self.0)?;
        match tokens {
            Some(tokens) => kept.insert(url.to_owned(), tokens.expose().clone()),
            None => kept.remove(url),
        };
        write(&self.0, &kept)
    }
}

impl TokenStore for Tokens {
    fn load<'a>(&'a self, url: &'a str) -> BoxFuture<'a, io::Result<Option<Secret<String>>>> {
        let kept = read::<BTreeMap<String, String>>(&self.0);
        std::future::ready(kept.map(|mut kept| kept.remove(url).map(Secret::new))).boxed()
    }

    fn save<'a>(&'a self, url: &'a str, tokens: Option<Secret<String>>) -> BoxFuture<'a, io::Result<()>> {
        std::future::ready(self.save_now(url, tokens)).boxed()
    }
}

/// A missing file is an empty one.
fn read<T: DeserializeOwned + Default>(path: &Path) -> io::Result<T> {
    match std::fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error),
    }
}

/// Puts a whole file in the place of the old one, readable by its owner alone.
fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&serde_json::to_vec_pretty(value)?)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
