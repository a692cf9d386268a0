//! What can be typed to look at one conversation, or to go back in it.

use clap::Args;

use crate::settings::Flags;

#[derive(Args)]
pub(crate) struct Show {
    /// The conversation (the beginning of its id is enough)
    pub(crate) id: String,
    /// Print one JSON event a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Checkpoints {
    /// The conversation (the beginning of its id is enough)
    pub(crate) id: String,
    /// Print one JSON checkpoint a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Restore {
    /// The conversation (the beginning of its id is enough)
    pub(crate) id: String,
    /// The checkpoint's number
    pub(crate) checkpoint: u64,
    /// Replace files that somebody else changed meanwhile
    #[arg(long)]
    pub(crate) force: bool,
    /// Only show what would change
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Rewind {
    /// The conversation (the beginning of its id is enough)
    pub(crate) id: String,
    /// The event to go back to: its number, or the beginning of its id
    pub(crate) event: String,
    /// Only the files
    #[arg(long)]
    pub(crate) files: bool,
    /// Only the conversation
    #[arg(long)]
    pub(crate) conversation: bool,
    /// Replace files that somebody else changed meanwhile
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Delete {
    /// The conversations (the beginning of an id is enough)
    #[arg(required = true)]
    pub(crate) ids: Vec<String>,
    /// Delete it even if what was made for its workspace cannot be removed, such as on a server that is gone
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct Replay {
    /// The conversation (the beginning of its id is enough)
    pub(crate) id: String,
    /// Copy it up to this step, counted from 1, and let a model go on from there
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<u64>,
    /// First make the files what they were there, as far as that was recorded
    #[arg(long, requires = "from")]
    pub(crate) files: bool,
    /// Print one JSON event a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}
