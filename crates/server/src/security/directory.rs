//! The users and keys that count at this moment, looked up without asking the store.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use deft_store::Store;
use deft_types::UserId;
use tokio_util::sync::CancellationToken;

use crate::accounts::{Account, Accounts, ApiKey, KeyScope, fits, id_in};

/// How often the store is asked what has changed. What a key has opened is closed that soon after it is revoked.
pub(crate) const REFRESH: Duration = Duration::from_secs(2);
/// How often a key that nobody knows is looked for at most.
const SOONEST: Duration = Duration::from_millis(200);

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The user, by name; none: whoever started the server.
    pub(crate) name: Option<String>,
    /// The key, by id.
    pub(crate) key: Option<String>,
    /// Whose conversations and settings they have to do with. None: those that belong to nobody.
    pub(crate) place: Option<UserId>,
    pub(crate) scopes: BTreeSet<KeyScope>,
    /// Cancelled when the key opens nothing any more.
    pub(crate) gone: CancellationToken,
}

/// See the module.
pub(crate) struct Directory {
    accounts: Accounts,
    known: Mutex<Known>,
    looking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    users: HashMap<UserId, Arc<Account>>,
    keys: HashMap<String, Entry>,
    read_at: Option<Instant>,
}

struct Entry {
    key: ApiKey,
    gone: CancellationToken,
}

impl Directory {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            accounts: Accounts::new(store),
            known: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// Reads anew what the store has. Keys that are gone take with them what they have opened.
    pub(crate) async fn refresh(&self) {
        let _turn = self.looking.lock().await; // or what was read first could count last
        self.read().await;
    }

    async fn read(&self) {
        let began = Instant::now();
        let read = async {
            Ok::<_, crate::AccountError>((self.accounts.users().await?, self.accounts.keys().await?))
        };
        let (users, keys) = match read.await {
            Ok(read) => read,
            Err(error) => return tracing::warn!(%error, "the users cannot be read"),
        };
        let now = SystemTime::now();
        let mut known = self.known();
        let users = users.into_iter().map(|user| (user.id, Arc::new(user))).collect();
        let users_before = std::mem::replace(&mut known.users, users);
        let mut before = std::mem::take(&mut known.keys);
        for key in keys {
            let counts = known.users.get(&key.user).is_some_and(|user| !user.disabled);
            if counts && !key.is_expired(now) {
                // What was opened by somebody who might do more or less does not stay open.
                let role = |users: &HashMap<UserId, Arc<Account>>| users.get(&key.user).map(|user| user.role);
                let is_same = role(&users_before) == role(&known.users);
                let kept = if is_same { before.remove(&key.id) } else { None };
                let gone = kept.map(|entry| entry.gone).unwrap_or_default();
                known.keys.insert(key.id.clone(), Entry { key, gone });
            }
        }
        for entry in before.into_values() {
            entry.gone.cancel();
        }
        known.read_at = Some(began);
    }

    /// The same for a key that nobody knows: it may have been made just now.
    pub(crate) async fn look_for(&self, text: &str) {
        let came = Instant::now();
        let wait = {
            let known = self.known();
            match id_in(text) {
                Some(id) if !known.keys.contains_key(id) => known.read_at.map(|at| at + SOONEST),
                _ => return,
            }
        };
        let _turn = self.looking.lock().await; // one look is enough for all who wait
        if let Some(soonest) = wait {
            tokio::time::sleep_until(soonest.into()).await;
        }
        let is_old = self.known().read_at.is_none_or(|at| at < came);
        if is_old {
            self.read().await;
        }
    }

    /// Whose key a text is.
    pub(crate) fn caller(&self, text: &str) -> Option<Caller> {
        let known = self.known();
        let entry = known.keys.get(id_in(text)?)?;
        let caller = known.caller(entry)?;
        fits(&entry.key, text).then_some(caller)
    }

    /// Whether a key, by its id, is good for looking at what is in that place.
    pub(crate) fn shows(&self, id: &str, place: Option<UserId>) -> bool {
        let known = self.known();
        let caller = known.keys.get(id).and_then(|entry| known.caller(entry));
        caller.is_some_and(|caller| caller.place == place && caller.scopes.contains(&KeyScope::Read))
    }

    /// A user, if their keys open anything.
    pub(crate) fn user(&self, id: UserId) -> Option<Arc<Account>> {
        let known = self.known();
        known.users.get(&id).filter(|user| !user.disabled).cloned()
    }

    /// All users with something of their own.
    pub(crate) fn users(&self) -> Vec<Arc<Account>> {
        let known = self.known();
        let all = known.users.values();
        all.filter(|user| known.place(user) == Some(user.id))
            .cloned()
            .collect()
    }

    /// Whether there is anybody but the one who started the server.
    pub(crate) fn has_users(&self) -> bool {
        !self.known().users.is_empty()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Who has a key, unless it has expired.
    fn caller(&self, entry: &Entry) -> Option<Caller> {
        let user = self.users.get(&entry.key.user)?;
        if entry.key.is_expired(SystemTime::now()) {
            return None;
        }
        let may = user.role.scopes(); // they may have had another role when it was made
        Some(Caller {
            name: Some(user.name.clone()),
            key: Some(entry.key.id.clone()),
            place: self.place(user),
            scopes: entry.key.scopes.intersection(&may).copied().collect(),
            gone: entry.gone.clone(),
        })
    }

    /// Whose things somebody has to do with.
    fn place(&self, user: &Account) -> Option<UserId> {
        let shown = user.sees.and_then(|id| self.users.get(&id));
        let whose = shown.map_or(user, |shown| shown.as_ref());
        (!whose.owns_the_store).then_some(whose.id)
    }
}

impl Caller {
    /// Who has shown no key yet.
    pub(crate) fn nobody() -> Self {
        Self {
            scopes: BTreeSet::new(),
            ..Self::owner()
        }
    }

    /// Who has a link to a conversation: may look, and has no name.
    pub(crate) fn guest() -> Self {
        Self {
            scopes: BTreeSet::from([KeyScope::Read]),
            ..Self::owner()
        }
    }

    /// Who has one of the keys that the server was started with.
    pub(crate) fn owner() -> Self {
        Self {
            name: None,
            key: None,
            place: None,
            scopes: crate::accounts::Role::Admin.scopes(),
            gone: CancellationToken::new(),
        }
    }
}
