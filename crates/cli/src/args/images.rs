//! What can be typed after `deft images`.

use clap::{Args, Subcommand};

use super::Listing;

#[derive(Subcommand)]
pub(crate) enum Images {
    /// All of them, newest first
    List(Listing),
    /// Remove those that no container uses
    Prune(PruneImages),
}

#[derive(Args)]
pub(crate) struct PruneImages {
    /// Only those that were built so many days ago or earlier
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    pub(crate) older_than: u32,
    /// Only the oldest, until the others take no more than this
    #[arg(long, value_name = "NUMBER")]
    pub(crate) keep_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) listing: Listing,
}
