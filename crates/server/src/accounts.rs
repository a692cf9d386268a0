//! Users and their keys, as the store keeps them. A store without users is its owner's alone.
//!
//! The first user is an admin and stands for that owner: conversations, settings and secrets that belong to nobody are
//! theirs, and so are the keys that the server is started with. So nothing is lost when a second user comes.

mod error;
mod key;
mod user;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use deft_store::Store;
use deft_types::{Secret, UserId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

pub use self::error::AccountError;
pub use self::key::{ApiKey, KeyScope};
pub(crate) use self::key::{fits, hash, id_in};
pub use self::user::{Account, NewAccount, Quota, Role};

/// Where they are kept among the documents.
const USERS: &str = "accounts/";
const KEYS: &str = "api-keys/";
/// When somebody was last about to become the first user, and for how long nobody else may.
const CLAIM: &str = "first-account";
const CLAIM_LIMIT: Duration = Duration::from_secs(10);
/// The label of keys that people were given when they signed in.
pub(crate) const SIGNED_IN: &str = "signed in";
/// How often a change is tried again when another was faster.
const MAX_TRIES: usize = 16;

/// Users and keys.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn Store>,
}

impl Accounts {
    /// Those of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// All users, by name.
    pub async fn users(&self) -> Result<Vec<Account>, AccountError> {
        self.list(USERS).await
    }

    /// One of them.
    pub async fn user(&self, name: &str) -> Result<Account, AccountError> {
        let found = self.store.document(&format!("{USERS}{name}")).await?;
        let unknown = || AccountError::NoSuchUser(name.to_owned());
        read(&found.ok_or_else(unknown)?)
    }

    /// Adds a user. The first one must be an admin.
    pub async fn add(&self, new: NewAccount) -> Result<Account, AccountError> {
        user::check_name(&new.name)?;
        let users = self.users().await?;
        let is_first = users.is_empty();
        if is_first && new.role != Role::Admin {
            return Err(AccountError::FirstIsAdmin);
        }
        let sees = match &new.sees {
            Some(_) if new.role != Role::Viewer => return Err(AccountError::OnlyViewersSee),
            Some(name) => Some(self.user(name).await?.id),
            None => None,
        };
        if new.email.is_some() && users.iter().any(|user| same_address(user, new.email.as_deref())) {
            return Err(AccountError::AddressTaken);
        }
        if is_first {
            self.claim_the_store().await?;
        }
        let account = Account {
            id: UserId(Uuid::new_v4()),
            name: new.name,
            role: new.role,
            owns_the_store: is_first,
            email: new.email.map(|email| email.trim().to_ascii_lowercase()),
            sees,
            folders: new.folders,
            quota: new.quota,
            disabled: false,
            created_at: SystemTime::now(),
        };
        let key = format!("{USERS}{}", account.name);
        if self
            .store
            .swap_document(key, None, Some(written(&account)))
            .await?
        {
            Ok(account)
        } else {
            Err(AccountError::NameTaken(account.name))
        }
    }

    /// Of several who are added first at once, only one may own the store.
    async fn claim_the_store(&self) -> Result<(), AccountError> {
        let now = SystemTime::now();
        let before = self.store.document(CLAIM).await?;
        let claimed: Option<SystemTime> = before.as_deref().map(read).transpose()?;
        let is_fresh = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age < CLAIM_LIMIT);
        if !claimed.is_some_and(is_fresh)
            && self
                .store
                .swap_document(CLAIM.to_owned(), before, Some(written(&now)))
                .await?
        {
            Ok(())
        } else {
            Err(AccountError::Busy)
        }
    }

    /// Changes a user.
    pub async fn change(&self, name: &str, edit: impl Fn(&mut Account)) -> Result<Account, AccountError> {
        let key = format!("{USERS}{name}");
        for _ in 0..MAX_TRIES {
            let before = self.store.document(&key).await?;
            let unknown = || AccountError::NoSuchUser(name.to_owned());
            let mut account: Account = read(before.as_ref().ok_or_else(unknown)?)?;
            edit(&mut account);
            if account.owns_the_store && (account.disabled || account.role != Role::Admin) {
                return Err(AccountError::FirstIsAdmin);
            }
            let others = self.users().await?;
            let is_other = |user: &&Account| user.id != account.id;
            if others
                .iter()
                .filter(is_other)
                .any(|user| same_address(user, account.email.as_deref()))
            {
                return Err(AccountError::AddressTaken);
            }
            let after = Some(written(&account));
            if self.store.swap_document(key.clone(), before, after).await? {
                return Ok(account);
            }
        }
        Err(AccountError::Busy)
    }

    /// Makes a key for a user. Its text is given here and never again: only a hash of it is kept.
    pub async fn create_key(
        &self,
        user: &str,
        label: &str,
        scopes: Option<BTreeSet<KeyScope>>,
        lifetime: Option<Duration>,
    ) -> Result<(ApiKey, Secret<String>), AccountError> {
        let account = self.user(user).await?;
        let may = account.role.scopes();
        let scopes = scopes.unwrap_or_else(|| may.clone());
        if let Some(beyond) = scopes.iter().find(|scope| !may.contains(scope)) {
            return Err(AccountError::ScopeBeyondRole {
                scope: *beyond,
                role: account.role,
            });
        }
        let (key, text) = ApiKey::new(account.id, label, scopes, lifetime)?;
        let place = format!("{KEYS}{}", key.id);
        self.store.swap_document(place, None, Some(written(&key))).await?;
        Ok((key, text))
    }

    /// All keys.
    pub async fn keys(&self) -> Result<Vec<ApiKey>, AccountError> {
        self.list(KEYS).await
    }

    /// Takes a key away. What is open with it is closed within a few seconds.
    pub async fn revoke(&self, id: &str) -> Result<(), AccountError> {
        let place = format!("{KEYS}{id}");
        let before = self.store.document(&place).await?;
        let unknown = || AccountError::NoSuchKey(id.to_owned());
        let before = before.ok_or_else(unknown)?;
        if self.store.swap_document(place, Some(before), None).await? {
            Ok(())
        } else {
            Err(unknown()) // somebody else was faster
        }
    }

    async fn list<T: DeserializeOwned>(&self, folder: &str) -> Result<Vec<T>, AccountError> {
        let found = self.store.documents(folder).await?;
        found.iter().map(|(_, text)| read(text)).collect()
    }
}

fn same_address(user: &Account, address: Option<&str>) -> bool {
    let known = user.email.as_deref().zip(address);
    known.is_some_and(|(known, address)| known.eq_ignore_ascii_case(address.trim()))
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, AccountError> {
    serde_json::from_str(text).map_err(|error| AccountError::Damaged(error.to_string()))
}

fn written<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default() // nothing in it has no JSON form
}
