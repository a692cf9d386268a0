//! What can be typed after `deft skills`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum Skills {
    /// All of them, and what is wrong with others
    List(SkillsListing),
    /// The text of one
    Show(SkillNamed),
    /// Say what is wrong with a skill, or with all of this directory
    Validate(SkillFiles),
    /// Copy skills from a folder or a repository to your own
    Install(SkillSource),
}

#[derive(Args)]
pub(crate) struct SkillsListing {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct SkillNamed {
    /// The skill
    pub(crate) name: String,
}

#[derive(Args)]
pub(crate) struct SkillSource {
    /// A folder, github:OWNER/NAME, or the address of a git repository
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// Replace skills that are there already
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct SkillFiles {
    /// Files or folders of skills [default: all that are found]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}
