//! `deft backup`: a copy of everything, made while a server may be running.

use std::io::Write as _;

use anyhow::{Context, ensure};
use deft_store::SqliteStore;

use crate::args::Backup;
use crate::exit::Exit;
use crate::settings::{Settings, Surroundings};

/// Writes the copy, and says what else to keep.
pub(crate) fn backup(args: &Backup) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let data_dir = &settings.data_dir.value;
    let store = data_dir.join(crate::compose::STORE_FILE);
    ensure!(
        store.exists(),
        "there is nothing to back up: {} does not exist; name another --data-dir",
        store.display()
    );
    let to = surroundings.current_dir.join(&args.file);
    ensure!(
        !to.exists(),
        "{} is there already; name a file that is not",
        to.display()
    );
    SqliteStore::back_up(&store, &to).with_context(|| format!("cannot back up to {}", to.display()))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} holds all conversations and settings.", to.display())?;
    let key = data_dir.join("vault-key");
    if key.exists() {
        writeln!(
            out,
            "Secrets in it can be read only with the key in {}: keep a copy of that elsewhere.",
            key.display()
        )?;
    }
    Ok(Exit::Finished)
}
