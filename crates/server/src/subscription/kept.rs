//! What is kept of a login.

use std::time::{SystemTime, UNIX_EPOCH};

use deft_llm::ChatGptTokens;
use deft_types::Secret;
use serde::Deserialize;
use serde_json::{Value, json};

/// A token that expires in less time, in milliseconds, might do so on its way.
const MARGIN: u64 = 60_000;

/// See the module.
#[derive(Deserialize)]
pub(super) struct Kept {
    pub(super) access: Secret<String>,
    pub(super) refresh: Secret<String>,
    /// Milliseconds since 1970.
    pub(super) expires_at: u64,
    pub(super) account: Option<String>,
    pub(super) email: Option<String>,
}

impl Kept {
    /// New tokens, with what they do not say again. None: they could not be renewed.
    pub(super) fn new(tokens: ChatGptTokens, before: Option<Self>) -> Option<Self> {
        let lifetime = u64::try_from(tokens.lifetime.as_millis()).unwrap_or(u64::MAX);
        let (refresh, account, email) = match before {
            Some(before) => (Some(before.refresh), before.account, before.email),
            None => (None, None, None),
        };
        Some(Self {
            access: tokens.access,
            refresh: tokens.refresh.or(refresh)?,
            expires_at: milliseconds_now().saturating_add(lifetime),
            account: tokens.account.or(account),
            email: tokens.email.or(email),
        })
    }

    /// From what [`Kept::sealed`] gave.
    pub(super) fn read(stored: &Value) -> Option<Self> {
        Self::deserialize(stored).ok()
    }

    /// All of it, for a place where nobody can read it.
    pub(super) fn sealed(&self) -> Value {
        json!({"access": self.access.expose(), "refresh": self.refresh.expose(), "expires_at": self.expires_at,
            "account": self.account, "email": self.email})
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.expires_at > milliseconds_now() + MARGIN
    }
}

pub(super) fn milliseconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
