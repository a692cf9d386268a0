//! `deft secrets`: the key that secrets are sealed with.

use std::io::Write as _;

use deft_server::{Audit, AuditEntry, VaultKeys, rotate_key};

use crate::args::{RotateKey, Secrets};
use crate::compose;
use crate::exit::Exit;
use crate::settings::{Settings, Surroundings};

pub(crate) async fn secrets(args: Secrets) -> anyhow::Result<Exit> {
    match args {
        Secrets::RotateKey(args) => rotate(&args).await,
    }
}

/// Seals everything with a new key.
async fn rotate(args: &RotateKey) -> anyhow::Result<Exit> {
    let surroundings = Surroundings::of_this_process()?;
    let settings = Settings::load(&args.flags, &surroundings, &surroundings.current_dir)?;
    let store = compose::open_store(&settings)?;
    let keys = VaultKeys::of(&settings.data_dir.value, |name| {
        surroundings.env.get(name).cloned()
    });
    let sealed = rotate_key(store.as_ref(), &keys, args.to).await?;
    let entry = AuditEntry::on_the_command_line("rotated the key of the vault".to_owned());
    Audit::new(store).note(&entry).await?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Everything is sealed with the new key ({sealed} texts were sealed anew). \
         The key before opens nothing but older backups."
    )?;
    Ok(Exit::Finished)
}
