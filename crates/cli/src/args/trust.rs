//! What can be typed after `deft trust`.

use clap::{Args, Subcommand};

use super::Listing;
use crate::settings::Flags;

#[derive(Subcommand)]
pub(crate) enum Trust {
    /// All of it, and what you have decided
    List(Listing),
    /// Let it run, as long as it stays as it is
    Allow(TrustNamed),
    /// Do not let it run, and do not ask
    Deny(TrustNamed),
    /// Take a decision back
    Forget(TrustNamed),
}

#[derive(Args)]
pub(crate) struct TrustNamed {
    /// Files, as `deft trust list` shows them
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}
