//! Why users and keys cannot be had or changed.

use deft_store::StoreError;

use super::key::KeyScope;
use super::user::Role;
use crate::vault::VaultError;

/// Why something about users or keys cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A name must fit into a path and onto a line.
    #[error(
        "'{0}' cannot be a user's name; use up to 32 small letters, digits, dots, dashes and underscores, and begin with a letter"
    )]
    BadName(String),
    /// There is one already.
    #[error("there is a user '{0}' already; `deft users list` shows them all")]
    NameTaken(String),
    /// It would not say whose it is.
    #[error("another user has this address already; `deft users list` shows them all")]
    AddressTaken,
    /// There is none.
    #[error("there is no user '{0}'; `deft users list` shows them all")]
    NoSuchUser(String),
    /// There is none.
    #[error("there is no key '{0}'; `deft keys list` shows them all")]
    NoSuchKey(String),
    /// Somebody must be able to do everything.
    #[error("the first user owns what is there already, and must be an admin who can log in")]
    FirstIsAdmin,
    /// Others have conversations of their own.
    #[error("only a viewer can be shown the conversations of somebody else; add --role viewer")]
    OnlyViewersSee,
    /// A key can do no more than its user.
    #[error("a {role} cannot have a key for '{scope}'; leave that scope out, or give the user another role")]
    ScopeBeyondRole {
        /// What was asked for.
        scope: KeyScope,
        /// What the user is.
        role: Role,
    },
    /// Others change the same.
    #[error("others are changing the same user at this moment; try again")]
    Busy,
    /// What is stored is not what we wrote.
    #[error(
        "what is stored about a user or a key cannot be read: {0}; restore a backup of the data directory"
    )]
    Damaged(String),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No key can be made.
    #[error(transparent)]
    Random(#[from] VaultError),
}
