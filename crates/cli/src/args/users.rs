//! What can be typed after `deft users`, `deft keys` and `deft audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use deft_server::{KeyScope, Role};
use deft_types::Money;

use super::Listing;
use crate::settings::Flags;

#[derive(Subcommand)]
pub(crate) enum Users {
    /// All of them
    List(Listing),
    /// Add one. The first is an admin, and what is there already is theirs
    Add(NewUser),
    /// Say what a user may use at most; what is left out has no limit
    Quota(NewQuota),
    /// Let a user's keys open nothing for now
    Disable(UserNamed),
    /// Let them open the server again
    Enable(UserNamed),
}

#[derive(Args)]
pub(crate) struct NewUser {
    /// Their name
    pub(crate) name: String,
    /// What they may do: admin, member or viewer
    #[arg(long, value_parser = role, default_value = "member")]
    pub(crate) role: Role,
    /// Their address, by which they are known when they sign in elsewhere
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) email: Option<String>,
    /// Let a viewer look at what this user has
    #[arg(long, value_name = "USER")]
    pub(crate) sees: Option<String>,
    /// A directory where they may work, besides their own (can be repeated)
    #[arg(long = "folder", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) quota: QuotaFlags,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct NewQuota {
    /// The user
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) quota: QuotaFlags,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
#[allow(clippy::struct_field_names)] // the names of the flags
pub(crate) struct QuotaFlags {
    /// Conversations that they may have
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_conversations: Option<u64>,
    /// Directories that these may be in
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_workspaces: Option<u64>,
    /// US dollars that these may cost
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) max_spend: Option<Money>,
}

#[derive(Args)]
pub(crate) struct UserNamed {
    /// The user
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Subcommand)]
pub(crate) enum Keys {
    /// All of them; what opens the server is never shown again
    List(Listing),
    /// Make one, and show it this once
    Create(NewKey),
    /// Take one away; what it has opened is closed within seconds
    Revoke {
        /// The key's id, which `deft keys list` shows
        id: String,
        #[command(flatten)]
        flags: Flags,
    },
}

#[derive(Args)]
pub(crate) struct NewKey {
    /// Whose it is
    #[arg(long, value_name = "NAME")]
    pub(crate) user: String,
    /// What it is for, in your words
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) label: String,
    /// What it is good for: read, write, secrets [default: all that its user may]
    #[arg(long, value_delimiter = ',', value_parser = scope)]
    pub(crate) scopes: Option<Vec<KeyScope>>,
    /// Days until it expires [default: never]
    #[arg(long, value_name = "COUNT")]
    pub(crate) days: Option<u32>,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[derive(Args)]
pub(crate) struct AuditLog {
    /// How many days, today included
    #[arg(long, default_value_t = 1)]
    pub(crate) days: u32,
    #[command(flatten)]
    pub(crate) listing: Listing,
}

fn role(text: &str) -> Result<Role, String> {
    let roles = [Role::Admin, Role::Member, Role::Viewer];
    let found = roles.into_iter().find(|role| role.as_str() == text);
    found.ok_or_else(|| "it must be admin, member or viewer".to_owned())
}

fn scope(text: &str) -> Result<KeyScope, String> {
    let scopes = [KeyScope::Read, KeyScope::Write, KeyScope::Secrets];
    let found = scopes.into_iter().find(|scope| scope.to_string() == text);
    found.ok_or_else(|| "it must be read, write or secrets".to_owned())
}
