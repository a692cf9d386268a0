//! A login that was begun, until the person comes back. The browser itself keeps it, sealed: anybody can begin as many as
//! they like, and none of them costs us anything.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::digest;
use serde::{Deserialize, Serialize};

use crate::vault::{Vault, VaultError, new_client_key};

/// How long somebody may take at the provider.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// What it is sealed for.
const PLACE: &str = "login";

/// A login that was begun.
#[derive(Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) state: String,
    pub(super) nonce: String,
    pub(super) verifier: String,
    pub(super) redirect: String,
    /// In seconds since 1970.
    begun: u64,
}

impl Pending {
    pub(super) fn new(redirect: String) -> Result<Self, VaultError> {
        Ok(Self {
            state: new_client_key()?,
            nonce: new_client_key()?,
            verifier: new_client_key()?,
            redirect,
            begun: now(),
        })
    }

    /// What the provider is told of the verifier before it is shown.
    pub(super) fn challenge(&self) -> String {
        BASE64URL.encode(digest::digest(&digest::SHA256, self.verifier.as_bytes()))
    }

    /// For the browser's cookie. Who has another browser cannot finish it.
    pub(super) fn sealed(&self, vault: &Vault) -> Result<String, VaultError> {
        let text = serde_json::to_string(self).unwrap_or_default(); // nothing in it has no JSON form
        vault.seal(PLACE, &text)
    }

    /// From the browser's cookie, if it is one of ours and not too old.
    pub(super) fn open(vault: &Vault, sealed: &str) -> Option<Self> {
        let text = vault.open_sealed(PLACE, sealed).ok()?;
        let pending: Self = serde_json::from_str(&text).ok()?;
        let age = now().checked_sub(pending.begun)?;
        (age < PATIENCE.as_secs()).then_some(pending)
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO).as_secs()
}
