//! How people sign in to a server: the table `[oidc]` of the user's `deft.toml`.

use deft_server::SignInSettings;
use serde::Deserialize;

use super::FileOwner;

/// A file, as far as signing in is concerned.
#[derive(Deserialize)]
struct SignInOnly {
    oidc: SignInSettings,
}

/// The table of a file that has one. What is wrong is told in words.
pub(super) fn read(text: &str, owner: FileOwner) -> Result<SignInSettings, String> {
    if owner == FileOwner::Project {
        return Err("a project may not say who signs people in to your server; remove it there".to_owned());
    }
    let parsed: Result<SignInOnly, _> = toml::from_str(text);
    let told = |error: toml::de::Error| error.message().lines().collect::<Vec<_>>().join(", ");
    parsed.map(|file| file.oidc).map_err(told)
}
