//! How people sign in to a server: the table `[oidc]` of the user's `deft.toml`.

use deft_server::SignInSettings;
use serde::Deserialize;

/// A file, as far as signing in is concerned.
#[derive(Deserialize)]
pub(super) struct SignInOnly {
    pub(super) oidc: SignInSettings,
}
