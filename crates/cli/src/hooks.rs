//! The hooks that the user keeps for all projects.

use std::path::PathBuf;

use anyhow::Context;
use deft_engine::HookConfig;

use crate::settings::{Surroundings, USER_DIR};

/// The longest file of hooks that is read.
const MAX_FILE: u64 = 1024 * 1024;

/// Those of the first file that is there. One that cannot be used is no reason to go on without: it may guard
/// something.
pub(crate) fn of_user() -> anyhow::Result<HookConfig> {
    let home = Surroundings::of_this_process()?.home;
    let files = home.iter().flat_map(|home| {
        let file = |directory: &str| -> PathBuf { home.join(directory).join("hooks.json") };
        [file(USER_DIR), file(".openhands")]
    });
    let Some(file) = files.into_iter().find(|file| file.is_file()) else {
        return Ok(HookConfig::default());
    };
    let place = || format!("cannot use the hooks of {}", file.display());
    let size = std::fs::metadata(&file).with_context(place)?.len();
    anyhow::ensure!(size <= MAX_FILE, "{}: it has more than {MAX_FILE} bytes", place());
    let text = std::fs::read_to_string(&file).with_context(place)?;
    let written = serde_json::from_str(&text).with_context(place)?;
    HookConfig::parse(&written).with_context(place)
}
