//! Logins that were begun, until people come back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::digest;

use crate::vault::{VaultError, new_client_key};

/// How long somebody may take at the provider.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);
/// Logins that may be under way. Anybody can begin one.
const MAX_PENDING: usize = 1000;

/// A login that was begun.
pub(super) struct Pending {
    /// Names it in the browser's cookie: who has another browser cannot finish it.
    pub(super) ticket: String,
    pub(super) state: String,
    pub(super) nonce: String,
    pub(super) verifier: String,
    pub(super) redirect: String,
    begun: Instant,
}

impl Pending {
    pub(super) fn new(redirect: String) -> Result<Self, VaultError> {
        Ok(Self {
            ticket: new_client_key()?,
            state: new_client_key()?,
            nonce: new_client_key()?,
            verifier: new_client_key()?,
            redirect,
            begun: Instant::now(),
        })
    }

    /// What the provider is told of the verifier before it is shown.
    pub(super) fn challenge(&self) -> String {
        BASE64URL.encode(digest::digest(&digest::SHA256, self.verifier.as_bytes()))
    }
}

/// All of them, by their tickets.
#[derive(Default)]
pub(super) struct PendingLogins(Mutex<HashMap<String, Pending>>);

impl PendingLogins {
    /// None: there are too many.
    pub(super) fn add(&self, pending: Pending) -> Option<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_PENDING {
            all.retain(|_, pending| pending.begun.elapsed() < PATIENCE);
        }
        if all.len() >= MAX_PENDING {
            return None;
        }
        all.insert(pending.ticket.clone(), pending);
        Some(())
    }

    /// One of them, which is then over.
    pub(super) fn take(&self, ticket: &str) -> Option<Pending> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(ticket)
            .filter(|pending| pending.begun.elapsed() < PATIENCE)
    }
}
