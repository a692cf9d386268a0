//! `deft restore-backup`: a backup in the place of everything.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use deft_store::{SqliteStore, StoreError};

use crate::args::RestoreBackup;
use crate::exit::Exit;
use crate::settings::{Settings, Surroundings, prepare_data_dir};

const KEY_FILE: &str = "vault-key";

/// Looks at the backup first, and changes nothing unless all of it can be put in its place.
pub(crate) fn restore(args: &RestoreBackup) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let data_dir = &settings.data_dir.value;
    let backup = surroundings.current_dir.join(&args.file);
    ensure!(
        backup.is_file(),
        "there is no file {}; name one that `deft backup` has made",
        backup.display()
    );
    prepare_data_dir(data_dir)?;
    let (store, key) = (data_dir.join(crate::compose::STORE_FILE), data_dir.join(KEY_FILE));
    ensure!(
        args.overwrite || !store.exists(),
        "{} is there already; name another --data-dir, or replace it with --overwrite",
        store.display()
    );
    let new_key = match &args.vault_key {
        Some(file) => NewKey::read(&surroundings.current_dir.join(file), &key, args.overwrite)?,
        None => None,
    };
    let restoring = SqliteStore::begin_restore(&backup, &store)
        .with_context(|| format!("{} cannot be restored", backup.display()))?;
    let unfinished = new_key.map(NewKey::write).transpose()?;
    let replaced = restoring.finish().map_err(|error| match error {
        StoreError::Locked => anyhow::anyhow!(
            "{} is in use; stop the server and every `deft run`, then try again",
            store.display()
        ),
        error => error.into(),
    })?;
    if let Some(unfinished) = unfinished {
        unfinished.finish()?;
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} holds what was in {}.", store.display(), backup.display())?;
    writeln!(
        out,
        "Checkpoints of files are not part of a backup: its conversations go on, but files cannot be put back to where \
         they were before it."
    )?;
    if let Some(replaced) = replaced {
        writeln!(out, "What was there before is kept in {}.", replaced.display())?;
    }
    if !key.exists() {
        writeln!(
            out,
            "Secrets in it can be read only with the key of the server that it was made of: put it to {}.",
            key.display()
        )?;
    }
    Ok(Exit::Finished)
}

/// A key that is not in its place yet.
struct NewKey {
    text: String,
    to: PathBuf,
}

impl NewKey {
    /// Nothing if it is in its place already.
    fn read(from: &Path, to: &Path, overwrite: bool) -> anyhow::Result<Option<Self>> {
        let text =
            fs::read_to_string(from).with_context(|| format!("cannot read the key in {}", from.display()))?;
        match fs::read_to_string(to) {
            Ok(there) if there.trim() == text.trim() => return Ok(None),
            Ok(_) if !overwrite => bail!(
                "{} holds another key; name another --data-dir, or replace it with --overwrite",
                to.display()
            ),
            Ok(_) | Err(_) => {}
        }
        let to = to.to_owned();
        Ok(Some(Self { text, to }))
    }

    /// Writes it beside its place.
    fn write(self) -> anyhow::Result<UnfinishedKey> {
        let written = UnfinishedKey {
            at: self.to.with_extension("restoring"),
            to: self.to,
        };
        let _ = fs::remove_file(&written.at); // of one that was cut off
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&written.at)
            .and_then(|mut file| {
                file.write_all(self.text.as_bytes())?;
                file.sync_all()
            })
            .with_context(|| format!("cannot write {}", written.at.display()))?;
        Ok(written)
    }
}

/// A key beside its place. Dropping it leaves nothing behind.
struct UnfinishedKey {
    at: PathBuf,
    to: PathBuf,
}

impl UnfinishedKey {
    /// Puts it in its place; another that was there is kept.
    fn finish(self) -> anyhow::Result<()> {
        if self.to.exists() {
            let kept = self.to.with_extension("replaced");
            let _ = fs::remove_file(&kept);
            fs::hard_link(&self.to, &kept).with_context(|| format!("cannot keep {}", self.to.display()))?;
        }
        fs::rename(&self.at, &self.to).with_context(|| format!("cannot write {}", self.to.display()))
    }
}

impl Drop for UnfinishedKey {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.at); // it is gone where all went well
    }
}
