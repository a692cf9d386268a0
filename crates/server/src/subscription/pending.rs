//! Logins that are under way: begun, and waiting for a person to agree elsewhere.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deft_llm::DeviceCode;

/// How long somebody may take to agree.
pub(super) const PATIENCE: Duration = Duration::from_mins(15);
/// Logins of one user that are remembered.
const MAX_LOGINS: usize = 16;

/// All of a user's, by the names that clients have for them.
#[derive(Default)]
pub(super) struct Pending(Mutex<HashMap<String, Login>>);

struct Login {
    code: DeviceCode,
    begun: Instant,
    is_asked: bool,
}

/// What somebody finds who wants to know how far a login is.
pub(super) enum Poll<'a> {
    Ask(DeviceCode, Asking<'a>),
    /// Another is about to know.
    BeingAsked,
    Unknown,
}

/// Somebody asks for a login until this is dropped, which also happens when its client goes away.
pub(super) struct Asking<'a> {
    pending: &'a Pending,
    name: String,
}

impl Asking<'_> {
    /// Whether the login is still wanted. One that is over is forgotten.
    pub(super) fn end(self, is_over: bool) -> bool {
        let mut all = self.pending.all();
        if is_over {
            all.remove(&self.name).is_some()
        } else {
            all.contains_key(&self.name)
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(login) = self.pending.all().get_mut(&self.name) {
            login.is_asked = false;
        }
    }
}

impl Pending {
    /// Remembers one, in the place of the oldest where there are too many.
    pub(super) fn add(&self, name: String, code: DeviceCode) {
        let mut all = self.all();
        let oldest = all.iter().min_by_key(|(_, login)| login.begun);
        let oldest = oldest.map(|(name, _)| name.clone());
        if let Some(oldest) = oldest.filter(|_| all.len() >= MAX_LOGINS) {
            all.remove(&oldest);
        }
        let login = Login {
            code,
            begun: Instant::now(),
            is_asked: false,
        };
        all.insert(name, login);
    }

    pub(super) fn begin_poll(&self, name: &str) -> Poll<'_> {
        match self.all().get_mut(name) {
            None => Poll::Unknown,
            Some(login) if login.is_asked => Poll::BeingAsked,
            Some(login) => {
                login.is_asked = true;
                let asking = Asking {
                    pending: self,
                    name: name.to_owned(),
                };
                Poll::Ask(login.code.clone(), asking)
            }
        }
    }

    pub(super) fn clear(&self) {
        self.all().clear();
    }

    /// Those that are not too old.
    fn all(&self) -> MutexGuard<'_, HashMap<String, Login>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, login| login.begun.elapsed() < PATIENCE);
        all
    }
}
