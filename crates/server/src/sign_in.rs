//! Signing in with an account of another server, by `OpenID` Connect: authorization code with PKCE.
//!
//! Whoever comes back from there is given a key of their own for some hours, in a cookie that only pages of our own
//! origin can use (`security/session.rs`). Begin reading at [`SignIn::begin`] and [`SignIn::finish`].
//!
//! Tokens are checked here and not by a crate: those that do it bring a second set of cryptography along, with an
//! implementation of RSA that has an open advisory. Signatures are verified by `ring`, as everywhere else.

mod claims;
mod jwt;
mod pending;
mod person;
mod provider;
mod settings;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deft_store::Store;
use deft_types::Secret;
use reqwest::Url;

pub use self::settings::{SignInError, SignInSettings};

use self::claims::Expected;
pub(crate) use self::pending::PATIENCE;
use self::pending::Pending;
use self::provider::Provider;
use crate::accounts::{Account, AccountError, Accounts, SIGNED_IN};
use crate::vault::Vault;

/// Why somebody is not let in. Each says what happened, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The browser shows no login of ours, or an old one.
    #[error("this login was not begun in this browser, or too long ago; sign in again")]
    NotBegun,
    /// The provider says no.
    #[error("the provider did not sign you in: {0}; sign in again")]
    Denied(String),
    /// The provider cannot be used.
    #[error("the provider cannot be used: {0}; try again, or tell whoever looks after this server")]
    Provider(String),
    /// The token is not for us, not now, or not from there.
    #[error("what the provider sent cannot be trusted: {0}; sign in again")]
    Token(&'static str),
    /// They are nobody we let in.
    #[error("you are signed in there, but may not use this server: {0}; ask whoever looks after it")]
    NotWelcome(&'static str),
    /// The accounts cannot be used.
    #[error(transparent)]
    Accounts(#[from] AccountError),
}

/// Lets people in.
pub(crate) struct SignIn {
    settings: SignInSettings,
    provider: Provider,
    vault: Arc<Vault>,
    accounts: Accounts,
    store: Arc<dyn Store>,
}

/// A login that was begun: where to send the browser, and what it must bring back.
pub(crate) struct Begun {
    pub(crate) url: String,
    pub(crate) ticket: String,
}

/// What a browser brings back.
pub(crate) struct Returned<'a> {
    pub(crate) ticket: Option<&'a str>,
    pub(crate) state: Option<&'a str>,
    pub(crate) code: Option<&'a str>,
    pub(crate) error: Option<&'a str>,
    pub(crate) issuer: Option<&'a str>,
}

/// Somebody who is in.
pub(crate) struct SignedIn {
    pub(crate) account: Account,
    /// Whether they may do something else than before.
    pub(crate) is_changed: bool,
    pub(crate) key: Secret<String>,
    pub(crate) lifetime: Duration,
}

impl SignIn {
    pub(crate) fn new(
        settings: SignInSettings,
        ca_file: Option<PathBuf>,
        store: Arc<dyn Store>,
        vault: Arc<Vault>,
    ) -> Self {
        Self {
            provider: Provider::new(settings.issuer.clone(), ca_file),
            accounts: Accounts::new(Arc::clone(&store)),
            settings,
            vault,
            store,
        }
    }

    /// Where the provider sends people back to; without a setting, to the address that we were called by.
    pub(crate) fn redirect(&self, called: &str) -> String {
        match &self.settings.redirect_url {
            Some(url) => url.to_string(),
            None => format!("http://{called}{CALLBACK}"),
        }
    }

    /// Begins a login.
    pub(crate) async fn begin(&self, redirect: String) -> Result<Begun, Refusal> {
        let metadata = self.provider.metadata().await?;
        let pending = Pending::new(redirect).map_err(AccountError::from)?;
        let mut url = Url::parse(&metadata.authorization_endpoint)
            .map_err(|_| Refusal::Provider("its address for logins is none".to_owned()))?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &pending.redirect)
            .append_pair("scope", &self.settings.scopes.join(" "))
            .append_pair("state", &pending.state)
            .append_pair("nonce", &pending.nonce)
            .append_pair("code_challenge", &pending.challenge())
            .append_pair("code_challenge_method", "S256");
        let ticket = pending.sealed(&self.vault).map_err(AccountError::from)?;
        Ok(Begun {
            url: url.into(),
            ticket,
        })
    }

    /// Finishes a login: finds out who it is, and gives them a key.
    pub(crate) async fn finish(&self, returned: Returned<'_>) -> Result<SignedIn, Refusal> {
        let begun = returned
            .ticket
            .and_then(|ticket| Pending::open(&self.vault, ticket));
        let begun = begun.ok_or(Refusal::NotBegun)?;
        if returned.state != Some(&begun.state) {
            return Err(Refusal::NotBegun);
        }
        if returned
            .issuer
            .is_some_and(|issuer| issuer != self.settings.issuer)
        {
            return Err(Refusal::Token("another provider sent you back"));
        }
        if let Some(error) = returned.error {
            return Err(Refusal::Denied(plain(error)));
        }
        let code = returned.code.ok_or(Refusal::NotBegun)?;
        let token = self.provider.exchange(&self.settings, &begun, code).await?;
        let keys = self.provider.keys().await?;
        let claims = claims::check(
            &jwt::verify(&token, &keys)?,
            &Expected {
                issuer: &self.settings.issuer,
                client_id: &self.settings.client_id,
                nonce: &begun.nonce,
                now: SystemTime::now(),
            },
        )?;
        let (account, is_changed) =
            person::account_of(&self.settings, &self.accounts, self.store.as_ref(), &claims).await?;
        self.forget_expired().await?;
        let lifetime = self.settings.session;
        let created = self
            .accounts
            .create_key(&account.name, SIGNED_IN, None, Some(lifetime));
        let (_, key) = created.await?;
        Ok(SignedIn {
            account,
            is_changed,
            key,
            lifetime,
        })
    }

    /// Ends what a login has opened. A key that somebody was given otherwise stays.
    pub(crate) async fn end(&self, key: &str) -> Result<(), Refusal> {
        let Some(id) = crate::accounts::id_in(key) else {
            return Ok(());
        };
        let keys = self.accounts.keys().await?;
        if keys.iter().any(|key| key.id == id && key.label == SIGNED_IN) {
            self.accounts.revoke(id).await?;
        }
        Ok(())
    }

    /// Logins that have had their time are in nobody's way.
    async fn forget_expired(&self) -> Result<(), AccountError> {
        let now = SystemTime::now();
        for key in self.accounts.keys().await? {
            if key.label == SIGNED_IN && key.is_expired(now) {
                let _ = self.accounts.revoke(&key.id).await; // somebody else may have been faster
            }
        }
        Ok(())
    }
}

/// Where the provider sends people back to, on our side.
pub(crate) const CALLBACK: &str = "/api/auth/callback";

/// What a provider says is shown to a person: only what is harmless of it.
fn plain(text: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.');
    text.chars().filter(is_plain).take(200).collect()
}
