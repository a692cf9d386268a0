//! What can be typed after `deft secrets`.

use clap::{Args, Subcommand};
use deft_server::KeyHome;

use crate::settings::Flags;

#[derive(Subcommand)]
pub(crate) enum Secrets {
    /// Seal all secrets with a new key; the key before is needed no more. A server may run meanwhile
    RotateKey(RotateKey),
}

#[derive(Args)]
pub(crate) struct RotateKey {
    /// Where to keep the new key: in the `file` vault-key of the data directory, or in the `keyring` of your desktop
    #[arg(long, value_name = "PLACE", value_parser = home, default_value = "file")]
    pub(crate) to: KeyHome,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

fn home(text: &str) -> Result<KeyHome, &'static str> {
    match text {
        "file" => Ok(KeyHome::File),
        "keyring" => Ok(KeyHome::Keyring),
        _ => Err("must be file or keyring"),
    }
}
